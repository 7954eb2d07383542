
/*
 * drossel_status: what the policy and its table come to, as JSON, for
 * Prometheus, or as a page.
 *
 * It is a content handler, so that allow, deny, passwords and whatever else guards
 * a location come first.  Its own requests are not judged, unless "drossel on" stands
 * in the very location: who is banned by mistake must still be able to see why, and a
 * page that asks each second is no traffic of the site.
 *
 * Memory comes from the request's pool.  The text is written into a buffer that is
 * made twice as large until it fits: its size depends on the policy alone.
 */


#include "ngx_http_drossel.h"

#include <sys/mman.h>


#define NGX_HTTP_DROSSEL_TIMED            8    /* of so many decisions one is timed */
#define NGX_HTTP_DROSSEL_STATUS_SIZE      16384
#define NGX_HTTP_DROSSEL_STATUS_SIZE_MAX  (32 * 1024 * 1024)


static ngx_int_t ngx_http_drossel_status_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_drossel_status_choose(ngx_http_request_t *r,
    enum status_format *format);
static ngx_int_t ngx_http_drossel_status_text(ngx_http_request_t *r,
    enum status_format format, struct drossel_text *text);
static struct status *ngx_http_drossel_status_gather(ngx_http_request_t *r);
static ngx_int_t ngx_http_drossel_status_fields(ngx_http_request_t *r,
    enum status_format format);
static ngx_int_t ngx_http_drossel_status_field(ngx_http_request_t *r,
    const char *key, const char *value);


static struct drossel_text  ngx_http_drossel_status_unknown =
    DROSSEL_TEXT("There is no such format; take ?format=json, "
                 "?format=prometheus or ?format=html.\n");


char *
ngx_http_drossel_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_drossel_loc_conf_t  *lcf = conf;

    ngx_http_core_loc_conf_t      *clcf;
    ngx_http_drossel_main_conf_t  *mcf;

    if (lcf->status) {
        return "is duplicate";
    }

    lcf->status = 1;

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_drossel_module);
    mcf->wanted = "drossel_status";

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = ngx_http_drossel_status_handler;

    return NGX_CONF_OK;
}


/* Counts the decision, and of one in NGX_HTTP_DROSSEL_TIMED the time that it took. */

void
ngx_http_drossel_tell(ngx_http_drossel_main_conf_t *mcf,
    const struct drossel_request *request,
    const struct drossel_decision *decision)
{
    if (mcf->untimed-- == 0) {
        ngx_http_drossel_note_time(mcf, request->now_ns);
    }

    table_stats_count(mcf->table, TABLE_LIMIT_REQUEST,
                      (enum table_verdict) decision->verdict, 0);

    if (decision->dry_run_verdict != DROSSEL_ALLOW
        && decision->verdict == DROSSEL_ALLOW)
    {
        table_stats_count(mcf->table, TABLE_LIMIT_REQUEST,
                          (enum table_verdict) decision->dry_run_verdict, 1);
    }
}


/*
 * The first look at the clock was needed for the decision itself, but a second one, and to
 * note what it says, would be a tenth of what the module costs a request that passes.
 */

void
ngx_http_drossel_note_time(ngx_http_drossel_main_conf_t *mcf, uint64_t from_ns)
{
    mcf->untimed = NGX_HTTP_DROSSEL_TIMED - 1;
    table_stats_time(mcf->table, table_now(mcf->table) - from_ns);
}


/* Makes the page that the workers share; after a reload counting goes on. */

ngx_int_t
ngx_http_drossel_share(ngx_conf_t *cf, ngx_http_drossel_main_conf_t *mcf)
{
    ngx_uint_t                     i;
    ngx_cycle_t                   *old;
    ngx_http_drossel_main_conf_t  *omcf;

    mcf->shared = mmap(NULL, sizeof(ngx_http_drossel_shared_t),
                       PROT_READ|PROT_WRITE, MAP_ANON|MAP_SHARED, -1, 0);
    if (mcf->shared == MAP_FAILED) {
        mcf->shared = NULL;
        ngx_log_error(NGX_LOG_EMERG, cf->log, ngx_errno, "mmap() failed");
        return NGX_ERROR;
    }

    old = cf->cycle->old_cycle;

    if (old == NULL || ngx_is_init_cycle(old) || old->modules == NULL) {
        return NGX_OK;
    }

    /* the old configuration may have been without this module */

    for (i = 0; old->modules[i]; i++) {

        if (old->modules[i] != &ngx_http_drossel_module) {
            continue;
        }

        omcf = ngx_http_cycle_get_module_main_conf(old,
                                                   ngx_http_drossel_module);

        if (omcf && omcf->shared) {
            mcf->shared->failures = omcf->shared->failures;
        }

        break;
    }

    return NGX_OK;
}


/*
 * "if" and "limit_except" make locations of their own, that are meant as parts of
 * the one that they stand in.  NGX_OK: this is such a part of one of ours.
 */

ngx_int_t
ngx_http_drossel_status_merge(ngx_conf_t *cf, ngx_http_drossel_loc_conf_t *prev,
    ngx_http_drossel_loc_conf_t *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (!prev->status || !clcf->noname || clcf->handler) {
        return NGX_DECLINED;
    }

    conf->status = 1;
    clcf->handler = ngx_http_drossel_status_handler;

    return NGX_OK;
}


static ngx_int_t
ngx_http_drossel_status_handler(ngx_http_request_t *r)
{
    ngx_int_t            rc;
    struct drossel_text  text;
    enum status_format   format;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {

        if (ngx_http_drossel_status_field(r, "Allow", "GET, HEAD") != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        return NGX_HTTP_NOT_ALLOWED;
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    if (ngx_http_drossel_status_choose(r, &format) != NGX_OK) {
        return ngx_http_drossel_send_text(r, NGX_HTTP_BAD_REQUEST,
                                          "text/plain; charset=utf-8",
                                          ngx_http_drossel_status_unknown);
    }

    if (ngx_http_drossel_status_text(r, format, &text) != NGX_OK
        || ngx_http_drossel_status_fields(r, format) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_drossel_send_text(r, NGX_HTTP_OK, status_media_type(format),
                                      text);
}


static ngx_int_t
ngx_http_drossel_status_choose(ngx_http_request_t *r,
    enum status_format *format)
{
    ngx_str_t            value;
    struct drossel_text  name, accept;

    ngx_memzero(&name, sizeof(struct drossel_text));

    if (r->args.len
        && ngx_http_arg(r, (u_char *) "format", sizeof("format") - 1, &value)
           == NGX_OK)
    {
        if (value.len == 0) {
            return NGX_DECLINED;
        }

        name.data = (const char *) value.data;
        name.size = value.len;
    }

    ngx_http_drossel_accept(r, &accept);

    return status_choose(name, accept, format) ? NGX_OK : NGX_DECLINED;
}


static ngx_int_t
ngx_http_drossel_status_text(ngx_http_request_t *r, enum status_format format,
    struct drossel_text *text)
{
    struct status       *status;
    struct http_writer   writer;

    if (format == STATUS_PAGE) {
        *text = status_page.text;
        return NGX_OK;
    }

    status = ngx_http_drossel_status_gather(r);
    if (status == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(&writer, sizeof(struct http_writer));

    for (writer.cap = NGX_HTTP_DROSSEL_STATUS_SIZE;
         writer.cap <= NGX_HTTP_DROSSEL_STATUS_SIZE_MAX;
         writer.cap *= 2)
    {
        writer.data = ngx_palloc(r->pool, writer.cap);
        if (writer.data == NULL) {
            return NGX_ERROR;
        }

        http_rewind(&writer, 0);

        if (format == STATUS_JSON) {
            status_json(status, &writer);

        } else {
            status_prometheus(status, &writer);
        }

        if (!writer.full) {
            *text = http_written(&writer, 0);
            return NGX_OK;
        }

        (void) ngx_pfree(r->pool, writer.data);
    }

    return NGX_ERROR;
}


static struct status *
ngx_http_drossel_status_gather(ngx_http_request_t *r)
{
    ngx_time_t                    *tp;
    struct status                 *status;
    struct status_rate            *rates;
    struct status_source           source;
    ngx_http_drossel_main_conf_t  *mcf;

    mcf = ngx_http_get_module_main_conf(r, ngx_http_drossel_module);

    status = ngx_palloc(r->pool, sizeof(struct status));
    rates = ngx_palloc(r->pool, (status_rate_count(mcf->policy) + 1)
                                * sizeof(struct status_rate));

    if (status == NULL || rates == NULL) {
        return NULL;
    }

    tp = ngx_timeofday();

    source.policy = mcf->policy;
    source.table = mcf->table;
    source.look = mcf->look;
    source.unix_now_ms = (uint64_t) tp->sec * 1000 + tp->msec;
    source.loaded_unix_s = (uint64_t) mcf->loaded;
    source.warnings = (uint32_t) mcf->warnings;
    source.store_errors = mcf->shared->failures;

    status_gather(&source, rates, status);

    return status;
}


static ngx_int_t
ngx_http_drossel_status_fields(ngx_http_request_t *r,
    enum status_format format)
{
    if (ngx_http_drossel_status_field(r, "Cache-Control", "no-store") != NGX_OK
        || ngx_http_drossel_status_field(r, "Vary", "Accept") != NGX_OK
        || ngx_http_drossel_status_field(r, "X-Content-Type-Options", "nosniff")
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (format != STATUS_PAGE) {
        return NGX_OK;
    }

    if (ngx_http_drossel_status_field(r, "Content-Security-Policy",
                                      status_page.security_policy)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_drossel_status_field(r, "Referrer-Policy", "no-referrer");
}


static ngx_int_t
ngx_http_drossel_status_field(ngx_http_request_t *r, const char *key,
    const char *value)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->hash = 1;
    h->key.data = (u_char *) key;
    h->key.len = ngx_strlen(key);
    h->value.data = (u_char *) value;
    h->value.len = ngx_strlen(value);
    h->lowcase_key = NULL;

    return NGX_OK;
}
