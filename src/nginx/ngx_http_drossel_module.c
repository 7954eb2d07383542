
/*
 * Directives and life cycle of the HTTP module.
 *
 * The policy is read where its directive stands, so that "nginx -t" reports its
 * mistakes.  The table is opened, by the master, once the http block is read:
 * later (in init_module) a failure would end the master, here it only ends
 * the attempt, and after a reload the old configuration goes on.  "nginx -t" and
 * "nginx -s" read the configuration too; they leave the table alone.
 */


#include "ngx_http_drossel.h"

#include "http/answer_cache.h"

#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>


#define NGX_HTTP_DROSSEL_LINE  64  /* bytes of a cache line */


static char *ngx_http_drossel_policy(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_drossel_enabled(ngx_conf_t *cf, void *post, void *data);
static ngx_uint_t ngx_http_drossel_lines(ngx_conf_t *cf, ngx_uint_t level,
    char *text);
static ngx_int_t ngx_http_drossel_attach(ngx_conf_t *cf,
    ngx_http_drossel_main_conf_t *mcf);
static void ngx_http_drossel_plan(ngx_http_drossel_main_conf_t *mcf);
static void ngx_http_drossel_owner(ngx_conf_t *cf,
    struct table_options *options);
static void ngx_http_drossel_close(void *data);
static void *ngx_http_drossel_create_main_conf(ngx_conf_t *cf);
static char *ngx_http_drossel_init_main_conf(ngx_conf_t *cf, void *conf);
static void *ngx_http_drossel_create_loc_conf(ngx_conf_t *cf);
static char *ngx_http_drossel_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);
static ngx_int_t ngx_http_drossel_init(ngx_conf_t *cf);
static void ngx_http_drossel_exit_process(ngx_cycle_t *cycle);


static ngx_conf_post_t  ngx_http_drossel_enabled_post =
    { ngx_http_drossel_enabled };


static ngx_conf_enum_t  ngx_http_drossel_log_levels[] = {
    { ngx_string("info"), NGX_LOG_INFO },
    { ngx_string("notice"), NGX_LOG_NOTICE },
    { ngx_string("warn"), NGX_LOG_WARN },
    { ngx_string("error"), NGX_LOG_ERR },
    { ngx_null_string, 0 }
};


static ngx_conf_num_bounds_t  ngx_http_drossel_log_rate_bounds = {
    ngx_conf_check_num_bounds, 0, 1000000
};


static ngx_command_t  ngx_http_drossel_commands[] = {

    { ngx_string("drossel_policy"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_http_drossel_policy,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("drossel"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_drossel_loc_conf_t, enable),
      &ngx_http_drossel_enabled_post },

    { ngx_string("drossel_log_level"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(ngx_http_drossel_main_conf_t, log_level),
      &ngx_http_drossel_log_levels },

    { ngx_string("drossel_log_rate"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(ngx_http_drossel_main_conf_t, log_rate),
      &ngx_http_drossel_log_rate_bounds },

    { ngx_string("drossel_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_drossel_status,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_drossel_module_ctx = {
    ngx_http_drossel_add_variables,        /* preconfiguration */
    ngx_http_drossel_init,                 /* postconfiguration */

    ngx_http_drossel_create_main_conf,     /* create main configuration */
    ngx_http_drossel_init_main_conf,       /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_drossel_create_loc_conf,      /* create location configuration */
    ngx_http_drossel_merge_loc_conf        /* merge location configuration */
};


ngx_module_t  ngx_http_drossel_module = {
    NGX_MODULE_V1,
    &ngx_http_drossel_module_ctx,          /* module context */
    ngx_http_drossel_commands,             /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    ngx_http_drossel_exit_process,         /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static char *
ngx_http_drossel_policy(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_drossel_main_conf_t  *mcf = conf;

    char                *mistakes, *warnings;
    ngx_str_t           *value;
    ngx_pool_cleanup_t  *cln;

    if (mcf->policy) {
        return "is duplicate";
    }

    value = cf->args->elts;
    mcf->file = value[1];

    /* ngx_conf_full_name() ends the name with a NUL */

    if (ngx_conf_full_name(cf->cycle, &mcf->file, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NGX_CONF_ERROR;
    }

    cln->handler = ngx_http_drossel_close;
    cln->data = mcf;

    mistakes = NULL;
    warnings = NULL;

    mcf->policy = policy_open((char *) mcf->file.data, &mistakes, &warnings);

    mcf->loaded = ngx_time();
    mcf->warnings = ngx_http_drossel_lines(cf, NGX_LOG_WARN, warnings);
    (void) ngx_http_drossel_lines(cf, NGX_LOG_EMERG, mistakes);

    if (mcf->policy == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "drossel: the policy \"%V\" has mistakes and "
                           "was not loaded", &mcf->file);
        return NGX_CONF_ERROR;
    }

    ngx_http_drossel_sources(mcf);

    return NGX_CONF_OK;
}


static char *
ngx_http_drossel_enabled(ngx_conf_t *cf, void *post, void *data)
{
    ngx_flag_t  *enable = data;

    ngx_http_drossel_main_conf_t  *mcf;

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_drossel_module);

    if (*enable) {
        mcf->wanted = "drossel on";
    }

    return NGX_CONF_OK;
}


/* Logs a text of many lines, each on its own, and frees it.  Returns how many. */

static ngx_uint_t
ngx_http_drossel_lines(ngx_conf_t *cf, ngx_uint_t level, char *text)
{
    char        *line, *rest;
    ngx_uint_t   lines;

    if (text == NULL) {
        return 0;
    }

    lines = 0;
    rest = text;

    while ((line = strsep(&rest, "\n")) != NULL) {
        if (*line) {
            ngx_log_error(level, cf->log, 0, "%s", line);
            lines++;
        }
    }

    free(text);

    return lines;
}


static ngx_int_t
ngx_http_drossel_attach(ngx_conf_t *cf, ngx_http_drossel_main_conf_t *mcf)
{
    char                  path[NGX_MAX_PATH], why[NGX_MAX_CONF_ERRSTR];
    struct table_options  options;

    ngx_memzero(&options, sizeof(struct table_options));

    options.path = mcf->policy->table_path;
    options.keys = mcf->policy->table_keys;
    options.names = mcf->policy->table_names;

    if (options.path == NULL) {
        if (table_default_path(path, sizeof(path)) == 0) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "drossel: there is no default place for the table; "
                          "write \"table: {path: ...}\" into \"%V\"",
                          &mcf->file);
            return NGX_ERROR;
        }

        options.path = path;
    }

    ngx_http_drossel_owner(cf, &options);

    mcf->table = table_open(&options, why, sizeof(why));
    if (mcf->table == NULL) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "drossel: %s", why);
        return NGX_ERROR;
    }

    mcf->limiter = limiter_open(mcf->policy, mcf->table, why, sizeof(why));
    if (mcf->limiter == NULL) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "drossel: %s", why);
        return NGX_ERROR;
    }

    ngx_http_drossel_plan(mcf);

    if (ngx_http_drossel_share(cf, mcf) != NGX_OK) {
        return NGX_ERROR;
    }

    /* written by each worker for itself: the pages are private after the fork */

    mcf->answers = ngx_pcalloc(cf->pool, sizeof(struct http_answer_cache));
    mcf->look = ngx_pcalloc(cf->pool, sizeof(struct status_look));
    mcf->memory = limiter_memory_open(mcf->limiter);

    if (mcf->answers == NULL || mcf->look == NULL || mcf->memory == NULL) {
        return NGX_ERROR;
    }

    return ngx_http_drossel_log_init(cf, mcf);
}


/* What each request would otherwise have to find out of the policy. */

static void
ngx_http_drossel_plan(ngx_http_drossel_main_conf_t *mcf)
{
    bool  has_path;

    mcf->passes = limiter_passes(mcf->limiter, &has_path);
    mcf->has_path = has_path;
    mcf->logins = limiter_passes_logins(mcf->limiter);
    mcf->body_cap = (size_t) mcf->policy->body_cap;

    mcf->hides = mcf->policy->failure.header.size
                 || mcf->policy->success.header.size;
    mcf->outcomes = mcf->policy->has_failures || mcf->hides;

    ngx_http_drossel_heed(mcf, 0);
}


/*
 * A table made by root belongs to the workers' user, so that other processes
 * of that user (php-fpm, a second nginx) can open it.  The "user" directive
 * usually stands above the http block; where it is missing, nginx's default
 * will be used, as nginx does.
 */

static void
ngx_http_drossel_owner(ngx_conf_t *cf, struct table_options *options)
{
    struct group     *group;
    struct passwd    *user;
    ngx_core_conf_t  *ccf;

    options->owner = (uid_t) NGX_CONF_UNSET;
    options->group = (gid_t) NGX_CONF_UNSET;

    if (geteuid() != 0) {
        return;
    }

    ccf = (ngx_core_conf_t *) ngx_get_conf(cf->cycle->conf_ctx,
                                           ngx_core_module);

    options->owner = ccf->user;
    options->group = ccf->group;

    if (options->owner == (uid_t) NGX_CONF_UNSET_UINT) {
        user = getpwnam(NGX_USER);
        group = getgrnam(NGX_GROUP);

        options->owner = user ? user->pw_uid : (uid_t) NGX_CONF_UNSET;
        options->group = group ? group->gr_gid : (gid_t) NGX_CONF_UNSET;
    }
}


/* Runs when the cycle's pool goes: after a reload, or at the end. */

static void
ngx_http_drossel_close(void *data)
{
    ngx_http_drossel_main_conf_t  *mcf = data;

    limiter_memory_close(mcf->memory);
    limiter_close(mcf->limiter);
    table_close(mcf->table);
    policy_close(mcf->policy);

    if (mcf->shared) {
        (void) munmap((void *) mcf->shared, sizeof(ngx_http_drossel_shared_t));
    }
}


static void *
ngx_http_drossel_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_drossel_main_conf_t  *mcf;

    /* what each request needs of it shall lie in one line of memory */

    mcf = ngx_pmemalign(cf->pool, sizeof(ngx_http_drossel_main_conf_t),
                        NGX_HTTP_DROSSEL_LINE);
    if (mcf == NULL) {
        return NULL;
    }

    ngx_memzero(mcf, sizeof(ngx_http_drossel_main_conf_t));

    mcf->log_level = NGX_CONF_UNSET_UINT;
    mcf->log_rate = NGX_CONF_UNSET_UINT;

    return mcf;
}


static char *
ngx_http_drossel_init_main_conf(ngx_conf_t *cf, void *conf)
{
    ngx_http_drossel_main_conf_t  *mcf = conf;

    ngx_conf_init_uint_value(mcf->log_level, NGX_LOG_ERR);
    ngx_conf_init_uint_value(mcf->log_rate, 5);

    return NGX_CONF_OK;
}


static void *
ngx_http_drossel_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_drossel_loc_conf_t  *conf;

    conf = ngx_pcalloc(cf->pool, sizeof(ngx_http_drossel_loc_conf_t));
    if (conf == NULL) {
        return NULL;
    }

    conf->enable = NGX_CONF_UNSET;

    return conf;
}


static char *
ngx_http_drossel_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_drossel_loc_conf_t  *prev = parent;
    ngx_http_drossel_loc_conf_t  *conf = child;

    ngx_flag_t  here;

    here = conf->enable;

    ngx_conf_merge_value(conf->enable, prev->enable, 1);

    if (ngx_http_drossel_status_merge(cf, prev, conf) == NGX_OK) {

        if (here == NGX_CONF_UNSET) {
            conf->judge = prev->judge;
            return NGX_CONF_OK;
        }

    } else if (conf->status && here == NGX_CONF_UNSET) {

        /* what asks for the status is judged only where that is said on the spot */

        return NGX_CONF_OK;
    }

    conf->judge = conf->enable ? 1 : 0;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_drossel_init(ngx_conf_t *cf)
{
    ngx_http_handler_pt           *h;
    ngx_http_core_main_conf_t     *cmcf;
    ngx_http_drossel_main_conf_t  *mcf;

    mcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_drossel_module);

    if (mcf->policy == NULL) {
        if (mcf->wanted) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "\"%s\" needs a \"drossel_policy\" "
                          "in the http block", mcf->wanted);
            return NGX_ERROR;
        }

        return NGX_OK;
    }

    if (ngx_test_config || ngx_process == NGX_PROCESS_SIGNALLER) {
        return NGX_OK;
    }

    if (ngx_http_drossel_attach(cf, mcf) != NGX_OK) {
        return NGX_ERROR;
    }

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_PREACCESS_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = ngx_http_drossel_handler;

    if (!mcf->logins) {
        return NGX_OK;
    }

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_SERVER_REWRITE_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = ngx_http_drossel_expect;

    return NGX_OK;
}


static void
ngx_http_drossel_exit_process(ngx_cycle_t *cycle)
{
    ngx_http_drossel_main_conf_t  *mcf;

    mcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_drossel_module);

    if (mcf && mcf->limiter) {
        ngx_http_drossel_log_flush(mcf, cycle->log);
    }
}
