
/*
 * The shortest way of a login: its body came with its header, it names one account,
 * and the only limit there is counts the failures of accounts and has room.
 *
 * The account is looked for where the body lies; nginx reads it when the application
 * is asked, as it would without us.  No decision is written.  Whatever is not as
 * expected is judged, with nothing changed.
 */


#include "ngx_http_drossel.h"


/* All that a login leaves, in one piece: one call, and lines of memory that lie side by
 * side. */

typedef struct {
    ngx_http_drossel_ctx_t    ctx;
    ngx_pool_cleanup_t        cleanup;
    ngx_http_drossel_open_t   open;       /* ends behind its first charge */
} ngx_http_drossel_login_t;


static ngx_uint_t ngx_http_drossel_peek(ngx_http_request_t *r, size_t cap,
    struct body *body);
static ngx_uint_t ngx_http_drossel_type(const ngx_http_request_t *r,
    uint64_t heeded, struct drossel_text *type);
static ngx_int_t ngx_http_drossel_charge(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_login_t *left,
    const struct drossel_text *account);


own_way kept_apart ngx_int_t
ngx_http_drossel_login(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_variable_value_t *anchor)
{
    struct body                body;
    struct body_found          found;
    struct drossel_text        type;
    ngx_http_drossel_login_t  *left;

    left = ngx_palloc(r->pool,
                      offsetof(ngx_http_drossel_login_t, open.ticket.charge)
                      + sizeof(left->open.ticket.charge[0]));
    if (left == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_memzero(&left->ctx, sizeof(ngx_http_drossel_ctx_t));

    anchor->data = (void *) &left->ctx;
    anchor->valid = 1;

    if (likely(ngx_http_drossel_peek(r, mcf->body_cap, &body)
               && ngx_http_drossel_type(r, mcf->heeded, &type)))
    {
        body.content_types = &type;
        body.content_type_count = type.size != 0;
        body.content_encoding.size = 0;

        ngx_http_drossel_find_in_body(mcf, &body, &found);

        if (likely(found.count == 1 && !found.malformed && !found.too_many
                   && ngx_http_drossel_charge(r, mcf, left,
                                              &found.value[0].text)
                      == NGX_OK))
        {
            return NGX_DECLINED;
        }
    }

    return ngx_http_drossel_first(r, mcf, &left->ctx);
}


/* The body behind the header, if all of it is there already, and there is no query: nor
 * may there be one for others, behind a "#" (which makes a URI complex). */

static ngx_inline ngx_uint_t
ngx_http_drossel_peek(ngx_http_request_t *r, size_t cap, struct body *body)
{
    off_t  length;

#if (NGX_HTTP_V2)

    if (unlikely(r->stream != NULL)) {
        return 0;
    }

#endif

    length = r->headers_in.content_length_n;

    if (unlikely(r->request_body || r->headers_in.chunked || length <= 0
                 || length > r->header_in->last - r->header_in->pos
                 || r->args_start || r->args.len || r->complex_uri))
    {
        return 0;
    }

    body->bytes.data = (const char *) r->header_in->pos;
    body->bytes.size = ngx_min((size_t) length, cap);
    body->truncated = (size_t) length > cap;

    return 1;
}


/* Content-Type, if there are not several, and no other header field that has to be
 * looked at.  By length and first letter, as in ngx_http_drossel_is_heeded(). */

static ngx_inline ngx_uint_t
ngx_http_drossel_type(const ngx_http_request_t *r, uint64_t heeded,
    struct drossel_text *type)
{
    ngx_uint_t              i;
    const ngx_list_part_t  *part;
    const ngx_table_elt_t  *h;

    heeded |= NGX_HTTP_DROSSEL_HEED(sizeof("content-type") - 1)
              | NGX_HTTP_DROSSEL_HEED(sizeof("content-encoding") - 1);

    type->size = 0;

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (likely((heeded >> (h[i].key.len & 63) & 1) == 0)) {
                continue;
            }

            if (h[i].key.len != sizeof("content-type") - 1
                || ngx_memcmp(h[i].lowcase_key, "content-type",
                              sizeof("content-type") - 1)
                   != 0)
            {
                if (ngx_http_drossel_is_initial(h[i].lowcase_key[0])) {
                    return 0;
                }

                continue;
            }

            if (unlikely(type->size)) {
                return 0;
            }

            type->data = (const char *) h[i].value.data;
            type->size = h[i].value.len;
        }
    }

    return 1;
}


/* The ticket lies where its answer will settle it.  NGX_DECLINED: nothing was done. */

static ngx_inline ngx_int_t
ngx_http_drossel_charge(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_drossel_login_t *left, const struct drossel_text *account)
{
    ngx_http_drossel_ctx_t        *ctx;
    ngx_http_drossel_open_t       *open;
    struct limiter_passing_login   login;

    ctx = &left->ctx;
    open = &left->open;

    ngx_http_drossel_set_client(r, &ctx->client);

    login.client = &ctx->client;
    login.account = account;

    if (!limiter_find_login(mcf->memory, &login)) {
        return NGX_DECLINED;
    }

    open->table = mcf->table;
    open->auth_status = 0;
    open->ticket.count = 0;

    login.now_ns = table_now(mcf->table);
    login.ticket = &open->ticket;

    if (!limiter_pass_login(mcf->memory, &login)) {
        return NGX_DECLINED;
    }

    ctx->open = open;
    ctx->limit = login.limit_name;
    ctx->remaining = login.remaining;
    ctx->word = NGX_HTTP_DROSSEL_PASSED;

    ngx_http_drossel_guard_by(r, ctx, &left->cleanup);

    if (unlikely(mcf->untimed-- == 0)) {
        ngx_http_drossel_sample(mcf, login.now_ns);
    }

    return NGX_OK;
}
