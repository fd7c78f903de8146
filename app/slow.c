#include "slow.h"

#include <stdio.h>

#include "db.h"
#include "log.h"

static const int64_t LINE_EVERY_NS = 1000000000;

static long long ms(int64_t ns) {
    return ns / 1000000;
}

void slow_tell(struct slow *slow, const struct request *request, const struct route *route,
               int status, int requests) {
    slow->untold += (uint64_t)requests;
    if (slow->ended_ns < slow->next_line_ns) {
        return;
    }
    int64_t took = slow->ended_ns - slow->begun_ns;
    int64_t locked = (int64_t)db_counts(request->db)->lock_wait_ns;
    char lock[64] = "";
    if (ms(locked) > 0) {
        snprintf(lock, sizeof lock, " (%lld for the lock of another process)", ms(locked));
    }
    struct text method = request_method_name(request->method);
    log_event("W12",
              "slow: request %.*s, %.*s %s, %d, took %lld ms: %lld before its handler, %lld in "
              "it%s, %lld until its batch of %d was committed; %llu more were slow since the last "
              "such line",
              (int)request->request_id.length, request->request_id.data, (int)method.length,
              method.data, route == NULL ? "of no route" : route->path, status, ms(took),
              ms(slow->before_ns), ms(slow->longest_ns), lock,
              ms(took - slow->before_ns - slow->longest_ns), requests,
              (unsigned long long)(slow->untold - 1));
    slow->untold = 0;
    slow->next_line_ns = slow->ended_ns + LINE_EVERY_NS;
}
