/* process: what the system tells of a process, from /proc. */
#ifndef LARDER_PROCESS_H
#define LARDER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Ticks are those of sysconf(_SC_CLK_TCK), a hundred a second. */
struct process {
    int64_t began_ticks;  /* since the system's start */
    int64_t cpu_ticks;    /* of the processor, its own and the system's for it */
    int64_t memory_bytes; /* resident, shared pages too */
};

/* Returns false when there is no such process, or none that can be seen. */
bool process_look(int pid, struct process *process);

/* The time now, as began_ticks counts it. */
int64_t process_ticks_now(void);

#endif
