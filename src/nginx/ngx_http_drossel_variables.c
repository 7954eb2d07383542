
/*
 * Variables for logs and header fields.  All read what the context kept; it does
 * not change once the request was judged.
 */


#include "ngx_http_drossel.h"


static ngx_int_t ngx_http_drossel_verdict(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_drossel_limit(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_drossel_remaining(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_drossel_time(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_drossel_client(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);


/*
 * Not cacheable: a variable that is read before the request was judged (in an
 * "if", say) must not stay empty for the log.
 */

static ngx_http_variable_t  ngx_http_drossel_vars[] = {

    { ngx_string("drossel_verdict"), NULL, ngx_http_drossel_verdict,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("drossel_limit"), NULL, ngx_http_drossel_limit,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("drossel_remaining"), NULL, ngx_http_drossel_remaining,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("drossel_wait"), NULL, ngx_http_drossel_time,
      offsetof(ngx_http_drossel_ctx_t, wait_ns), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("drossel_delay"), NULL, ngx_http_drossel_time,
      offsetof(ngx_http_drossel_ctx_t, delay_ns), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("drossel_client"), NULL, ngx_http_drossel_client,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

      ngx_http_null_variable
};


ngx_int_t
ngx_http_drossel_add_variables(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_drossel_vars; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return ngx_http_drossel_add_anchor(cf);
}


u_char *
ngx_http_drossel_seconds(u_char *p, uint64_t ns)
{
    uint64_t  ms;

    if (ns == DROSSEL_NEVER) {
        return ngx_cpymem(p, "never", sizeof("never") - 1);
    }

    ms = ns / 1000000 + (ns % 1000000 != 0);

    return ngx_sprintf(p, "%uL.%03uL", ms / 1000, ms % 1000);
}


/*
 * Text that lives as long as the request, or none.  While the request may still
 * be judged "none" is not written down (neither valid nor not_found), because
 * the log takes what it finds there.
 */

static ngx_int_t
ngx_http_drossel_value(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    const void *data, size_t len)
{
    if (data == NULL) {
        v->len = 0;
        v->valid = 0;
        v->not_found = ngx_http_drossel_get_ctx(r->main) || r->header_sent;
        return NGX_OK;
    }

    v->data = (u_char *) data;
    v->len = (unsigned) len & 0x0fffffff;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;

    return NGX_OK;
}


/* NULL where the request was not judged, or was exempt. */

static ngx_http_drossel_ctx_t *
ngx_http_drossel_judged(ngx_http_request_t *r)
{
    ngx_http_drossel_ctx_t  *ctx;

    ctx = ngx_http_drossel_get_ctx(r->main);

    return ctx && ctx->word ? ctx : NULL;
}


static ngx_int_t
ngx_http_drossel_verdict(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    u_char                  *p;
    const char              *word;
    ngx_http_drossel_ctx_t  *ctx;

    ctx = ngx_http_drossel_judged(r);
    if (ctx == NULL) {
        return ngx_http_drossel_value(r, v, NULL, 0);
    }

    word = ngx_http_drossel_word(ctx->word);

    if (!ctx->dry_run) {
        return ngx_http_drossel_value(r, v, word, ngx_strlen(word));
    }

    p = ngx_pnalloc(r->pool, ngx_strlen(word) + sizeof("_DRY_RUN"));
    if (p == NULL) {
        return NGX_ERROR;
    }

    return ngx_http_drossel_value(r, v, p,
                                  (size_t) (ngx_sprintf(p, "%s_DRY_RUN", word)
                                            - p));
}


static ngx_int_t
ngx_http_drossel_limit(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    ngx_http_drossel_ctx_t  *ctx;

    ctx = ngx_http_drossel_judged(r);

    if (ctx == NULL || ctx->limit == NULL) {
        return ngx_http_drossel_value(r, v, NULL, 0);
    }

    return ngx_http_drossel_value(r, v, ctx->limit,
                                  ngx_strlen(ctx->limit));
}


static ngx_int_t
ngx_http_drossel_remaining(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    u_char                  *p;
    ngx_http_drossel_ctx_t  *ctx;

    ctx = ngx_http_drossel_judged(r);

    if (ctx == NULL || ctx->limit == NULL) {
        return ngx_http_drossel_value(r, v, NULL, 0);
    }

    p = ngx_pnalloc(r->pool, NGX_INT64_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    return ngx_http_drossel_value(r, v, p,
                                  (size_t) (ngx_sprintf(p, "%uL",
                                                        ctx->remaining) - p));
}


static ngx_int_t
ngx_http_drossel_time(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    u_char                  *p;
    uint64_t                 ns;
    ngx_http_drossel_ctx_t  *ctx;

    ctx = ngx_http_drossel_judged(r);
    if (ctx == NULL) {
        return ngx_http_drossel_value(r, v, NULL, 0);
    }

    p = ngx_pnalloc(r->pool, NGX_HTTP_DROSSEL_SECONDS_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(&ns, (u_char *) ctx + data, sizeof(uint64_t));

    return ngx_http_drossel_value(r, v, p,
                                  (size_t) (ngx_http_drossel_seconds(p, ns)
                                            - p));
}


static ngx_int_t
ngx_http_drossel_client(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    char                    *p;
    ngx_http_drossel_ctx_t  *ctx;

    ctx = ngx_http_drossel_get_ctx(r->main);

    if (ctx == NULL || ctx->client.family == DROSSEL_NONE) {
        return ngx_http_drossel_value(r, v, NULL, 0);
    }

    p = ngx_pnalloc(r->pool, DROSSEL_ADDRESS_TEXT);
    if (p == NULL) {
        return NGX_ERROR;
    }

    return ngx_http_drossel_value(r, v, p,
                                  drossel_address_format(&ctx->client, p));
}
