/* notify: what the service manager is told (systemd's protocol, sd_notify(3)): one datagram to the
 * socket that NOTIFY_SOCKET names. Where there is none, or nobody reads, nothing happens. Nothing
 * blocks. */
#ifndef LARDER_NOTIFY_H
#define LARDER_NOTIFY_H

#include <stdbool.h>

/* Whether there is a service manager to tell. */
bool notify_is_wanted(void);

void notify_ready(void); /* after a start, and after a reload */
void notify_reloading(void);
void notify_stopping(void);
void notify_alive(void); /* for the watchdog */

#endif
