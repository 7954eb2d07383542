
/*
 * What the client and the application are told.
 *
 * A refusal comes from the worker's last answers, or is written on the stack; only the bytes that
 * are used are copied to the request's pool.  Where the configuration has an
 * error_page for the status, the status is returned instead and nginx makes the
 * body; our header fields stay, as an internal redirect keeps headers_out.
 */


#include "ngx_http_drossel.h"

#include "http/answer_cache.h"


static ngx_int_t ngx_http_drossel_fields(ngx_http_request_t *r,
    const struct http_answer *answer, struct drossel_text *body);
static ngx_uint_t ngx_http_drossel_has_error_page(ngx_http_request_t *r,
    ngx_uint_t status);
static void ngx_http_drossel_expect_nothing(ngx_http_request_t *r);
static ngx_uint_t ngx_http_drossel_is_body_near(ngx_http_request_t *r);
static ngx_int_t ngx_http_drossel_answer_late(ngx_http_request_t *r,
    ngx_uint_t status, const struct http_answer *answer,
    struct drossel_text body);
static void ngx_http_drossel_late_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_drossel_send(ngx_http_request_t *r,
    ngx_uint_t status, const char *content_type, struct drossel_text body);


ngx_int_t
ngx_http_drossel_refuse(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, struct drossel_decision *decision)
{
    struct timespec                 now;
    struct drossel_text             body;
    struct http_answer              scratch;
    const struct http_answer       *answer;
    struct http_answer_request      request;
    const struct http_answer_rules  *rules;

    rules = &mcf->policy->answer;

    if (decision->limit < mcf->policy->limit_count) {
        rules = mcf->policy->limits[decision->limit].answer;
    }

    ngx_memzero(&request, sizeof(struct http_answer_request));

    ngx_http_drossel_accept(r, &request.accept);

    /* HEAD gets the length of what GET would get; nginx leaves the body out */

    request.unix_now_s = (uint64_t) ngx_time();

    if (rules->date || (rules->headers & HTTP_X_RATELIMIT)) {

        /* nginx's own time is that of the event loop's last turn */

        (void) clock_gettime(CLOCK_REALTIME, &now);

        request.unix_now_s = (uint64_t) now.tv_sec;
        request.unix_now_ns = (uint32_t) now.tv_nsec;
    }

    answer = http_answer_cached(mcf->answers, rules, decision, &request,
                                &scratch);

    if (ngx_http_drossel_fields(r, answer, &body) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_drossel_expect_nothing(r);

    if (ngx_http_drossel_is_body_near(r)) {
        return ngx_http_drossel_answer_late(r, answer->status, answer, body);
    }

    if (ngx_http_drossel_has_error_page(r, answer->status)) {
        return answer->status;
    }

    ngx_http_finalize_request(r, ngx_http_drossel_send(r, answer->status,
                                                       answer->content_type,
                                                       body));

    return NGX_DONE;
}


/*
 * In HTTP/2 the header of a form comes before its body, though both were sent
 * together.  An answer in between ends the stream with a reset, which is allowed, but
 * makes some clients (curl 7.88 among them) lose the answer.  So a body that is
 * small enough for memory is waited for.
 */

static ngx_uint_t
ngx_http_drossel_is_body_near(ngx_http_request_t *r)
{
#if (NGX_HTTP_V2)

    ngx_http_core_loc_conf_t  *clcf;

    if (r->stream == NULL || r->stream->in_closed || r->request_body
        || r->headers_in.content_length_n <= 0)
    {
        return 0;
    }

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    return (size_t) r->headers_in.content_length_n
           <= clcf->client_body_buffer_size;

#else

    return 0;

#endif
}


/* Without "answer" nginx makes the body. */

static ngx_int_t
ngx_http_drossel_answer_late(ngx_http_request_t *r, ngx_uint_t status,
    const struct http_answer *answer, struct drossel_text body)
{
    ngx_int_t                 rc;
    ngx_http_drossel_late_t  *late;

    late = ngx_palloc(r->pool, sizeof(ngx_http_drossel_late_t));
    if (late == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    late->status = status;
    late->plain = answer == NULL;
    late->content_type = answer ? answer->content_type : NULL;
    late->body = body;

    ngx_http_drossel_get_ctx(r)->late = late;

    rc = ngx_http_read_client_request_body(r, ngx_http_drossel_late_handler);

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        return rc;
    }

    ngx_http_finalize_request(r, NGX_DONE);

    return NGX_DONE;
}


static void
ngx_http_drossel_late_handler(ngx_http_request_t *r)
{
    ngx_int_t                 rc;
    ngx_http_drossel_late_t  *late;

    late = ngx_http_drossel_get_ctx(r)->late;

    rc = late->plain || ngx_http_drossel_has_error_page(r, late->status)
         ? (ngx_int_t) late->status
         : ngx_http_drossel_send(r, late->status, late->content_type,
                                 late->body);

    ngx_http_finalize_request(r, rc);
}


/* Moves the used part of the answer's buffer to the pool, and sets the fields. */

static ngx_int_t
ngx_http_drossel_fields(ngx_http_request_t *r,
    const struct http_answer *answer, struct drossel_text *body)
{
    size_t                    i;
    u_char                   *copy;
    ngx_table_elt_t          *h;
    const struct http_field  *field;

    copy = ngx_pnalloc(r->pool, answer->used + 1);
    if (copy == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(copy, answer->buffer, answer->used);

#define ngx_http_drossel_rebase(text)                                         \
    (((text).data >= answer->buffer                                           \
      && (text).data < answer->buffer + sizeof(answer->buffer))               \
     ? copy + ((text).data - answer->buffer)                                  \
     : (u_char *) (text).data)

    for (i = 0; i < answer->field_count; i++) {

        h = ngx_list_push(&r->headers_out.headers);
        if (h == NULL) {
            return NGX_ERROR;
        }

        field = &answer->field[i];

        h->hash = 1;
        h->key.data = ngx_http_drossel_rebase(field->name);
        h->key.len = field->name.size;
        h->value.data = ngx_http_drossel_rebase(field->value);
        h->value.len = field->value.size;
        h->lowcase_key = NULL;
    }

    body->data = (const char *) ngx_http_drossel_rebase(answer->body);
    body->size = answer->body.size;

#undef ngx_http_drossel_rebase

    return NGX_OK;
}


/* Would ngx_http_special_response_handler() find a page for this status? */

static ngx_uint_t
ngx_http_drossel_has_error_page(ngx_http_request_t *r, ngx_uint_t status)
{
    ngx_uint_t                 i;
    ngx_http_err_page_t       *page;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (r->error_page || clcf->error_pages == NULL || r->uri_changes == 0) {
        return 0;
    }

    page = clcf->error_pages->elts;

    for (i = 0; i < clcf->error_pages->nelts; i++) {
        if (page[i].status == (ngx_int_t) status) {
            return 1;
        }
    }

    return 0;
}


/*
 * A client that asks before it sends its body must not be told to go on: nginx
 * would, to throw the body away.  Such a client may send the body all the same or
 * leave it out, so that nothing behind this request can be made out.
 */

static void
ngx_http_drossel_expect_nothing(ngx_http_request_t *r)
{
    if (r->headers_in.expect == NULL || r->expect_tested || r->request_body) {
        return;
    }

    r->expect_tested = 1;

    if (r->headers_in.content_length_n > 0 || r->headers_in.chunked) {
        r->keepalive = 0;
    }
}


static ngx_int_t
ngx_http_drossel_send(ngx_http_request_t *r, ngx_uint_t status,
    const char *content_type, struct drossel_text body)
{
    /* a client that goes on sending its body must not be mistaken for the next */

    if (ngx_http_discard_request_body(r) != NGX_OK) {
        r->keepalive = 0;
    }

    r->err_status = 0;

    if (content_type == NULL) {
        body.size = 0;
    }

    return ngx_http_drossel_send_text(r, status, content_type, body);
}


ngx_int_t
ngx_http_drossel_send_text(ngx_http_request_t *r, ngx_uint_t status,
    const char *media_type, struct drossel_text text)
{
    u_char       *end;
    ngx_int_t     rc;
    ngx_str_t    *type;
    ngx_buf_t    *b;
    ngx_chain_t   out;

    r->headers_out.status = status;
    r->headers_out.status_line.len = 0;
    r->headers_out.content_length_n = (off_t) text.size;

    if (text.size == 0) {
        r->header_only = 1;
        return ngx_http_send_header(r);
    }

    type = &r->headers_out.content_type;
    type->data = (u_char *) media_type;
    type->len = ngx_strlen(media_type);

    end = memchr(type->data, ';', type->len);

    r->headers_out.content_type_len = end ? (size_t) (end - type->data)
                                          : type->len;
    r->headers_out.content_type_lowcase = NULL;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_ERROR;
    }

    b->pos = (u_char *) text.data;
    b->last = b->pos + text.size;
    b->memory = 1;
    b->last_buf = (r == r->main);
    b->last_in_chain = 1;

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


/*
 * To where more is asked of the client.  After a POST it is to come with GET; a
 * relative address becomes an absolute one as nginx's "absolute_redirect" says.
 */

ngx_int_t
ngx_http_drossel_redirect(ngx_http_request_t *r, const char *to)
{
    ngx_int_t            status;
    ngx_table_elt_t     *h;
    struct drossel_text  body;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    h->hash = 1;
    ngx_str_set(&h->key, "Location");
    h->value.data = (u_char *) to;
    h->value.len = ngx_strlen(to);
    h->lowcase_key = NULL;

    ngx_http_clear_location(r);
    r->headers_out.location = h;

    status = r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD)
             ? NGX_HTTP_MOVED_TEMPORARILY : NGX_HTTP_SEE_OTHER;

    ngx_http_drossel_expect_nothing(r);

    if (ngx_http_drossel_is_body_near(r)) {
        ngx_memzero(&body, sizeof(struct drossel_text));
        return ngx_http_drossel_answer_late(r, (ngx_uint_t) status, NULL, body);
    }

    return status;
}
