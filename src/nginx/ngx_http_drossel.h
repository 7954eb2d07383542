
/*
 * drossel's door in nginx: the HTTP module that judges each main request once,
 * before the content phase and after the real-IP module.
 *
 * The module decides nothing: it takes a request in (ngx_http_drossel_pass.c), turns
 * it into facts for the limiter (..._facts.c; accounts in its body and query:
 * ..._body.c, ..._query.c), and
 * the decision into what follows (..._handler.c): an answer (..._answer.c), a request
 * header (..._challenge.c), a wait (..._hold.c),
 * a line in the error log (..._log.c), variables (..._variables.c).  When the
 * application has answered, its charges are settled (..._outcome.c).  What it all
 * comes to is told by ..._status.c.  Configuration and life cycle: ..._module.c.
 *
 * The policy is read and the table mapped by the master, so that workers
 * inherit both by fork(); what a worker writes of its own (log budgets, the
 * proxy watch) lies in private pages and is never shared, but for "shared".
 */


#ifndef _NGX_HTTP_DROSSEL_H_INCLUDED_
#define _NGX_HTTP_DROSSEL_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "hint.h"
#include "limiter.h"
#include "request/body.h"
#include "request/proxywatch.h"
#include "status/status.h"


/* How many lines a limit may still write in this second; one for each limit. */

typedef struct {
    const char                   *limit;      /* whose; NULL: free */
    time_t                        second;     /* of the count */
    ngx_uint_t                    lines;      /* written in it */
    ngx_uint_t                    held_back;  /* since the last line */
    time_t                        since;      /* when the first was */
} ngx_http_drossel_budget_t;


/* What all workers of a master share, in a page of its own. */

typedef struct {
    ngx_atomic_t                  warned;     /* of a missing client setting */
    ngx_atomic_t                  forwardless;/* the same, of a missing header */
    ngx_atomic_t                  failures;   /* as struct status_source */
} ngx_http_drossel_shared_t;


typedef struct {
    /* what the shortest way needs lies side by side */

    ngx_uint_t                    anchor;     /* index of the context's variable */
    uint64_t                      heeded;     /* lengths of header fields, as bits */
    struct table                 *table;      /* NULL under nginx -t */
    struct limiter_memory        *memory;     /* of a worker's last refusals */
    ngx_http_output_header_filter_pt  next_header_filter;
    ngx_uint_t                    untimed;    /* decisions until one is timed */
    size_t                        body_cap;   /* bytes that are looked at */
    unsigned                      passes:1;   /* by that way, and then ... */
    unsigned                      has_path:1; /* ... the path is needed */
    unsigned                      logins:1;   /* logins pass by theirs */
    unsigned                      outcomes:1; /* answers are of interest */
    unsigned                      hides:1;    /* some of their fields are not for clients */

    /* in the next line, what the shortest way of logins needs */

    struct body_sources           sources;

    struct policy                *policy;     /* NULL: no drossel_policy */
    struct limiter               *limiter;

    ngx_str_t                     file;       /* of the policy */
    time_t                        loaded;     /* when it was read */
    ngx_uint_t                    warnings;   /* about it */

    ngx_uint_t                    log_level;  /* of refusals */
    ngx_uint_t                    log_rate;   /* lines a second and limit */
    ngx_http_drossel_budget_t    *budgets;    /* hashed by the name's address */
    ngx_uint_t                    budget_mask;
    time_t                        failed;     /* second of the last error line */

    struct proxywatch             watch;
    struct http_answer_cache     *answers;
    ngx_http_drossel_shared_t    *shared;
    struct status_look           *look;       /* the worker's last at the slots */

    const char                   *wanted;     /* what needs a policy; NULL: nothing */
} ngx_http_drossel_main_conf_t;


typedef struct {
    ngx_flag_t                    enable;
    unsigned                      judge:1;    /* requests are judged here */
    unsigned                      status:1;   /* "drossel_status" stands here */
} ngx_http_drossel_loc_conf_t;


typedef enum {
    NGX_HTTP_DROSSEL_NONE = 0,                /* off, exempt or not judged */
    NGX_HTTP_DROSSEL_PASSED,
    NGX_HTTP_DROSSEL_MARKED,
    NGX_HTTP_DROSSEL_DELAYED,
    NGX_HTTP_DROSSEL_CHALLENGED,
    NGX_HTTP_DROSSEL_REFUSED,
    NGX_HTTP_DROSSEL_DROPPED
} ngx_http_drossel_word_e;


/* The charges of a request that is under way, and where they are settled. */

typedef struct {
    struct table                 *table;
    ngx_uint_t                    auth_status; /* of a subrequest before the answer; 0: none */
    struct drossel_ticket         ticket;     /* count is 0 once settled */
} ngx_http_drossel_open_t;


/* A request that is not decided yet: its body is read, or it is held. */

typedef struct {
    ngx_queue_t                   queue;      /* of those held by this worker */
    ngx_event_t                  *write;      /* where its timer is, while held */
    uint64_t                      arrived_ns; /* when it was judged first; 0: not yet */
    ngx_msec_t                    pause;      /* until it is judged again */
    struct drossel_text          *accounts;   /* those in its body; of the worker,
                                                 while it is judged, or its own */
    ngx_uint_t                    account_count;
    unsigned                      unreadable:1; /* as is_account_unreadable */
    unsigned                      bodied:1;   /* its body was asked for */
    unsigned                      kept:1;     /* the accounts are its own */
    unsigned                      reading:1;
    unsigned                      starting:1;   /* nginx was asked for it just now */
    unsigned                      held:1;     /* it is in the queue */
} ngx_http_drossel_pending_t;


/* An answer that waits for the end of a request's body. */

typedef struct {
    ngx_uint_t                    status;
    ngx_uint_t                    plain;          /* nginx makes the body */
    const char                   *content_type;   /* NULL: no body */
    struct drossel_text           body;
} ngx_http_drossel_late_t;


/* What is kept of a decision, for variables and so that no request is judged twice. */

typedef struct {
    const char                   *limit;      /* the policy's; NULL: none */
    uint64_t                      remaining;
    uint64_t                      wait_ns;
    uint64_t                      delay_ns;
    ngx_http_drossel_pending_t   *pending;    /* NULL: decided at once, or yet to be */
    ngx_http_drossel_late_t      *late;       /* NULL: answered at once, or not by us */

    /* what an answer needs: for a login the rest of it comes right behind */

    ngx_http_drossel_open_t      *open;       /* NULL: nothing to settle */
    struct drossel_address        client;
    u_char                        word;       /* ngx_http_drossel_word_e */
    u_char                        dry_run;    /* nobody was bothered */
    u_char                        waiting;    /* not decided yet */
    u_char                        expected;   /* not looked at, but a login's key is known */
    u_char                        guarded;    /* the pool ends what it leaves open */
} ngx_http_drossel_ctx_t;


/* What one walk over the request's headers finds. */

typedef struct {
    ngx_table_elt_t              *forwarded;  /* a usual forwarding header */
    unsigned                      challenge:1;/* a forged one of ours */
} ngx_http_drossel_seen_t;


ngx_int_t ngx_http_drossel_handler(ngx_http_request_t *r);
/* NULL: it was not looked at yet, or there is no memory. */
ngx_http_drossel_ctx_t *ngx_http_drossel_get_ctx(ngx_http_request_t *r);
/* Makes the place for it in each request, before the configuration is read. */
ngx_int_t ngx_http_drossel_add_anchor(ngx_conf_t *cf);
/* Which header fields are looked at more closely: by their lengths as bits, and their
 * first letters; see ngx_http_drossel_heed(). */
#define NGX_HTTP_DROSSEL_HEED(len)  ((uint64_t) 1 << (len))

static ngx_inline ngx_uint_t
ngx_http_drossel_is_initial(u_char c)
{
    return c == 'x' || c == 'f' || c == 'd' || c == 'c';
}

/* Says anew which they are; closely: forwarding headers, too, once there seems to be no
 * need to watch them all. */
void ngx_http_drossel_heed(ngx_http_drossel_main_conf_t *mcf,
    ngx_uint_t closely);
/* Has the context ended with the request; before anything is left open in it. */
ngx_int_t ngx_http_drossel_guard(ngx_http_request_t *r,
    ngx_http_drossel_ctx_t *ctx);
/* The same where it is not yet, by memory of the request's. */
void ngx_http_drossel_guard_by(ngx_http_request_t *r, ngx_http_drossel_ctx_t *ctx,
    ngx_pool_cleanup_t *cln);

/* Makes the context of what looks like a login, to be let pass. */
ngx_int_t ngx_http_drossel_expect(ngx_http_request_t *r);
/* Lets it pass, and keeps its charge, or does the next; returns what a phase handler is
 * to return. */
ngx_int_t ngx_http_drossel_login(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx);
/* Judges a request that is looked at for the first time. */
ngx_int_t ngx_http_drossel_first(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx);

/* Returns what a phase handler is to return. */
ngx_int_t ngx_http_drossel_judge(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    ngx_http_drossel_seen_t *seen);

/* The facts of a request, but for the time.  "path" is the caller's memory. */
#define NGX_HTTP_DROSSEL_PATH_LEN  1024
ngx_int_t ngx_http_drossel_facts(ngx_http_request_t *r,
    const struct client_rules *rules, char *path,
    struct drossel_request *request);
/* The Accept field, all its lines; size 0: none. */
void ngx_http_drossel_accept(ngx_http_request_t *r,
    struct drossel_text *accept);
/* What an address is to be set from; it is zero before. */
void ngx_http_drossel_sockaddr(const struct sockaddr *sa,
    struct drossel_address *address);

static ngx_inline void
ngx_http_drossel_ipv4(const struct sockaddr *sa,
    struct drossel_address *address)
{
    const struct sockaddr_in  *sin;

    sin = (const struct sockaddr_in *) (const void *) sa;

    address->family = DROSSEL_IPV4;
    ngx_memcpy(address->bytes, &sin->sin_addr, 4);
}

static ngx_inline void
ngx_http_drossel_set_client(ngx_http_request_t *r,
    struct drossel_address *client)
{
    const struct sockaddr  *sa;

    sa = r->connection->sockaddr;

    if (likely(sa->sa_family == AF_INET)) {
        ngx_http_drossel_ipv4(sa, client);

    } else {
        ngx_memzero(client, sizeof(struct drossel_address));
        ngx_http_drossel_sockaddr(sa, client);
    }
}

/* The path, if it is the URI itself: an untouched simple one still lies where the
 * parser found it. */
static ngx_inline ngx_uint_t
ngx_http_drossel_path_is_plain(ngx_http_request_t *r, struct drossel_text *path)
{
    ngx_http_core_srv_conf_t  *cscf;

    cscf = ngx_http_get_module_srv_conf(r, ngx_http_core_module);

    path->data = (const char *) r->uri.data;
    path->size = r->uri.len;

    return r->uri.data == r->uri_start && cscf->merge_slashes;
}

/* One walk over the request's headers. */
void ngx_http_drossel_look(ngx_http_request_t *r,
    ngx_http_drossel_seen_t *seen);
ngx_uint_t ngx_http_drossel_is_challenge(const ngx_table_elt_t *h);

/* Says where accounts may stand in bodies, when a policy was read. */
void ngx_http_drossel_sources(ngx_http_drossel_main_conf_t *mcf);

/* Has the body yet to come, and need not be waited for? */
ngx_uint_t ngx_http_drossel_is_body_idle(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_request *request);

/* Reads the body.  NGX_OK: done; else what a phase handler is to return, and it is
 * called again later. */
ngx_int_t ngx_http_drossel_read_body(ngx_http_request_t *r,
    ngx_http_drossel_ctx_t *ctx);
/* Finds the accounts in a body.  They lie in memory of the worker, until the next request
 * is judged. */
void ngx_http_drossel_find_in_body(ngx_http_drossel_main_conf_t *mcf,
    const struct body *body, struct body_found *found);
/* Adds those in its queries: as it was asked for, and as it goes on. */
void ngx_http_drossel_find_in_queries(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, struct body_found *found);
/* Adds the accounts in the body that was read, and what else the request has
 * waited for.  They are there until the next request is judged. */
void ngx_http_drossel_add_accounts(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_pending_t *pending,
    struct drossel_request *request);

/* Makes a request wait: until outcomes are known, or so long.  Returns what a
 * phase handler is to return. */
ngx_int_t ngx_http_drossel_pause(ngx_http_request_t *r,
    ngx_http_drossel_ctx_t *ctx, const struct drossel_request *request,
    const struct drossel_decision *decision);
ngx_int_t ngx_http_drossel_hold(ngx_http_request_t *r, uint64_t ns);
/* It is not held any more; NULL and others are left alone. */
void ngx_http_drossel_unhold(ngx_http_drossel_pending_t *pending);
/* An outcome is known: those held are judged again. */
void ngx_http_drossel_wake(void);

/* Keeps the charges of a request that goes on, to be settled by its answer. */
ngx_int_t ngx_http_drossel_open(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, ngx_http_drossel_ctx_t *ctx,
    const struct drossel_ticket *ticket);
/* Settles them, if that was not done before. */
void ngx_http_drossel_settle(ngx_http_drossel_ctx_t *ctx,
    enum drossel_outcome outcome);
/* Settles them by an answer of the application that nginx is about to replace. */
void ngx_http_drossel_settle_replaced(ngx_http_request_t *r,
    ngx_http_drossel_ctx_t *ctx);

/* Answers a refused request.  Returns what a phase handler is to return. */
ngx_int_t ngx_http_drossel_refuse(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, struct drossel_decision *decision);

/* Sends a text as the whole body; without any if it is empty. */
ngx_int_t ngx_http_drossel_send_text(ngx_http_request_t *r, ngx_uint_t status,
    const char *media_type, struct drossel_text text);

/* Removes the request header that only we may set; clients must not forge it. */
void ngx_http_drossel_remove_challenge(ngx_http_request_t *r);
ngx_int_t ngx_http_drossel_add_challenge(ngx_http_request_t *r,
    const char *limit);
/* Answers with a redirect.  Returns what a phase handler is to return. */
ngx_int_t ngx_http_drossel_redirect(ngx_http_request_t *r, const char *to);

void ngx_http_drossel_log(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_request *request,
    const struct drossel_decision *decision, const ngx_http_drossel_ctx_t *ctx);
void ngx_http_drossel_log_failure(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, enum drossel_result rc);
void ngx_http_drossel_log_proxy(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_decision *decision,
    const ngx_str_t *header);
void ngx_http_drossel_log_forwardless(ngx_http_request_t *r,
    ngx_http_drossel_main_conf_t *mcf, const struct drossel_decision *decision);
ngx_int_t ngx_http_drossel_log_init(ngx_conf_t *cf,
    ngx_http_drossel_main_conf_t *mcf);
void ngx_http_drossel_log_flush(ngx_http_drossel_main_conf_t *mcf,
    ngx_log_t *log);

ngx_int_t ngx_http_drossel_add_variables(ngx_conf_t *cf);

/* Makes the page that the workers share. */
ngx_int_t ngx_http_drossel_share(ngx_conf_t *cf,
    ngx_http_drossel_main_conf_t *mcf);

/* Counts a decision for the status. */
void ngx_http_drossel_tell(ngx_http_drossel_main_conf_t *mcf,
    const struct drossel_request *request,
    const struct drossel_decision *decision);
/* What is done for some of the requests that pass: at "from_ns" it came. */
void ngx_http_drossel_sample(ngx_http_drossel_main_conf_t *mcf, uint64_t from_ns);
/* Notes how long a decision took, and when to time the next one. */
void ngx_http_drossel_note_time(ngx_http_drossel_main_conf_t *mcf, uint64_t from_ns);

/* The setter of drossel_status, and what it has to do when locations merge. */
char *ngx_http_drossel_status(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
ngx_int_t ngx_http_drossel_status_merge(ngx_conf_t *cf,
    ngx_http_drossel_loc_conf_t *prev, ngx_http_drossel_loc_conf_t *conf);

const char *ngx_http_drossel_word(ngx_uint_t word);

/* Writes ns as seconds with three digits, rounded up, or "never". */
#define NGX_HTTP_DROSSEL_SECONDS_LEN  (NGX_INT64_LEN + sizeof(".000") - 1)
u_char *ngx_http_drossel_seconds(u_char *p, uint64_t ns);


extern ngx_module_t  ngx_http_drossel_module;
extern ngx_module_t  ngx_http_drossel_outcome_module;


#endif /* _NGX_HTTP_DROSSEL_H_INCLUDED_ */
