
/*
 * Where a request comes in: whether it is judged, and the shortest way of the many
 * that pass.
 *
 * Between two requests nginx and the kernel push the module's code and data out of
 * the nearest cache, so that a request costs as many lines of memory as it touches,
 * more than instructions.  That is why most requests are
 * asked for here with no more than address and path (limiter_pass.c), and why a request that passes has no
 * clean-up to be run.
 */


#include "ngx_http_drossel.h"


static ngx_int_t ngx_http_drossel_no_value(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_drossel_pass(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_variable_value_t *anchor);
static ngx_uint_t ngx_http_drossel_is_heeded(const ngx_http_request_t *r,
    uint64_t lengths);
static kept_apart ngx_int_t ngx_http_drossel_again(
    ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    const ngx_http_variable_value_t *anchor);
static void ngx_http_drossel_cleanup(void *data);


/* No variable that a configuration could name: its place in each request holds our
 * context, because an internal redirect clears the modules' contexts, but no
 * variables. */

static ngx_str_t  ngx_http_drossel_anchor = ngx_string("drossel.context");


ngx_int_t
ngx_http_drossel_add_anchor(ngx_conf_t *cf)
{
    ngx_int_t                      index;
    ngx_http_variable_t           *var;
    ngx_http_drossel_main_conf_t  *mcf;

    var = ngx_http_add_variable(cf, &ngx_http_drossel_anchor,
                                NGX_HTTP_VAR_NOHASH);
    if (var == NULL) {
        return NGX_ERROR;
    }

    var->get_handler = ngx_http_drossel_no_value;

    index = ngx_http_get_variable_index(cf, &ngx_http_drossel_anchor);
    if (index == NGX_ERROR) {
        return NGX_ERROR;
    }

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_drossel_module);
    mcf->anchor = (ngx_uint_t) index;

    return NGX_OK;
}


/* nginx wants one. */

static ngx_int_t
ngx_http_drossel_no_value(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    v->not_found = 1;

    return NGX_OK;
}


/*
 * Subrequests share their main request's variables.  Of a request that has passed the
 * short way its place holds all that is to be said, marked by "escape": a context is
 * made of it once somebody asks.
 */

ngx_http_drossel_ctx_t *
ngx_http_drossel_get_ctx(ngx_http_request_t *r)
{
    ngx_http_drossel_ctx_t        *ctx;
    ngx_http_variable_value_t     *anchor;
    ngx_http_drossel_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_drossel_module);
    anchor = &r->variables[mcf->anchor];

    if (likely(!anchor->escape)) {
        ctx = anchor->valid ? (void *) anchor->data : NULL;
        return ctx && !ctx->expected ? ctx : NULL;
    }

    ctx = ngx_pcalloc(r->pool, sizeof(ngx_http_drossel_ctx_t));
    if (ctx == NULL) {
        return NULL;
    }

    ctx->word = NGX_HTTP_DROSSEL_PASSED;
    ctx->limit = (const char *) anchor->data;
    ctx->remaining = ctx->limit ? anchor->len : 0;
    ngx_http_drossel_set_client(r, &ctx->client);

    anchor->data = (void *) ctx;
    anchor->escape = 0;

    return ctx;
}


own_way ngx_int_t
ngx_http_drossel_handler(ngx_http_request_t *r)
{
    ngx_http_drossel_ctx_t        *ctx;
    ngx_http_variable_value_t     *anchor;
    ngx_http_drossel_loc_conf_t   *lcf;
    ngx_http_drossel_main_conf_t  *mcf;

    if (unlikely(r != r->main)) {
        return NGX_DECLINED;
    }

    mcf = ngx_http_get_module_main_conf(r, ngx_http_drossel_module);
    lcf = ngx_http_get_module_loc_conf(r, ngx_http_drossel_module);

    anchor = &r->variables[mcf->anchor];

    if (unlikely(anchor->valid)) {

        if (mcf->logins && !anchor->escape
            && ((ngx_http_drossel_ctx_t *) anchor->data)->expected)
        {
            return ngx_http_drossel_login(r, mcf, (void *) anchor->data);
        }

        return ngx_http_drossel_again(r, mcf, anchor);
    }

    if (likely(mcf->passes && lcf->judge
               && !ngx_http_drossel_is_heeded(r, mcf->heeded)
               && ngx_http_drossel_pass(r, mcf, anchor) == NGX_OK))
    {
        return NGX_DECLINED;
    }

    ctx = ngx_pcalloc(r->pool, sizeof(ngx_http_drossel_ctx_t));
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    anchor->data = (void *) ctx;
    anchor->valid = 1;

    return ngx_http_drossel_first(r, mcf, ctx);
}


/* NGX_DECLINED: nothing was done. */

static ngx_inline ngx_int_t
ngx_http_drossel_pass(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_variable_value_t *anchor)
{
    struct drossel_address  client;
    struct limiter_passing  request;

    if (mcf->has_path && !ngx_http_drossel_path_is_plain(r, &request.path)) {
        return NGX_DECLINED;
    }

    ngx_http_drossel_set_client(r, &client);

    request.client = &client;
    request.now_ns = table_now(mcf->table);

    if (!limiter_pass(mcf->memory, &request)) {
        return NGX_DECLINED;
    }

    /* no limit of the engine has a count of more than 28 bits */

    anchor->data = (void *) request.limit_name;
    anchor->len = (unsigned) request.remaining & 0x0fffffff;
    anchor->escape = 1;
    anchor->valid = 1;

    if (unlikely(mcf->untimed-- == 0)) {
        ngx_http_drossel_sample(mcf, request.now_ns);
    }

    return NGX_OK;
}


/*
 * May there be a header field that has to be looked at: one of ours that is forged,
 * or one that tells of a proxy?  By length and first letter.
 */

static ngx_inline ngx_uint_t
ngx_http_drossel_is_heeded(const ngx_http_request_t *r, uint64_t lengths)
{
    ngx_uint_t              i;
    const ngx_list_part_t  *part;
    const ngx_table_elt_t  *h;

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if ((lengths >> (h[i].key.len & 63) & 1) == 0) {
                continue;
            }

            if (ngx_http_drossel_is_initial(h[i].lowcase_key[0])) {
                return 1;
            }
        }
    }

    return 0;
}


void
ngx_http_drossel_heed(ngx_http_drossel_main_conf_t *mcf, ngx_uint_t closely)
{
    mcf->heeded = NGX_HTTP_DROSSEL_HEED(sizeof("drossel-challenge") - 1);

    if (!mcf->watch.done && (closely || !proxywatch_is_calm(&mcf->watch))) {
        mcf->heeded |= NGX_HTTP_DROSSEL_HEED(sizeof("forwarded") - 1)
                       | NGX_HTTP_DROSSEL_HEED(sizeof("x-real-ip") - 1)
                       | NGX_HTTP_DROSSEL_HEED(sizeof("x-forwarded-for") - 1)
                       | NGX_HTTP_DROSSEL_HEED(sizeof("cf-connecting-ip") - 1);
    }
}


/* Of some requests that pass: how long that took; and the next one is looked at closely. */

kept_apart void
ngx_http_drossel_sample(ngx_http_drossel_main_conf_t *mcf, uint64_t from_ns)
{
    ngx_http_drossel_note_time(mcf, from_ns);
    ngx_http_drossel_heed(mcf, 1);
}


kept_apart ngx_int_t
ngx_http_drossel_first(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_drossel_ctx_t *ctx)
{
    ngx_http_drossel_seen_t       seen;
    ngx_http_drossel_loc_conf_t  *lcf;

    ngx_http_drossel_heed(mcf, 0);
    ngx_http_drossel_look(r, &seen);

    if (seen.challenge) {
        ngx_http_drossel_remove_challenge(r);
        ngx_http_drossel_look(r, &seen);
    }

    lcf = ngx_http_get_module_loc_conf(r, ngx_http_drossel_module);

    if (!lcf->judge) {
        return NGX_DECLINED;
    }

    return ngx_http_drossel_judge(r, mcf, ctx, &seen);
}


/* A main request is decided once: not again after a redirect or a delay. */

static kept_apart ngx_int_t
ngx_http_drossel_again(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    const ngx_http_variable_value_t *anchor)
{
    ngx_http_drossel_ctx_t   *ctx;
    ngx_http_drossel_seen_t   seen;

    if (anchor->escape) {
        return NGX_DECLINED;
    }

    ctx = (void *) anchor->data;

    if (!ctx->waiting) {
        ngx_http_drossel_settle_replaced(r, ctx);
        return NGX_DECLINED;
    }

    if (ctx->pending->reading) {
        /* reading has failed, and this is the error's page */
        ctx->waiting = 0;
        return NGX_DECLINED;
    }

    ngx_http_drossel_look(r, &seen);

    return ngx_http_drossel_judge(r, mcf, ctx, &seen);
}


ngx_int_t
ngx_http_drossel_guard(ngx_http_request_t *r, ngx_http_drossel_ctx_t *ctx)
{
    ngx_pool_cleanup_t  *cln;

    if (ctx->guarded) {
        return NGX_OK;
    }

    cln = ngx_palloc(r->pool, sizeof(ngx_pool_cleanup_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    ngx_http_drossel_guard_by(r, ctx, cln);

    return NGX_OK;
}


/* As ngx_pool_cleanup_add(), which would allocate it. */

void
ngx_http_drossel_guard_by(ngx_http_request_t *r, ngx_http_drossel_ctx_t *ctx,
    ngx_pool_cleanup_t *cln)
{
    cln->handler = ngx_http_drossel_cleanup;
    cln->data = ctx;
    cln->next = r->pool->cleanup;

    r->pool->cleanup = cln;

    ctx->guarded = 1;
}


/*
 * Charges that no answer has settled stay: the client did not wait for it, or the
 * application never gave it.
 */

static own_line void
ngx_http_drossel_cleanup(void *data)
{
    ngx_http_drossel_ctx_t  *ctx;

    ctx = data;

    if (unlikely(ctx->pending != NULL)) {
        ngx_http_drossel_unhold(ctx->pending);
    }

    if (ctx->open && unlikely(ctx->open->ticket.count)) {
        ngx_http_drossel_settle(ctx, DROSSEL_FAILURE);
    }
}
