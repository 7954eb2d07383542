
/*
 * The request's header line that names the limit which challenges it.  Only we may
 * set it, so that an application can trust it: a client's own is removed.
 */


#include "ngx_http_drossel.h"


static void ngx_http_drossel_moved(ngx_http_request_t *r, ngx_table_elt_t *from,
    ngx_table_elt_t *to);


static u_char  ngx_http_drossel_challenge[] = "Drossel-Challenge";
static u_char  ngx_http_drossel_challenge_low[] = "drossel-challenge";


ngx_int_t
ngx_http_drossel_add_challenge(ngx_http_request_t *r, const char *limit)
{
    ngx_list_t       *list;
    ngx_table_elt_t  *h;

    list = &r->headers_in.headers;

    /* of a request line that cannot be made out the error page is judged, and no
     * header was ever read */

    if (list->last == NULL
        && ngx_list_init(list, r->pool, 1, sizeof(ngx_table_elt_t)) != NGX_OK)
    {
        return NGX_ERROR;
    }

    h = ngx_list_push(list);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->hash = ngx_hash_key(ngx_http_drossel_challenge_low,
                           sizeof(ngx_http_drossel_challenge_low) - 1);
    ngx_str_set(&h->key, ngx_http_drossel_challenge);
    h->lowcase_key = ngx_http_drossel_challenge_low;
    h->value.data = (u_char *) limit;
    h->value.len = ngx_strlen(limit);

    return NGX_OK;
}


/*
 * nginx has no way to take a line out of a list: the ones behind it move up,
 * and what points to them is corrected.  A part that becomes empty is taken out
 * too, because nginx's loops expect one line at least in all but the first.
 */

void
ngx_http_drossel_remove_challenge(ngx_http_request_t *r)
{
    ngx_uint_t        i;
    ngx_list_t       *list;
    ngx_list_part_t  *part, *prev;
    ngx_table_elt_t  *h;

    list = &r->headers_in.headers;
    prev = NULL;

    for (part = &list->part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; /* void */ ) {

            if (!ngx_http_drossel_is_challenge(&h[i])) {
                i++;
                continue;
            }

            part->nelts--;

            for ( /* void */ ; i < part->nelts; i++) {
                h[i] = h[i + 1];
                ngx_http_drossel_moved(r, &h[i + 1], &h[i]);
            }

            i = 0;
        }

        if (part->nelts == 0 && prev) {
            prev->next = part->next;

            if (list->last == part) {
                list->last = prev;
            }

            continue;
        }

        prev = part;
    }
}


/* Corrects what points to a line of the request's header. */

static void
ngx_http_drossel_moved(ngx_http_request_t *r, ngx_table_elt_t *from,
    ngx_table_elt_t *to)
{
    ngx_uint_t                i, n;
    ngx_array_t              *arrays[2];
    ngx_table_elt_t         **line;
    ngx_http_header_t        *known;
    ngx_http_headers_in_t    *in;

    in = &r->headers_in;

    for (known = ngx_http_headers_in; known->name.len; known++) {
        line = (ngx_table_elt_t **) ((char *) in + known->offset);

        if (known->offset && *line == from) {
            *line = to;
        }
    }

    arrays[0] = &in->cookies;
    arrays[1] = &in->x_forwarded_for;

    for (n = 0; n < 2; n++) {
        line = arrays[n]->elts;

        for (i = 0; i < arrays[n]->nelts; i++) {
            if (line[i] == from) {
                line[i] = to;
            }
        }
    }
}
