
/*
 * The shortest way of a login: its body came with its header, it names one account,
 * and the only limit there is counts the failures of accounts and has room.
 *
 * Nothing is gathered but that account, and no decision is written.  Whatever is not
 * as expected is judged, with nothing changed but that the body was read.
 */


#include "ngx_http_drossel.h"


static ngx_int_t ngx_http_drossel_charge(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx);


own_line ngx_int_t
ngx_http_drossel_login(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_drossel_ctx_t *ctx)
{
    ngx_int_t                    rc;
    ngx_http_drossel_pending_t  *pending;

    if (!ngx_http_drossel_is_body_here(r)) {
        return NGX_OK;
    }

    if (ngx_http_drossel_guard(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_http_drossel_read_body(r, ctx);

    if (rc != NGX_OK) {
        return rc;
    }

    pending = ctx->pending;

    ngx_http_drossel_accounts(r, mcf, pending);

    if (pending->account_count != 1 || pending->unreadable) {
        return NGX_OK;
    }

    return ngx_http_drossel_charge(r, mcf, ctx);
}


/* The ticket lies where its answer will settle it. */

static ngx_int_t
ngx_http_drossel_charge(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_drossel_ctx_t *ctx)
{
    ngx_http_drossel_open_t       *open;
    struct limiter_passing_login   login;

    open = ngx_palloc(r->pool, offsetof(ngx_http_drossel_open_t, ticket.charge)
                               + sizeof(open->ticket.charge[0]));
    if (open == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    open->table = mcf->table;
    open->ticket.count = 0;

    ngx_http_drossel_set_client(r, ctx);

    login.client = &ctx->client;
    login.account = ctx->pending->accounts;
    login.now_ns = table_now(mcf->table);
    login.ticket = &open->ticket;

    if (!limiter_pass_login(mcf->limiter, &login)) {
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
