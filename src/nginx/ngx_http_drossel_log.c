
/*
 * One line in the error log for each verdict worth knowing, but only so many a
 * second for each limit and worker: an attack must not be able to fill a disk, nor
 * make the log the most expensive part of a refusal.  What was held back is
 * counted, and told in the limit's next line, or when the worker ends.
 *
 * The line carries no more than it says: nginx's own tail, with the full request
 * line and the client's address, is left out, because the key is masked on
 * purpose and a query string may hold a secret.
 */


#include "ngx_http_drossel.h"


#define NGX_HTTP_DROSSEL_KEY_LEN      128
#define NGX_HTTP_DROSSEL_METHOD_MAX   16
#define NGX_HTTP_DROSSEL_PATH_MAX     128

/* each byte may become \xHH */
#define NGX_HTTP_DROSSEL_LINE_LEN                                             \
    (4 * (NGX_HTTP_DROSSEL_METHOD_MAX + NGX_HTTP_DROSSEL_PATH_MAX) + 1)

#define NGX_HTTP_DROSSEL_HELD_LEN                                             \
    (sizeof(" (and  more in the last  s)") + 2 * NGX_INT64_LEN)


static ngx_http_drossel_budget_t *ngx_http_drossel_budget(
    ngx_http_drossel_main_conf_t *mcf, const char *limit);
static u_char *ngx_http_drossel_held(u_char *p,
    ngx_http_drossel_budget_t *budget);
static struct drossel_decision ngx_http_drossel_told(
    const struct drossel_decision *decision, const ngx_http_drossel_ctx_t *ctx);
static ngx_uint_t ngx_http_drossel_level(
    const ngx_http_drossel_main_conf_t *mcf,
    const ngx_http_drossel_ctx_t *ctx);
static u_char *ngx_http_drossel_request_line(u_char *p,
    const struct drossel_request *request);
static u_char *ngx_http_drossel_escape(u_char *p, const char *text,
    size_t size, size_t max);
static const char *ngx_http_drossel_why(const struct drossel_decision *decision);


static ngx_str_t  ngx_http_drossel_words[] = {
    ngx_null_string,
    ngx_string("PASSED"),
    ngx_string("MARKED"),
    ngx_string("DELAYED"),
    ngx_string("CHALLENGED"),
    ngx_string("REFUSED"),
    ngx_string("DROPPED")
};


const char *
ngx_http_drossel_word(ngx_uint_t word)
{
    return (const char *) ngx_http_drossel_words[word].data;
}


/*
 * drossel: REFUSED limit=page key=203.0.113.7 peak=50/50 wait=3.214
 * request="GET /search" block started (and 12 more in the last 2 s)
 */

void
ngx_http_drossel_log(ngx_http_request_t *r, ngx_http_drossel_main_conf_t *mcf,
    const struct drossel_request *request,
    const struct drossel_decision *decision, const ngx_http_drossel_ctx_t *ctx)
{
    char                        key[NGX_HTTP_DROSSEL_KEY_LEN];
    size_t                      size;
    u_char                     *p;
    u_char                      wait[NGX_HTTP_DROSSEL_SECONDS_LEN + 1];
    u_char                      held[NGX_HTTP_DROSSEL_HELD_LEN];
    u_char                      line[NGX_HTTP_DROSSEL_LINE_LEN];
    ngx_log_t                   log;
    ngx_uint_t                  level;
    struct drossel_decision     told;
    ngx_http_drossel_budget_t  *budget;

    if (ctx->word <= NGX_HTTP_DROSSEL_PASSED) {
        return;
    }

    level = ngx_http_drossel_level(mcf, ctx);

    if (r->connection->log->log_level < level) {
        return;
    }

    budget = ngx_http_drossel_budget(mcf, ctx->limit);
    if (budget == NULL) {
        return;
    }

    *ngx_http_drossel_held(held, budget) = '\0';

    told = ngx_http_drossel_told(decision, ctx);
    size = limiter_key_format(mcf->limiter, request, &told, key, sizeof(key));

    p = ngx_http_drossel_seconds(wait, ctx->word == NGX_HTTP_DROSSEL_DELAYED
                                       ? ctx->delay_ns : ctx->wait_ns);
    *p = '\0';

    p = ngx_http_drossel_request_line(line, request);

    log = *r->connection->log;
    log.handler = NULL;

    ngx_log_error(level, &log, 0,
                  "drossel: %s%s limit=%s key=%*s peak=%uL/%uL %s=%s "
                  "request=\"%*s\"%s%s",
                  ngx_http_drossel_word(ctx->word),
                  ctx->dry_run ? "_DRY_RUN" : "",
                  ctx->limit ? ctx->limit : "-", size, key, told.used,
                  told.capacity,
                  ctx->word == NGX_HTTP_DROSSEL_DELAYED ? "delay" : "wait",
                  wait, (size_t) (p - line), line,
                  ngx_http_drossel_why(decision), held);
}


/* Of a dry run, what it would have been. */

static struct drossel_decision
ngx_http_drossel_told(const struct drossel_decision *decision,
    const ngx_http_drossel_ctx_t *ctx)
{
    struct drossel_decision  told;

    told = *decision;

    if (ctx->dry_run) {
        told.limit = decision->dry_run_limit;
        told.used = decision->dry_run_used;
        told.capacity = decision->dry_run_capacity;
    }

    return told;
}


static ngx_uint_t
ngx_http_drossel_level(const ngx_http_drossel_main_conf_t *mcf,
    const ngx_http_drossel_ctx_t *ctx)
{
    if (ctx->word < NGX_HTTP_DROSSEL_CHALLENGED || ctx->dry_run) {
        return ngx_min(mcf->log_level + 1, NGX_LOG_INFO);
    }

    return mcf->log_level;
}


static const char *
ngx_http_drossel_why(const struct drossel_decision *decision)
{
    if (decision->untrusted) {
        return " not through a trusted proxy";
    }

    if (decision->started_block) {
        return " block started";
    }

    if (decision->banned) {
        return " banned";
    }

    if (decision->blocked) {
        return " blocked";
    }

    return "";
}


/*
 * Spends a line of the limit's budget, or counts the line that is not written
 * and returns NULL.  Names are found by their address: they belong to the
 * policy and do not move while it lives.
 */

static ngx_http_drossel_budget_t *
ngx_http_drossel_budget(ngx_http_drossel_main_conf_t *mcf, const char *limit)
{
    time_t                      now;
    ngx_uint_t                  i;
    ngx_http_drossel_budget_t  *budget;

    if (limit == NULL) {
        limit = "";
    }

    i = (ngx_uint_t) (((uintptr_t) limit >> 3) * 0x9e3779b97f4a7c15u >> 32);

    for ( ;; i++) {
        budget = &mcf->budgets[i & mcf->budget_mask];

        if (budget->limit == limit) {
            break;
        }

        if (budget->limit == NULL) {
            budget->limit = limit;
            break;
        }
    }

    now = ngx_time();

    if (budget->second != now) {
        budget->second = now;
        budget->lines = 0;
    }

    if (budget->lines < mcf->log_rate) {
        budget->lines++;
        return budget;
    }

    if (budget->held_back++ == 0) {
        budget->since = now;
    }

    return NULL;
}


static u_char *
ngx_http_drossel_held(u_char *p, ngx_http_drossel_budget_t *budget)
{
    if (budget->held_back == 0) {
        return p;
    }

    p = ngx_sprintf(p, " (and %ui more in the last %T s)", budget->held_back,
                    ngx_max(ngx_time() - budget->since, 1));

    budget->held_back = 0;

    return p;
}


void
ngx_http_drossel_log_flush(ngx_http_drossel_main_conf_t *mcf, ngx_log_t *log)
{
    u_char                      held[NGX_HTTP_DROSSEL_HELD_LEN];
    ngx_uint_t                  i;
    ngx_http_drossel_budget_t  *budget;

    for (i = 0; i <= mcf->budget_mask; i++) {
        budget = &mcf->budgets[i];

        if (budget->held_back) {
            *ngx_http_drossel_held(held, budget) = '\0';

            ngx_log_error(mcf->log_level, log, 0,
                          "drossel: limit=%s%s before this worker ended",
                          *budget->limit ? budget->limit : "-", held);
        }
    }
}


/*
 * There are as many names as limits and rates, and one for "no limit"; half of
 * the places stay free, so that a search is short.
 */

ngx_int_t
ngx_http_drossel_log_init(ngx_conf_t *cf, ngx_http_drossel_main_conf_t *mcf)
{
    ngx_uint_t  n, names;

    names = (ngx_uint_t) mcf->policy->limit_count + mcf->policy->rate_count + 1;

    for (n = 16; n < 2 * names; n *= 2) { /* void */ }

    mcf->budget_mask = n - 1;
    mcf->budgets = ngx_pcalloc(cf->pool,
                               n * sizeof(ngx_http_drossel_budget_t));

    return mcf->budgets ? NGX_OK : NGX_ERROR;
}


/* A failure of ours never fails a request; it is counted, and told once a second. */

void
ngx_http_drossel_log_failure(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, enum drossel_result rc)
{
    (void) ngx_atomic_fetch_add(&mcf->shared->failures, 1);

    if (mcf->failed == ngx_time()) {
        return;
    }

    mcf->failed = ngx_time();

    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "drossel: %s",
                  rc == DROSSEL_TABLE
                  ? "the table was lost: its file was cut off; this worker "
                    "counts on alone, from nothing; reload nginx"
                  : rc == DROSSEL_NO_MEMORY
                  ? "a request needs more than 64 charges and there is no "
                    "memory for them, it passes uncounted; free some, or write "
                    "fewer limits"
                  : "a request could not be judged and passes uncounted; "
                    "please report this");
}


void
ngx_http_drossel_log_proxy(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_decision *decision,
    const ngx_str_t *header)
{
    char         address[DROSSEL_ADDRESS_TEXT];
    const char  *quote;

    (void) drossel_address_format(&decision->client, address);

    /* what begins with a colon is no plain text in YAML */
    quote = (address[0] == ':') ? "'" : "";

    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "drossel: ALL VISITORS SHARE ONE KEY: every request seems to "
                  "come from %s, while \"%V\" differs from one to the next; "
                  "if that is your proxy, write \"client: {trusted: [%s%s%s], "
                  "address_from: %V}\" into \"%V\"",
                  address, header, quote, address, quote, header, &mcf->file);
}


/* A trusted proxy told no address: once for all workers, as its own checks of our
 * health look the same. */

void
ngx_http_drossel_log_forwardless(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_decision *decision)
{
    char  address[DROSSEL_ADDRESS_TEXT];

    if (!ngx_atomic_cmp_set(&mcf->shared->forwardless, 0, 1)) {
        return;
    }

    (void) drossel_address_format(&decision->client, address);

    ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                  "drossel: the trusted proxy %s named no client, so that the "
                  "request is counted as its own, and all such requests as one "
                  "client's; let it set the header that \"client: "
                  "{address_from: ...}\" in \"%V\" names",
                  address, &mcf->file);
}


static u_char *
ngx_http_drossel_request_line(u_char *p, const struct drossel_request *request)
{
    p = ngx_http_drossel_escape(p, request->method.data, request->method.size,
                                NGX_HTTP_DROSSEL_METHOD_MAX);
    *p++ = ' ';

    return ngx_http_drossel_escape(p, request->path.data, request->path.size,
                                   NGX_HTTP_DROSSEL_PATH_MAX);
}


/* What a peer sent must not forge a line nor a terminal's colours. */

static u_char *
ngx_http_drossel_escape(u_char *p, const char *text, size_t size, size_t max)
{
    u_char  c;
    size_t  i;

    for (i = 0; i < size && i < max; i++) {
        c = (u_char) text[i];

        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\') {
            p = ngx_sprintf(p, "\\x%02xi", (ngx_int_t) c);

        } else {
            *p++ = c;
        }
    }

    return p;
}
