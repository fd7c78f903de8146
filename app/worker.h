/* worker: one process, one thread, one epoll loop; every wake-up is one transaction.
 *
 * It takes all requests that are ready, serves them in one transaction, commits, and only then
 * sends the answers: locks, commits and fsyncs are shared by the batch, and no answer leaves before
 * what it tells is durable. */
#ifndef LARDER_WORKER_H
#define LARDER_WORKER_H

#include "job.h"

/* Runs until SIGTERM, which job_begin() has blocked, has been drained: what has been received is
 * answered and connections are closed. Returns the exit status of the process: 0, or 1 after a log
 * line when it could not start.
 *
 * SIGHUP replaces the program, between two batches, by the one that the supervisor runs; it calls
 * worker_resume(), and connections, requests that have come in part and those that wait are there
 * as they were. Where that cannot be done the worker logs it and goes on. */
int worker_run(const struct worker_job *job);

/* In the new program; state is what was left, and is freed here. */
int worker_resume(const struct settings *settings, struct handover *state);

#endif
