/* schema: the database's shape, embedded from schema.sql at the top of the tree.
 *
 * The version grows with every change of schema.sql. A database of another version is refused and
 * never altered (db_open()). */
#ifndef LARDER_SCHEMA_H
#define LARDER_SCHEMA_H

enum {
    SCHEMA_APPLICATION_ID = 0x4C617264, /* "Lard" */
    SCHEMA_VERSION = 1,
};

/* The scripts, ending in NUL. */
extern const char schema_sql[];
extern const char schema_demo_sql[];

#endif
