
/*
 * What nginx looks up in a dynamic module.  nginx's own build would write this
 * file; by hand it needs no second build system.
 *
 * The order matters: our module stands before the real-IP module, and handlers
 * of a phase run in the reverse order of their registration, so that we see the
 * client's address after that module has set it.  The next names are fallbacks
 * for an nginx that was built without it.  The filter is not in that list and so
 * becomes the last, which runs before all others: it sees an answer as it came.
 */


#include <ngx_config.h>
#include <ngx_core.h>


extern ngx_module_t  ngx_http_drossel_module;
extern ngx_module_t  ngx_http_drossel_outcome_module;


/* the only symbols that others may see: all else is compiled hidden */

#pragma GCC visibility push(default)

extern ngx_module_t  *ngx_modules[];
extern char          *ngx_module_names[];
extern char          *ngx_module_order[];

#pragma GCC visibility pop


static char  ngx_http_drossel_name[] = "ngx_http_drossel_module";
static char  ngx_http_drossel_outcome_name[] = "ngx_http_drossel_outcome_module";
static char  ngx_http_drossel_realip[] = "ngx_http_realip_module";
static char  ngx_http_drossel_rewrite[] = "ngx_http_rewrite_module";


ngx_module_t *ngx_modules[] = {
    &ngx_http_drossel_module,
    &ngx_http_drossel_outcome_module,
    NULL
};


char *ngx_module_names[] = {
    ngx_http_drossel_name,
    ngx_http_drossel_outcome_name,
    NULL
};


char *ngx_module_order[] = {
    ngx_http_drossel_name,
    ngx_http_drossel_realip,
    ngx_http_drossel_rewrite,
    NULL
};
