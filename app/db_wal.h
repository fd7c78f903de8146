/* db_wal: the file of the write-ahead log, written once a commit rather than twice a page.
 *
 * SQLite appends to the log a frame at a time, its header and its page by a system call each: some
 * fifty for a commit of a busy writer. Here they are gathered, and leave together before the call
 * returns that writes the frame of a commit, before they are read, and when the memory for them is
 * full. Other connections learn of frames by the shared index (-shm), which SQLite changes after
 * those calls: none looks for a frame that has not left, and a process that dies loses no commit.
 * What SQLite takes back by a rollback is dropped.
 *
 * SQLite's interface for files: https://sqlite.org/vfs.html. The log's format:
 * https://sqlite.org/fileformat2.html#the_write_ahead_log. */
#ifndef LARDER_DB_WAL_H
#define LARDER_DB_WAL_H

/* The name of a VFS for sqlite3_open_v2(), for the one connection of a process that writes: the
 * system's but for the log. When frames cannot be written (the disk is full), the write that says
 * so fails; they are tried again by its transaction's next, and dropped by the next transaction. */
const char *db_wal_vfs(void);

#endif
