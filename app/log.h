/* log: one line an event, to standard error.
 *
 *     larder[reader 1] W01 cannot accept a connection, and waits a little: Too many open files
 *
 * Every event has a code that stands in the source once: find the code, find the line. The codes
 * are listed in docs/operations.md. A line leaves in one write, so lines of several processes do
 * not mix. */
#ifndef LARDER_LOG_H
#define LARDER_LOG_H

/* Sets what stands in the brackets, such as "reader 1". The string is not copied. */
void log_identify(const char *who);

/* Writes a line. Longer ones are cut at 1 KiB. errno is kept. */
__attribute__((format(printf, 2, 3))) void log_event(const char *code, const char *format, ...);

/* Writes A01 and aborts: the supervisor starts a new worker. */
__attribute__((noreturn)) void log_out_of_memory(void);

/* Writes "larder: " and a sentence for somebody at a terminal: why a command ends. One line,
 * however long, whatever is in it. Returns 1, the exit status of a command that ends so. */
__attribute__((format(printf, 1, 2))) int log_sentence(const char *format, ...);

/* The same in a function that returns whether it succeeded. */
#define log_refuse(...) (log_sentence(__VA_ARGS__), false)

#endif
