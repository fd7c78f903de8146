/* endpoints: the handlers behind the table in routes.c, one file a resource, SQL beside its
 * handler. */
#ifndef LARDER_ENDPOINTS_H
#define LARDER_ENDPOINTS_H

#include "../routes.h"

handler product_list, product_read, product_create, product_replace, product_patch, product_delete;
handler category_list, category_read, category_create, category_replace, category_delete;
handler deal_list, deal_create, deal_read, deal_delete, login;
handler health, ready, metrics;
handler openapi;
handler probe_greet, probe_json, probe_db, probe_queries, probe_wait;

#endif
