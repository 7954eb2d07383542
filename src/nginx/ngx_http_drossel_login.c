
/*
 * The shortest way of a login: its body came with its header, it names one account,
 * and the only limit there is counts the failures of accounts and has room.
 *
 * The account is looked for where the body lies; nginx reads it when the application
 * is asked, as it would without us.  No decision is written.  Whatever is not as
 * expected is judged, with nothing changed.
 *
 * It is done in two steps, because the key's line of memory takes long to come, up to a
 * fifth of what a login takes here in all: the key is found, and its line asked for, before nginx looks for
 * the request's location, and charged after that.
 */


#include "ngx_http_drossel.h"


/* All that a login leaves, in one piece: one call, and lines of memory that lie side by
 * side. */

typedef struct {
    struct table_key          key;
    ngx_pool_cleanup_t        cleanup;
    ngx_http_drossel_ctx_t    ctx;
    ngx_http_drossel_open_t   open;       /* ends behind its first charge */
} ngx_http_drossel_login_t;


static ngx_uint_t ngx_http_drossel_peek(ngx_http_request_t *r, size_t cap,
    struct body *body);
static ngx_uint_t ngx_http_drossel_type(const ngx_http_request_t *r,
    uint64_t heeded, struct drossel_text *type);
static ngx_int_t ngx_http_drossel_expect_of(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_variable_value_t *anchor,
    const struct drossel_text *account);
static ngx_uint_t ngx_http_drossel_is_as_expected(ngx_http_request_t *r,
    const ngx_http_drossel_ctx_t *ctx);
static ngx_uint_t ngx_http_drossel_charge(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_login_t *login);


/* A handler of the server's rewrite phase: the real client is known by then. */

own_way ngx_int_t
ngx_http_drossel_expect(ngx_http_request_t *r)
{
    struct body                    body;
    struct body_found              found;
    struct drossel_text            type;
    ngx_http_variable_value_t     *anchor;
    ngx_http_drossel_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_drossel_module);
    anchor = &r->variables[mcf->anchor];

    if (unlikely(r != r->main || anchor->valid
                 || !ngx_http_drossel_peek(r, mcf->body_cap, &body)
                 || !ngx_http_drossel_type(r, mcf->heeded, &type)))
    {
        return NGX_DECLINED;
    }

    body.content_types = &type;
    body.content_type_count = type.size != 0;
    body.content_encoding.size = 0;

    ngx_http_drossel_find_in_body(mcf, &body, &found);

    if (unlikely(found.count != 1 || found.malformed || found.too_many)) {
        return NGX_DECLINED;
    }

    return ngx_http_drossel_expect_of(r, mcf, anchor, &found.value[0].text);
}


static ngx_inline ngx_int_t
ngx_http_drossel_expect_of(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_variable_value_t *anchor,
    const struct drossel_text *account)
{
    ngx_http_drossel_login_t  *login;

    login = ngx_palloc(r->pool,
                       offsetof(ngx_http_drossel_login_t, open.ticket.charge)
                       + sizeof(login->open.ticket.charge[0]));
    if (login == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_memzero(&login->ctx, sizeof(ngx_http_drossel_ctx_t));
    ngx_http_drossel_set_client(r, &login->ctx.client);

    if (limiter_find_login(mcf->memory, &login->ctx.client, account,
                           &login->key))
    {
        login->ctx.expected = 1;

        anchor->data = (void *) &login->ctx;
        anchor->valid = 1;
    }

    return NGX_DECLINED;
}


own_way kept_apart ngx_int_t
ngx_http_drossel_login(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_drossel_ctx_t *ctx)
{
    ngx_http_drossel_login_t     *login;
    ngx_http_drossel_loc_conf_t  *lcf;

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_drossel_module);

    ctx->expected = 0;

    login = (void *) ((u_char *) ctx - offsetof(ngx_http_drossel_login_t, ctx));

    if (likely(lcf->judge && ngx_http_drossel_is_as_expected(r, ctx)
               && ngx_http_drossel_charge(r, mcf, login)))
    {
        return NGX_DECLINED;
    }

    return ngx_http_drossel_first(r, mcf, ctx);
}


/* The location may know other proxies, and "rewrite" may have made a query. */

static ngx_inline ngx_uint_t
ngx_http_drossel_is_as_expected(ngx_http_request_t *r,
    const ngx_http_drossel_ctx_t *ctx)
{
    struct drossel_address  client;

    ngx_memzero(&client, sizeof(struct drossel_address));
    ngx_http_drossel_set_client(r, &client);

    return r->args.len == 0
           && ngx_memcmp(&client, &ctx->client, sizeof(struct drossel_address))
              == 0;
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


/* The ticket lies where its answer will settle it.  0: nothing was done. */

static ngx_inline ngx_uint_t
ngx_http_drossel_charge(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_drossel_login_t *login)
{
    ngx_http_drossel_ctx_t        *ctx;
    ngx_http_drossel_open_t       *open;
    struct limiter_passing_login   passing;

    ctx = &login->ctx;
    open = &login->open;

    open->table = mcf->table;
    open->auth_status = 0;
    open->ticket.count = 0;

    passing.key = login->key;
    passing.now_ns = table_now(mcf->table);
    passing.ticket = &open->ticket;

    if (!limiter_pass_login(mcf->memory, &passing)) {
        return 0;
    }

    ctx->open = open;
    ctx->limit = passing.limit_name;
    ctx->remaining = passing.remaining;
    ctx->word = NGX_HTTP_DROSSEL_PASSED;

    ngx_http_drossel_guard_by(r, ctx, &login->cleanup);

    if (unlikely(mcf->untimed-- == 0)) {
        ngx_http_drossel_sample(mcf, passing.now_ns);
    }

    return 1;
}
