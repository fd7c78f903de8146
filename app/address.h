/* address: whether an address is of this machine or of a private network. */
#ifndef LARDER_ADDRESS_H
#define LARDER_ADDRESS_H

#include <stdbool.h>

#include "text.h"

/* True for the text of an IPv4 or IPv6 address that is loopback, link-local or private (RFC 1918,
 * 3927, 4193, 4291), and for "unix:", which a web server calls the peer of a unix socket. False for
 * all else, what is no address too. */
bool address_is_private(struct text text);

#endif
