
/*
 * Accounts that stand in a request's body.
 *
 * The body is read only where a matching limit counts accounts that may stand
 * there, and goes on to the application as it came: it stays where nginx has put
 * it, in memory or in a file.  What is looked at is at most "body_cap" bytes,
 * copied together for that moment unless they lie in one piece already.  The
 * accounts lie in memory of the worker while the request is judged; only one that
 * is held has them copied.
 *
 * Nothing here breaks a request.  A body that cannot be made out, for whatever
 * reason, is unreadable, and counts so.
 */


#include "ngx_http_drossel.h"


/* more lines of Content-Type than one are malformed anyway */
#define NGX_HTTP_DROSSEL_TYPES  4


/* Of a body, the first bytes in one piece. */

typedef struct {
    u_char                       *data;
    size_t                        size;
    ngx_uint_t                    copied;     /* to be freed */
    ngx_uint_t                    truncated;  /* the body goes on */
} ngx_http_drossel_bytes_t;


static ngx_uint_t ngx_http_drossel_is_body_here(ngx_http_request_t *r);
static void ngx_http_drossel_body_handler(ngx_http_request_t *r);
static void ngx_http_drossel_accounts(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_pending_t *pending);
static void ngx_http_drossel_gather_all(ngx_http_request_t *r, size_t cap,
    ngx_http_drossel_bytes_t *bytes);
static ngx_int_t ngx_http_drossel_copy(ngx_chain_t *in, u_char *p, u_char *end);
static size_t ngx_http_drossel_headers(ngx_http_request_t *r,
    struct drossel_text *types, struct drossel_text *encoding);


/* Those of the request that is judged: a worker judges one after the other. */
static struct drossel_text  ngx_http_drossel_found[BODY_VALUES_MAX];
static char                 ngx_http_drossel_values[BODY_BUFFER_BYTES];


/* Where a policy's accounts may stand in bodies: once for all requests. */

void
ngx_http_drossel_sources(ngx_http_drossel_main_conf_t *mcf)
{
    uint32_t                     i;
    const struct policy_source  *from;

    for (i = 0; i < mcf->policy->account_from_count; i++) {

        from = &mcf->policy->account_from[i];

        if (from->kind == POLICY_FROM_FORM) {
            (void) body_sources_add(&mcf->sources, BODY_FORM, from->name);

        } else if (from->kind == POLICY_FROM_JSON) {
            (void) body_sources_add(&mcf->sources, BODY_JSON, from->name);
        }
    }
}


/*
 * Has the body yet to come, and need not be waited for?  Whoever is exempt or came
 * past the trusted proxy is so whatever it says.  Whoever is blocked or banned is
 * refused; but an account may be blocked for longer, and the wait that is told has
 * to be true: so a body that stays in memory is read, and a larger one, which
 * would cost more than any answer, is not.
 */

ngx_uint_t
ngx_http_drossel_is_body_idle(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_request *request)
{
    struct drossel_request     ask;
    struct drossel_decision    decision;
    ngx_http_core_loc_conf_t  *clcf;

    if (ngx_http_drossel_is_body_here(r)) {
        return 0;
    }

    ask = *request;
    ask.now_ns = table_now(mcf->table);
    ask.extra_cost = DROSSEL_ASK;

    if (limiter_check(mcf->limiter, &ask, &decision) != DROSSEL_OK) {
        return 0;
    }

    if (decision.exempt || decision.untrusted) {
        return 1;
    }

    if (decision.verdict != DROSSEL_REFUSE
        && decision.verdict != DROSSEL_DROP)
    {
        return 0;
    }

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    return r->headers_in.content_length_n < 0
           || (size_t) r->headers_in.content_length_n
              > clcf->client_body_buffer_size;
}


/* To look at it costs nothing then. */

static ngx_uint_t
ngx_http_drossel_is_body_here(ngx_http_request_t *r)
{
    off_t  length;

    if (r->request_body) {
        return 1;
    }

    length = r->headers_in.content_length_n;

#if (NGX_HTTP_V2)

    if (r->stream) {
        return r->stream->in_closed && length <= 0;
    }

#endif

    return !r->headers_in.chunked
           && length <= r->header_in->last - r->header_in->pos;
}


ngx_int_t
ngx_http_drossel_read_body(ngx_http_request_t *r, ngx_http_drossel_ctx_t *ctx)
{
    ngx_int_t                    rc;
    ngx_http_drossel_pending_t  *pending;

    pending = ngx_pcalloc(r->pool, sizeof(ngx_http_drossel_pending_t));
    if (pending == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    pending->bodied = 1;
    pending->reading = 1;
    pending->starting = 1;

    ctx->pending = pending;
    ctx->waiting = 1;

    rc = ngx_http_read_client_request_body(r, ngx_http_drossel_body_handler);

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        ctx->waiting = 0;
        return rc;
    }

    pending->starting = 0;

    if (!pending->reading) {

        /* it came with the header; reading took a reference */

        r->main->count--;
        ctx->waiting = 0;
        return NGX_OK;
    }

    ngx_http_finalize_request(r, NGX_DONE);

    return NGX_DONE;
}


static void
ngx_http_drossel_body_handler(ngx_http_request_t *r)
{
    ngx_http_drossel_ctx_t  *ctx;

    ctx = ngx_http_drossel_get_ctx(r);

    ctx->pending->reading = 0;

    r->write_event_handler = ngx_http_core_run_phases;

    if (!ctx->pending->starting) {
        ngx_http_core_run_phases(r);
    }
}


void
ngx_http_drossel_add_accounts(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_pending_t *pending,
    struct drossel_request *request)
{
    if (pending->bodied && !pending->kept) {
        ngx_http_drossel_accounts(r, mcf, pending);
    }

    request->arrived_ns = pending->arrived_ns;
    request->accounts = pending->accounts;
    request->account_count = pending->account_count;
    request->is_account_unreadable = pending->unreadable;
}


/* The body's bytes where they lie, which nearly always is in one piece. */

static void
ngx_http_drossel_gather(ngx_http_request_t *r, size_t cap,
    ngx_http_drossel_bytes_t *bytes)
{
    ngx_buf_t    *b;
    ngx_chain_t  *in;

    in = r->request_body ? r->request_body->bufs : NULL;

    if (in && (in->next || !ngx_buf_in_memory(in->buf))) {
        ngx_http_drossel_gather_all(r, cap, bytes);
        return;
    }

    bytes->copied = 0;
    bytes->truncated = 0;
    bytes->size = 0;
    bytes->data = NULL;

    if (in) {
        b = in->buf;
        bytes->data = b->pos;
        bytes->size = (size_t) (b->last - b->pos);
    }

    if (bytes->size > cap) {
        bytes->size = cap;
        bytes->truncated = 1;
    }
}


static void
ngx_http_drossel_accounts(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_pending_t *pending)
{
    size_t                    i;
    struct body               body;
    struct body_found         found;
    struct drossel_text       types[NGX_HTTP_DROSSEL_TYPES];
    ngx_http_drossel_bytes_t  bytes;

    pending->accounts = ngx_http_drossel_found;
    pending->account_count = 0;

    ngx_http_drossel_gather(r, (size_t) mcf->policy->body_cap, &bytes);

    if (bytes.size && bytes.data == NULL) {
        pending->unreadable = 1;
        return;
    }

    body.content_encoding.size = 0;
    body.content_type_count = ngx_http_drossel_headers(r, types,
                                                       &body.content_encoding);
    body.content_types = types;
    body.bytes.data = (const char *) bytes.data;
    body.bytes.size = bytes.size;
    body.truncated = bytes.truncated;

    ngx_http_drossel_find_in_body(mcf, &body, &found);
    ngx_http_drossel_find_in_queries(r, mcf, &found);

    pending->unreadable = found.malformed || found.too_many;
    pending->account_count = found.count;

    for (i = 0; i < found.count; i++) {
        ngx_http_drossel_found[i] = found.value[i].text;
    }

    if (bytes.copied) {
        (void) ngx_pfree(r->pool, bytes.data);
    }
}


void
ngx_http_drossel_find_in_body(ngx_http_drossel_main_conf_t *mcf,
    const struct body *body, struct body_found *found)
{
    body_found_init(found, ngx_http_drossel_values,
                    sizeof(ngx_http_drossel_values));

    if (body->bytes.size) {
        (void) body_accounts(body, &mcf->sources, found);
    }
}


/*
 * The first "cap" bytes of the body in one piece, copied together.  "data" is NULL
 * where they cannot be had.
 */

static void
ngx_http_drossel_gather_all(ngx_http_request_t *r, size_t cap,
    ngx_http_drossel_bytes_t *bytes)
{
    off_t         size;
    ngx_chain_t  *in, *cl;

    in = r->request_body->bufs;
    size = 0;

    for (cl = in; cl; cl = cl->next) {
        size += ngx_buf_size(cl->buf);
    }

    bytes->truncated = size > (off_t) cap;
    bytes->size = bytes->truncated ? cap : (size_t) size;
    bytes->copied = 0;
    bytes->data = NULL;

    if (bytes->size == 0) {
        return;
    }

    if (ngx_buf_in_memory(in->buf)
        && (size_t) (in->buf->last - in->buf->pos) >= bytes->size)
    {
        bytes->data = in->buf->pos;
        return;
    }

    bytes->data = ngx_palloc(r->pool, bytes->size);
    if (bytes->data == NULL) {
        return;
    }

    bytes->copied = 1;

    if (ngx_http_drossel_copy(in, bytes->data, bytes->data + bytes->size)
        != NGX_OK)
    {
        (void) ngx_pfree(r->pool, bytes->data);
        bytes->data = NULL;
    }
}


/* A spooled body was written a moment ago: reading it does not wait for a disk. */

static ngx_int_t
ngx_http_drossel_copy(ngx_chain_t *in, u_char *p, u_char *end)
{
    size_t      size;
    ngx_buf_t  *b;

    for ( /* void */ ; in && p < end; in = in->next) {

        b = in->buf;
        size = (size_t) ngx_min(ngx_buf_size(b), (off_t) (end - p));

        if (ngx_buf_in_memory(b)) {
            ngx_memcpy(p, b->pos, size);

        } else if (size
                   && ngx_read_file(b->file, p, size, b->file_pos)
                      != (ssize_t) size)
        {
            return NGX_ERROR;
        }

        p += size;
    }

    return NGX_OK;
}


/* Returns how many lines of Content-Type there are, at most as there is room. */

static size_t
ngx_http_drossel_headers(ngx_http_request_t *r, struct drossel_text *types,
    struct drossel_text *encoding)
{
    size_t            count;
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    count = 0;

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (h[i].key.len == sizeof("content-type") - 1
                && ngx_memcmp(h[i].lowcase_key, "content-type", h[i].key.len)
                   == 0
                && count < NGX_HTTP_DROSSEL_TYPES)
            {
                types[count].data = (const char *) h[i].value.data;
                types[count++].size = h[i].value.len;

            } else if (h[i].key.len == sizeof("content-encoding") - 1
                       && ngx_memcmp(h[i].lowcase_key, "content-encoding",
                                     h[i].key.len)
                          == 0
                       && h[i].value.len
                       && (encoding->size == 0
                           || (encoding->size == sizeof("identity") - 1
                               && ngx_strncasecmp((u_char *) encoding->data,
                                                  (u_char *) "identity",
                                                  encoding->size)
                                  == 0)))
            {
                /* of several lines one that does encode is told */

                encoding->data = (const char *) h[i].value.data;
                encoding->size = h[i].value.len;
            }
        }
    }

    return count;
}
