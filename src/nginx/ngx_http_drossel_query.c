
/*
 * Accounts in the query of a request whose body is looked into.
 *
 * Many applications (servlets, Rails, $_REQUEST of PHP) take a form's field from the
 * query as well, also with a POST.  For some it ends before a "#", nginx's $args among
 * them, for others it does not.  "rewrite" may have made another one, which then is what
 * the application gets.
 */


#include "ngx_http_drossel.h"


static void ngx_http_drossel_find_in_query(ngx_http_drossel_main_conf_t *mcf,
    u_char *query, u_char *end, struct body_found *found);


void
ngx_http_drossel_find_in_queries(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, struct body_found *found)
{
    u_char  *query, *end, *fragment;

    end = r->unparsed_uri.data + r->unparsed_uri.len;
    query = ngx_strlchr(r->unparsed_uri.data, end, '?');

    if (query && ++query != end) {
        ngx_http_drossel_find_in_query(mcf, query, end, found);

        fragment = ngx_strlchr(query, end, '#');

        if (fragment) {
            ngx_http_drossel_find_in_query(mcf, query, fragment, found);
        }
    }

    if (r->args.len
        && (r->args.data < r->unparsed_uri.data || r->args.data >= end))
    {
        ngx_http_drossel_find_in_query(mcf, r->args.data,
                                       r->args.data + r->args.len, found);
    }
}


/* A query need not be a form: faults in it tell nothing. */

static void
ngx_http_drossel_find_in_query(ngx_http_drossel_main_conf_t *mcf,
    u_char *query, u_char *end, struct body_found *found)
{
    bool                 malformed;
    struct body          body;
    struct drossel_text  form = DROSSEL_TEXT("application/x-www-form-urlencoded");

    ngx_memzero(&body, sizeof(struct body));

    body.content_types = &form;
    body.content_type_count = 1;
    body.bytes.data = (const char *) query;
    body.bytes.size = (size_t) (end - query);

    malformed = found->malformed;
    (void) body_accounts(&body, &mcf->sources, found);
    found->malformed = malformed;
}
