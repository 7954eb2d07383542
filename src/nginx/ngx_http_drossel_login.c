
/*
 * The shortest way of a login: its body came with its header, it names one account,
 * and the only limit there is counts the failures of accounts and has room.
 *
 * The account is looked for where the body lies; nginx reads it when the application
 * is asked, as it would without us.  No decision is written.  Whatever is not as
 * expected is judged, with nothing changed.
 */


#include "ngx_http_drossel.h"


static ngx_uint_t ngx_http_drossel_peek(ngx_http_request_t *r, size_t cap,
    ngx_http_drossel_bytes_t *bytes);
static ngx_int_t ngx_http_drossel_charge(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    const struct drossel_text *account);


own_line ngx_int_t
ngx_http_drossel_login(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_drossel_ctx_t *ctx)
{
    struct body_found         found;
    ngx_http_drossel_bytes_t  bytes;

    if (!ngx_http_drossel_peek(r, (size_t) mcf->policy->body_cap, &bytes)) {
        return NGX_OK;
    }

    ngx_http_drossel_find(r, mcf, &bytes, &found);

    if (found.count != 1 || found.malformed || found.too_many) {
        return NGX_OK;
    }

    return ngx_http_drossel_charge(r, mcf, ctx, &found.value[0].text);
}


/* The body behind the header, if all of it is there already. */

static ngx_inline ngx_uint_t
ngx_http_drossel_peek(ngx_http_request_t *r, size_t cap,
    ngx_http_drossel_bytes_t *bytes)
{
    off_t  length;

#if (NGX_HTTP_V2)

    if (r->stream) {
        return 0;
    }

#endif

    length = r->headers_in.content_length_n;

    if (r->request_body || r->headers_in.chunked || length <= 0
        || length > r->header_in->last - r->header_in->pos)
    {
        return 0;
    }

    bytes->data = r->header_in->pos;
    bytes->size = ngx_min((size_t) length, cap);
    bytes->truncated = (size_t) length > cap;
    bytes->copied = 0;

    return 1;
}


/* The ticket lies where its answer will settle it. */

static ngx_int_t
ngx_http_drossel_charge(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_drossel_ctx_t *ctx, const struct drossel_text *account)
{
    ngx_http_drossel_open_t       *open;
    struct limiter_passing_login   login;

    if (ngx_http_drossel_guard(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    open = ngx_palloc(r->pool, offsetof(ngx_http_drossel_open_t, ticket.charge)
                               + sizeof(open->ticket.charge[0]));
    if (open == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    open->table = mcf->table;
    open->ticket.count = 0;

    ngx_http_drossel_set_client(r, ctx);

    login.client = &ctx->client;
    login.account = account;
    login.now_ns = table_now(mcf->table);
    login.ticket = &open->ticket;

    if (!limiter_pass_login(mcf->memory, &login)) {
        return NGX_OK;
    }

    ctx->open = open;
    ctx->limit = mcf->logins;
    ctx->remaining = login.remaining;
    ctx->word = NGX_HTTP_DROSSEL_PASSED;

    if (unlikely(mcf->untimed-- == 0)) {
        ngx_http_drossel_note_time(mcf, login.now_ns);
    }

    return NGX_DECLINED;
}
