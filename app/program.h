/* program: the file that this process runs, and the file that is now at its place.
 *
 * An upgrade puts another file at the path by which this one was started. Descriptors of this
 * module stand for a file, not for a path: what was tried is what is executed. */
#ifndef LARDER_PROGRAM_H
#define LARDER_PROGRAM_H

#include <sys/types.h>

const char *program_version(void);

/* Takes down the arguments, which stay borrowed, and the path, once, at the start of main(). A path
 * with symbolic links stays as it is: an upgrade may change where they lead. */
void program_remember(char **argv);

/* The path; and another one, taken over from a predecessor. */
const char *program_path(void);
void program_set_path(const char *path);

/* Opens the file that is at the path now, or the one that a process runs, wherever it came from.
 * Returns a descriptor that only program_execute() can use, -1 with errno set on failure. */
int program_open(void);
int program_open_of(pid_t process);

/* Replaces this program, with the same arguments and environment; the first argument, the command,
 * is another one unless command is NULL. Returns only on failure, with errno set. */
void program_execute(int program, const char *command);

#endif
