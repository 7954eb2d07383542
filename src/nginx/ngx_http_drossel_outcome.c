
/*
 * What the application's answer means for the charges that were taken when the
 * request came.
 *
 * A header filter before all others sees the answer as the application gave it.
 * nginx may replace an answer (error_page with intercepted errors,
 * X-Accel-Redirect) and ask another upstream meanwhile: then the answer is looked
 * at when the request passes the preaccess phase again, before the first upstream
 * is forgotten.  The first answer counts, and no later one.
 *
 * Where nginx itself refuses (auth_basic, auth_request) and an error page asks an
 * upstream for something to show, the refusal counts, and is looked at there, too.
 *
 * Not each answer is the application's.  What nginx says because an upstream
 * died, timed out or could not be reached is no outcome: the charge stays, or
 * else guesses would be free whenever the application is overloaded.  Nor is an
 * error page's status of success ("error_page 401 =200 /login.html").
 */


#include "ngx_http_drossel.h"


static ngx_int_t ngx_http_drossel_outcome_init(ngx_conf_t *cf);
static ngx_int_t ngx_http_drossel_header_filter(ngx_http_request_t *r);
static ngx_int_t ngx_http_drossel_outcome_filter(
    ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf);
static ngx_uint_t ngx_http_drossel_is_refused(ngx_http_request_t *r,
    const ngx_http_drossel_open_t *open);
static void ngx_http_drossel_heed_auth(ngx_http_request_t *r);
static ngx_uint_t ngx_http_drossel_upstream_status(ngx_http_request_t *r);
static enum drossel_outcome ngx_http_drossel_outcome(ngx_http_request_t *r);
static enum drossel_outcome ngx_http_drossel_outcome_of(ngx_http_request_t *r,
    ngx_uint_t status, ngx_list_t *headers);
static bool ngx_http_drossel_find_field(void *context,
    struct drossel_text name, struct drossel_text *value);
static void ngx_http_drossel_hide(ngx_http_request_t *r,
    const struct drossel_text *name);
static void ngx_http_drossel_hide_field(ngx_http_request_t *r,
    const struct drossel_text *name);


static ngx_http_module_t  ngx_http_drossel_outcome_module_ctx = {
    NULL,                                  /* preconfiguration */
    ngx_http_drossel_outcome_init,         /* postconfiguration */

    NULL,                                  /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    NULL,                                  /* create location configuration */
    NULL                                   /* merge location configuration */
};


ngx_module_t  ngx_http_drossel_outcome_module = {
    NGX_MODULE_V1,
    &ngx_http_drossel_outcome_module_ctx,  /* module context */
    NULL,                                  /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


/*
 * In any case, though without limits that count failures no answer is of interest:
 * a configuration that fails to load has replaced the list of filters all the
 * same, and a worker that is started after that works by the old policy with it.
 */

static ngx_int_t
ngx_http_drossel_outcome_init(ngx_conf_t *cf)
{
    ngx_http_drossel_main_conf_t  *mcf;

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_drossel_module);

    mcf->next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_drossel_header_filter;

    return NGX_OK;
}


ngx_int_t
ngx_http_drossel_open(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    ngx_http_drossel_ctx_t *ctx, const struct drossel_ticket *ticket)
{
    uint32_t                  i;
    ngx_uint_t                doubtful;
    ngx_http_drossel_open_t  *open;

    /* of the ticket's places only those that it needs: mostly one of eight */

    open = ngx_palloc(r->pool, offsetof(ngx_http_drossel_open_t, ticket.charge)
                               + ticket->count * sizeof(ticket->charge[0]));
    if (open == NULL) {
        limiter_settle(mcf->table, ticket, DROSSEL_FAILURE,
                       table_now(mcf->table));
        return NGX_ERROR;
    }

    /* of several names the application took one, and we cannot know which */

    doubtful = ctx->pending
               && (ctx->pending->account_count > 1 || ctx->pending->unreadable);

    open->table = mcf->table;
    open->auth_status = 0;
    open->ticket.count = ticket->count;
    open->ticket.is_listed = ticket->is_listed;
    open->ticket.home = ticket->home;
    open->ticket.tag = ticket->tag;

    for (i = 0; i < ticket->count; i++) {

        open->ticket.charge[i] = ticket->charge[i];

        if (doubtful) {
            open->ticket.charge[i].resets = 0;
        }
    }

    ctx->open = open;

    return NGX_OK;
}


void
ngx_http_drossel_settle(ngx_http_drossel_ctx_t *ctx,
    enum drossel_outcome outcome)
{
    ngx_http_drossel_open_t  *open;

    open = ctx->open;

    if (unlikely(open == NULL || open->ticket.count == 0)) {
        return;
    }

    limiter_settle(open->table, &open->ticket, outcome,
                   table_now(open->table));

    open->ticket.count = 0;

    ngx_http_drossel_wake();
}


void
ngx_http_drossel_settle_replaced(ngx_http_request_t *r,
    ngx_http_drossel_ctx_t *ctx)
{
    if (ctx->open == NULL || ctx->open->ticket.count == 0) {
        return;
    }

    if (ngx_http_drossel_upstream_status(r)) {
        ngx_http_drossel_settle(ctx, ngx_http_drossel_outcome(r));

    } else if (r->upstream == NULL
               && ngx_http_drossel_is_refused(r, ctx->open))
    {
        ngx_http_drossel_settle(ctx, DROSSEL_FAILURE);
    }
}


/*
 * Has nginx itself answered with a failure, which an error page replaces now?  The
 * form of a login behind "error_page 401 = @login" must not make a success of it.
 * What is told by "=" in place of the status is found in its traces.  An answer that
 * is no failure ("error_page 404 = @application") is left to who is asked next.
 */

static ngx_uint_t
ngx_http_drossel_is_refused(ngx_http_request_t *r,
    const ngx_http_drossel_open_t *open)
{
    ngx_uint_t        status;
    ngx_table_elt_t  *h;

    h = r->headers_out.www_authenticate;

    if (h && h->hash) {
        status = NGX_HTTP_UNAUTHORIZED;

    } else {
        status = open->auth_status ? open->auth_status : r->err_status;
    }

    return status
           && ngx_http_drossel_outcome_of(r, status, &r->headers_out.headers)
              == DROSSEL_FAILURE;
}


/* Most answers are of no interest, and then no more than this is touched. */

static own_line ngx_int_t
ngx_http_drossel_header_filter(ngx_http_request_t *r)
{
    ngx_http_drossel_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_drossel_module);

    if (likely(!mcf->outcomes)) {
        return mcf->next_header_filter(r);
    }

    return ngx_http_drossel_outcome_filter(r, mcf);
}


static own_way kept_apart ngx_int_t
ngx_http_drossel_outcome_filter(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf)
{
    ngx_http_drossel_ctx_t  *ctx;

    if (r != r->main) {
        ngx_http_drossel_heed_auth(r);
        return mcf->next_header_filter(r);
    }

    /* each of these tells where the next one lies: they come from memory side by side */

    __builtin_prefetch(mcf->table);

    ctx = ngx_http_drossel_get_ctx(r);

    __builtin_prefetch(ctx + 1);
    __builtin_prefetch((u_char *) (ctx + 1) + 64);

    if (likely(ctx && ctx->open && ctx->open->ticket.count)) {
        limiter_fetch_ticket(ctx->open->table, &ctx->open->ticket);
        ngx_http_drossel_settle(ctx, ngx_http_drossel_outcome(r));
    }

    /* where nothing was charged, too: the client must never see them */

    if (unlikely(mcf->hides)) {
        ngx_http_drossel_hide(r, &mcf->policy->failure.header);
        ngx_http_drossel_hide(r, &mcf->policy->success.header);
    }

    return mcf->next_header_filter(r);
}


/* Of "auth_request": those two it takes for a refusal, and tells nobody which. */

static kept_apart void
ngx_http_drossel_heed_auth(ngx_http_request_t *r)
{
    ngx_http_drossel_ctx_t  *ctx;

    if (r->parent != r->main || r->background
        || (r->headers_out.status != NGX_HTTP_UNAUTHORIZED
            && r->headers_out.status != NGX_HTTP_FORBIDDEN))
    {
        return;
    }

    ctx = ngx_http_drossel_get_ctx(r->main);

    if (ctx && ctx->open) {
        ctx->open->auth_status = r->headers_out.status;
    }
}


/* The status that an upstream gave with a complete header; 0: none did. */

static ngx_uint_t
ngx_http_drossel_upstream_status(ngx_http_request_t *r)
{
    ngx_http_upstream_t  *u;

    u = r->upstream;

    if (unlikely(u == NULL || u->state == NULL
                 || u->state->header_time == (ngx_msec_t) -1))
    {
        return 0;
    }

    return u->headers_in.status_n;
}


static enum drossel_outcome
ngx_http_drossel_outcome(ngx_http_request_t *r)
{
    ngx_uint_t            status;
    enum drossel_outcome  outcome;

    status = ngx_http_drossel_upstream_status(r);

    if (likely(status)) {
        return ngx_http_drossel_outcome_of(r, status,
                                           &r->upstream->headers_in.headers);
    }

    status = r->headers_out.status;

    /* an upstream was asked, and said nothing; one from a cache has no state */

    if (r->upstream
        && (r->upstream->state || status >= NGX_HTTP_INTERNAL_SERVER_ERROR))
    {
        return DROSSEL_FAILURE;
    }

    outcome = ngx_http_drossel_outcome_of(r, status, &r->headers_out.headers);

    if (outcome == DROSSEL_SUCCESS && (r->err_status || r->error_page)) {
        return DROSSEL_FAILURE;
    }

    return outcome;
}


static enum drossel_outcome
ngx_http_drossel_outcome_of(ngx_http_request_t *r, ngx_uint_t status,
    ngx_list_t *headers)
{
    ngx_http_drossel_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_drossel_module);

    return limiter_outcome(mcf->policy, (unsigned) status,
                           ngx_http_drossel_find_field, headers);
}


static ngx_uint_t
ngx_http_drossel_is_field(const ngx_table_elt_t *h,
    const struct drossel_text *name)
{
    return h->hash && h->key.len == name->size
           && ngx_strncasecmp(h->key.data, (u_char *) name->data, name->size)
              == 0;
}


static bool
ngx_http_drossel_find_field(void *context, struct drossel_text name,
    struct drossel_text *value)
{
    ngx_uint_t        i;
    ngx_list_t       *headers;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    headers = context;

    for (part = &headers->part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (ngx_http_drossel_is_field(&h[i], &name)) {
                value->data = (const char *) h[i].value.data;
                value->size = h[i].value.len;
                return true;
            }
        }
    }

    return false;
}


static ngx_inline void
ngx_http_drossel_hide(ngx_http_request_t *r, const struct drossel_text *name)
{
    if (unlikely(name->size)) {
        ngx_http_drossel_hide_field(r, name);
    }
}


static kept_apart void
ngx_http_drossel_hide_field(ngx_http_request_t *r,
    const struct drossel_text *name)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    for (part = &r->headers_out.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (ngx_http_drossel_is_field(&h[i], name)) {
                h[i].hash = 0;
            }
        }
    }
}
