
/*
 * One request judged: facts, decision, and what follows from it.
 *
 * Costs that are avoided here: nothing is allocated, the decision is never cleared,
 * and headers are walked once, comparing lengths before bytes.
 */


#include "ngx_http_drossel.h"


static ngx_int_t ngx_http_drossel_get_body(ngx_http_request_t *r,
    ngx_http_drossel_ctx_t *ctx);
static void ngx_http_drossel_complete(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const ngx_http_drossel_ctx_t *ctx,
    struct drossel_request *request);
static ngx_int_t ngx_http_drossel_judge_after_all(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    ngx_http_drossel_seen_t *seen, const struct drossel_ticket *ticket);
static ngx_int_t ngx_http_drossel_decide(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_request *request,
    struct drossel_decision *decision);
static ngx_int_t ngx_http_drossel_carry_out(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    const struct drossel_request *request, struct drossel_decision *decision);
static ngx_int_t ngx_http_drossel_enforce(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    struct drossel_decision *decision);
static ngx_int_t ngx_http_drossel_challenge(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    const struct drossel_decision *decision);
static void ngx_http_drossel_keep(ngx_http_drossel_ctx_t *ctx,
    const struct drossel_decision *decision);
static void ngx_http_drossel_warn(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_decision *decision,
    const ngx_http_drossel_seen_t *seen);
static void ngx_http_drossel_watch(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_decision *decision,
    const ngx_table_elt_t *forwarded);


ngx_int_t
ngx_http_drossel_judge(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    ngx_http_drossel_seen_t *seen)
{
    char                     path[NGX_HTTP_DROSSEL_PATH_LEN];
    ngx_int_t                read;
    ngx_uint_t               unread;
    struct drossel_request   request;
    struct drossel_decision  decision;

    if (ngx_http_drossel_facts(r, &mcf->policy->client, path, &request)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->waiting = 0;
    ngx_http_drossel_unhold(ctx->pending);

    unread = 0;

    if (ctx->pending == NULL && limiter_needs_body(mcf->limiter, &request)) {

        unread = ngx_http_drossel_is_body_idle(r, mcf, &request);
        read = unread ? NGX_OK : ngx_http_drossel_get_body(r, ctx);

        if (read != NGX_OK) {
            return read;
        }
    }

    ngx_http_drossel_complete(r, mcf, ctx, &request);

    if (ngx_http_drossel_decide(r, mcf, &request, &decision) != NGX_OK) {
        return NGX_DECLINED;
    }

    if (unread && !decision.exempt && decision.verdict != DROSSEL_REFUSE
        && decision.verdict != DROSSEL_DROP)
    {
        return ngx_http_drossel_judge_after_all(r, mcf, ctx, seen,
                                                &decision.ticket);
    }

    if (decision.verdict == DROSSEL_HOLD) {
        return ngx_http_drossel_pause(r, ctx, &request, &decision);
    }

    ngx_http_drossel_tell(mcf, &request, &decision);

    ngx_http_drossel_warn(r, mcf, &decision, seen);

    return ngx_http_drossel_carry_out(r, mcf, ctx, &request, &decision);
}


/* What is read stays open until the request is judged. */

static ngx_int_t
ngx_http_drossel_get_body(ngx_http_request_t *r, ngx_http_drossel_ctx_t *ctx)
{
    if (ngx_http_drossel_guard(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_drossel_read_body(r, ctx);
}


/* The time, and what was found in the body. */

static void
ngx_http_drossel_complete(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const ngx_http_drossel_ctx_t *ctx,
    struct drossel_request *request)
{
    if (ctx->pending) {
        ngx_http_drossel_add_accounts(r, mcf, ctx->pending, request);
    }

    request->now_ns = table_now(mcf->table);
}


/* A failure of ours never fails a request: it passes uncounted. */

static ngx_int_t
ngx_http_drossel_decide(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_request *request,
    struct drossel_decision *decision)
{
    enum drossel_result  rc;

    rc = limiter_check_remembering(mcf->limiter, mcf->memory, request, decision);

    if (rc != DROSSEL_OK) {
        ngx_http_drossel_log_failure(r, mcf, rc);
        return NGX_ERROR;
    }

    if (table_is_lost(mcf->table)) {
        ngx_http_drossel_log_failure(r, mcf, DROSSEL_TABLE);
    }

    return NGX_OK;
}


/*
 * The body was left alone because of a block, which has ended just now.  What was
 * charged for the request alone stays.
 */

static ngx_int_t
ngx_http_drossel_judge_after_all(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    ngx_http_drossel_seen_t *seen, const struct drossel_ticket *ticket)
{
    ngx_int_t  read;

    limiter_settle(mcf->table, ticket, DROSSEL_OTHER, table_now(mcf->table));

    read = ngx_http_drossel_get_body(r, ctx);

    return read == NGX_OK ? ngx_http_drossel_judge(r, mcf, ctx, seen) : read;
}


static ngx_int_t
ngx_http_drossel_carry_out(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    const struct drossel_request *request, struct drossel_decision *decision)
{
    ngx_http_drossel_keep(ctx, decision);

    if (request->arrived_ns) {
        ctx->delay_ns += request->now_ns - request->arrived_ns;
    }

    ngx_http_drossel_log(r, mcf, request, decision, ctx);

    if (decision->ticket.count) {

        if (ngx_http_drossel_open(r, mcf, ctx, &decision->ticket) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        if (ngx_http_drossel_guard(r, ctx) != NGX_OK) {
            ngx_http_drossel_settle(ctx, DROSSEL_FAILURE);
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    return ngx_http_drossel_enforce(r, mcf, ctx, decision);
}


static ngx_int_t
ngx_http_drossel_enforce(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    struct drossel_decision *decision)
{
    switch (decision->verdict) {

    case DROSSEL_DELAY:
        return ngx_http_drossel_hold(r, decision->delay_ns);

    case DROSSEL_CHALLENGE:
        return ngx_http_drossel_challenge(r, mcf, ctx, decision);

    case DROSSEL_REFUSE:
        return ngx_http_drossel_refuse(r, mcf, decision);

    case DROSSEL_DROP:
        return NGX_HTTP_CLOSE;

    default: /* DROSSEL_ALLOW, DROSSEL_MARK */
        return NGX_DECLINED;
    }
}


static ngx_int_t
ngx_http_drossel_challenge(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    const struct drossel_decision *decision)
{
    const char  *to;

    to = mcf->policy->limits[decision->limit].challenge_to;

    if (to) {
        /* our own redirect is no answer of the application: nobody guessed */
        ngx_http_drossel_settle(ctx, DROSSEL_OTHER);
        return ngx_http_drossel_redirect(r, to);
    }

    if (ngx_http_drossel_add_challenge(r, decision->limit_name) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_drossel_hold(r, decision->delay_ns);
}


static u_char
ngx_http_drossel_word_of(enum drossel_verdict verdict)
{
    return (u_char) (NGX_HTTP_DROSSEL_PASSED + verdict);
}


static void
ngx_http_drossel_keep(ngx_http_drossel_ctx_t *ctx,
    const struct drossel_decision *decision)
{
    ctx->client = decision->client;

    if (decision->exempt) {
        return;
    }

    ctx->word = ngx_http_drossel_word_of(decision->verdict);
    ctx->limit = decision->limit_name;
    ctx->remaining = decision->remaining;

    if (decision->verdict >= DROSSEL_REFUSE) {
        ctx->wait_ns = decision->wait_ns;

    } else if (decision->verdict != DROSSEL_ALLOW) {
        ctx->delay_ns = decision->delay_ns;

    } else if (decision->dry_run_verdict != DROSSEL_ALLOW) {
        ctx->word = ngx_http_drossel_word_of(decision->dry_run_verdict);
        ctx->dry_run = 1;
        ctx->limit = decision->dry_run_limit_name;
        ctx->remaining = 0;
        ctx->wait_ns = decision->dry_run_wait_ns;
        ctx->delay_ns = decision->dry_run_delay_ns;
    }
}


/* Of proxies that name no client, or that the policy does not know. */

static void
ngx_http_drossel_warn(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    const struct drossel_decision *decision,
    const ngx_http_drossel_seen_t *seen)
{
    if (decision->missing_forward && !mcf->shared->forwardless) {
        ngx_http_drossel_log_forwardless(r, mcf, decision);
    }

    if (!mcf->watch.done && seen->forwarded) {
        ngx_http_drossel_watch(r, mcf, decision, seen->forwarded);
    }
}


static void
ngx_http_drossel_watch(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_decision *decision,
    const ngx_table_elt_t *forwarded)
{
    uint64_t  hash;

    hash = proxywatch_hash((const char *) forwarded->value.data,
                           forwarded->value.len);

    if (!proxywatch_observe(&mcf->watch, &mcf->policy->client,
                            &decision->client, hash))
    {
        return;
    }

    ngx_http_drossel_heed(mcf, 0);

    /* one worker says it for all */

    if (ngx_atomic_cmp_set(&mcf->shared->warned, 0, 1)) {
        ngx_http_drossel_log_proxy(r, mcf, decision, &forwarded->key);
    }
}
