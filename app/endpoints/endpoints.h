/* endpoints: the handlers behind the table in routes.c, one file a resource, SQL beside its
 * handler. */
#ifndef LARDER_ENDPOINTS_H
#define LARDER_ENDPOINTS_H

#include "../routes.h"

handler product_read, product_create, product_delete;
handler category_list, category_read;
handler health, ready;
handler openapi;

#endif
