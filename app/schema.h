/* schema: the database's shape, embedded from schema.sql at the top of the tree, and the way to it
 * from every shape before, embedded from migrations/.
 *
 * The version grows with every change of schema.sql, and each change has its migration. A database
 * of another version is refused and never altered by db_open(). */
#ifndef LARDER_SCHEMA_H
#define LARDER_SCHEMA_H

enum {
    SCHEMA_APPLICATION_ID = 0x4C617264, /* "Lard" */
    SCHEMA_VERSION = 2,
};

/* The scripts, ending in NUL. */
extern const char schema_sql[];
extern const char schema_demo_sql[];

/* The migrations: a file's name ("0002-….sql", the version that it leads to and what it does) and
 * its script, each ending in NUL, one after the other in order; an empty name ends them. */
extern const char schema_migrations[];

#endif
