
/*
 * Requests that wait, without a thread or a worker for them: those that are
 * delayed, and those that are held until open outcomes are known.
 *
 * A held request is judged again as soon as an outcome is settled in this worker,
 * in the order in which requests came.  Workers do not tell each other of
 * outcomes, so that it also asks by itself: soon, then less and less often, but
 * not after its limit's "hold".  Asking costs less than a message would: a
 * microsecond each time.
 */


#include "ngx_http_drossel.h"


/* ms between two questions about a held request */
#define NGX_HTTP_DROSSEL_PAUSE_MIN  2
#define NGX_HTTP_DROSSEL_PAUSE_MAX  20

/* an outcome lets few through: of a crowd the others ask by themselves */
#define NGX_HTTP_DROSSEL_WAKE_MAX   64


static ngx_int_t ngx_http_drossel_keep_accounts(ngx_http_request_t *r,
    ngx_http_drossel_pending_t *pending);
static void ngx_http_drossel_wake_held(void) __attribute__((noinline));
static void ngx_http_drossel_resume(ngx_http_request_t *r);


/* Those held by this worker, as they came. */
static ngx_queue_t  ngx_http_drossel_held = { &ngx_http_drossel_held,
                                              &ngx_http_drossel_held };


/* To the pool: a held request is judged many times, but its body is read once. */

static ngx_int_t
ngx_http_drossel_keep_accounts(ngx_http_request_t *r,
    ngx_http_drossel_pending_t *pending)
{
    size_t                i, size;
    u_char               *p;
    struct drossel_text  *accounts;

    if (pending->kept || pending->account_count == 0) {
        pending->kept = 1;
        return NGX_OK;
    }

    size = pending->account_count * sizeof(struct drossel_text);

    for (i = 0; i < pending->account_count; i++) {
        size += pending->accounts[i].size;
    }

    accounts = ngx_palloc(r->pool, size);
    if (accounts == NULL) {
        return NGX_ERROR;
    }

    p = (u_char *) &accounts[pending->account_count];

    for (i = 0; i < pending->account_count; i++) {
        accounts[i].data = (const char *) p;
        accounts[i].size = pending->accounts[i].size;
        p = ngx_cpymem(p, pending->accounts[i].data, accounts[i].size);
    }

    pending->accounts = accounts;
    pending->kept = 1;

    return NGX_OK;
}


/* Only charges with an open outcome stand in the way. */

ngx_int_t
ngx_http_drossel_pause(ngx_http_request_t *r, ngx_http_drossel_ctx_t *ctx,
    const struct drossel_request *request,
    const struct drossel_decision *decision)
{
    uint64_t                     ns;
    ngx_queue_t                 *q;
    ngx_http_drossel_pending_t  *pending, *other;

#if (NGX_HAVE_EPOLLRDHUP)

    /* a close that came with the request itself makes no event of its own */

    if (r->connection->read->pending_eof) {
        return NGX_HTTP_CLIENT_CLOSED_REQUEST;
    }

#endif

    if (ctx->pending == NULL) {
        ctx->pending = ngx_pcalloc(r->pool, sizeof(ngx_http_drossel_pending_t));
        if (ctx->pending == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    pending = ctx->pending;

    if (ngx_http_drossel_keep_accounts(r, pending) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (pending->arrived_ns == 0) {
        pending->arrived_ns = request->now_ns;
    }

    pending->pause = pending->pause
                     ? ngx_min(2 * pending->pause, NGX_HTTP_DROSSEL_PAUSE_MAX)
                     : NGX_HTTP_DROSSEL_PAUSE_MIN;

    ns = ngx_min((uint64_t) pending->pause * 1000000, decision->hold_ns);

    /* most are the last to come: its place is looked for from there */

    for (q = ngx_queue_last(&ngx_http_drossel_held);
         q != ngx_queue_sentinel(&ngx_http_drossel_held);
         q = ngx_queue_prev(q))
    {
        other = ngx_queue_data(q, ngx_http_drossel_pending_t, queue);

        if (other->arrived_ns <= pending->arrived_ns) {
            break;
        }
    }

    ngx_queue_insert_after(q, &pending->queue);

    pending->write = r->connection->write;
    pending->held = 1;
    ctx->waiting = 1;

    return ngx_http_drossel_hold(r, ngx_max(ns, 1));
}


void
ngx_http_drossel_unhold(ngx_http_drossel_pending_t *pending)
{
    if (pending && pending->held) {
        ngx_queue_remove(&pending->queue);
        pending->held = 0;
    }
}


/* An outcome is known: mostly nobody waits for it. */

void
ngx_http_drossel_wake(void)
{
    if (!ngx_queue_empty(&ngx_http_drossel_held)) {
        ngx_http_drossel_wake_held();
    }
}


/* Those woken run later, from the event loop. */

static void
ngx_http_drossel_wake_held(void)
{
    ngx_uint_t                   n;
    ngx_event_t                 *wev;
    ngx_queue_t                 *q;
    ngx_http_drossel_pending_t  *pending;

    n = 0;

    for (q = ngx_queue_head(&ngx_http_drossel_held);
         q != ngx_queue_sentinel(&ngx_http_drossel_held);
         q = ngx_queue_next(q))
    {
        if (n++ == NGX_HTTP_DROSSEL_WAKE_MAX) {
            break;
        }

        pending = ngx_queue_data(q, ngx_http_drossel_pending_t, queue);
        wev = pending->write;

        /* as if its timer had run out just now */

        if (wev->timer_set) {
            ngx_del_timer(wev);
            wev->timedout = 1;
            ngx_post_event(wev, &ngx_posted_events);
        }
    }
}


/* As ngx_http_limit_req_module: a timer, and the worker goes on with others. */

ngx_int_t
ngx_http_drossel_hold(ngx_http_request_t *r, uint64_t ns)
{
    ngx_msec_t  delay;

    delay = (ngx_msec_t) (ns / 1000000 + (ns % 1000000 != 0));

    if (delay == 0) {
        return NGX_DECLINED;
    }

    /* timers compare differences as signed numbers: never more than a day */

    delay = ngx_min(delay, 86400000);

    if (ngx_handle_read_event(r->connection->read, 0) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = ngx_http_drossel_resume;

    r->connection->write->delayed = 1;
    ngx_add_timer(r->connection->write, delay);

    return NGX_AGAIN;
}


static void
ngx_http_drossel_resume(ngx_http_request_t *r)
{
    ngx_event_t  *wev;

    wev = r->connection->write;

    if (wev->delayed) {

        if (ngx_handle_write_event(wev, 0) != NGX_OK) {
            ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
        }

        return;
    }

    if (ngx_handle_read_event(r->connection->read, 0) != NGX_OK) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }

    r->read_event_handler = ngx_http_block_reading;
    r->write_event_handler = ngx_http_core_run_phases;

    ngx_http_core_run_phases(r);
}
