
/*
 * What the limiter is to know of a request.  Nothing is copied but a path that
 * had to be decoded anew.
 */


#include "ngx_http_drossel.h"


static void ngx_http_drossel_peer(ngx_http_request_t *r,
    const struct client_rules *rules, struct drossel_request *request);
static ngx_int_t ngx_http_drossel_path(ngx_http_request_t *r, char *buf,
    struct drossel_text *path);
static bool ngx_http_drossel_find_header(const struct drossel_request *request,
    struct drossel_text name, unsigned nth, struct drossel_text *value);
static ngx_uint_t ngx_http_drossel_forwarding(const ngx_table_elt_t *h);


/*
 * The line that was found last.  A client may send one header a thousand times, and
 * who looks at all of its lines asks for one after the other: each question
 * goes on where the last one ended, so that a request costs its lines once.
 */

static struct {
    ngx_http_request_t  *request;     /* NULL: none */
    const char          *name;
    unsigned             nth;
    ngx_list_part_t     *part;
    ngx_uint_t           index;
} ngx_http_drossel_found;


ngx_int_t
ngx_http_drossel_facts(ngx_http_request_t *r, const struct client_rules *rules,
    char *path, struct drossel_request *request)
{
    ngx_memzero(request, sizeof(struct drossel_request));

    ngx_http_drossel_found.request = NULL;

    ngx_http_drossel_peer(r, rules, request);

    request->method.data = (const char *) r->method_name.data;
    request->method.size = r->method_name.len;
    request->host.data = (const char *) r->headers_in.server.data;
    request->host.size = r->headers_in.server.len;
    request->find_header = ngx_http_drossel_find_header;
    request->context = r;
    request->door = DROSSEL_DOOR_NGINX;

    return ngx_http_drossel_path(r, path, &request->path);
}


/*
 * The peer is $remote_addr, as the real-IP module left it.  With "address_from:
 * proxy_protocol" the client is what the PROXY protocol said, if the connection
 * came from a trusted address; nobody else may choose who he is.
 */

static void
ngx_http_drossel_peer(ngx_http_request_t *r, const struct client_rules *rules,
    struct drossel_request *request)
{
    ngx_connection_t       *c;
    ngx_proxy_protocol_t   *proxy;
    struct drossel_address  address;

    c = r->connection;

    ngx_http_drossel_sockaddr(c->sockaddr, &request->peer);

    proxy = c->proxy_protocol;

    if (rules->source != CLIENT_PROXY_PROTOCOL || proxy == NULL
        || rules->trusted == NULL
        || !netset_has(rules->trusted, &request->peer))
    {
        return;
    }

    if (drossel_address_parse((const char *) proxy->src_addr.data,
                              proxy->src_addr.len, &address)
        == DROSSEL_OK)
    {
        request->address = address;
    }
}


void
ngx_http_drossel_sockaddr(const struct sockaddr *sa,
    struct drossel_address *address)
{
    const u_char                *p;
    const struct sockaddr_in6   *sin6;

    switch (sa->sa_family) {

    case AF_INET:
        ngx_http_drossel_ipv4(sa, address);
        break;

    case AF_INET6:
        sin6 = (const struct sockaddr_in6 *) (const void *) sa;
        p = sin6->sin6_addr.s6_addr;

        if (IN6_IS_ADDR_V4MAPPED(&sin6->sin6_addr)) {
            address->family = DROSSEL_IPV4;
            ngx_memcpy(address->bytes, p + 12, 4);
            break;
        }

        address->family = DROSSEL_IPV6;
        ngx_memcpy(address->bytes, p, 16);
        break;

    default: /* AF_UNIX */
        address->family = DROSSEL_UNIX;
    }
}


/*
 * The path that the client asked for: "rewrite" may have changed r->uri by now.
 * What is not plain is decoded anew, on the stack where it fits.
 */

static ngx_int_t
ngx_http_drossel_path(ngx_http_request_t *r, char *buf,
    struct drossel_text *path)
{
    struct drossel_text  raw;

    if (ngx_http_drossel_path_is_plain(r, path)) {
        return NGX_OK;
    }

    if (r->unparsed_uri.len == 0 || r->unparsed_uri.data[0] != '/') {
        path->data = (const char *) r->uri.data;
        path->size = r->uri.len;
        return NGX_OK;
    }

    raw.data = (const char *) r->unparsed_uri.data;
    raw.size = r->unparsed_uri.len;

    if (raw.size > NGX_HTTP_DROSSEL_PATH_LEN) {
        buf = ngx_pnalloc(r->pool, raw.size);
        if (buf == NULL) {
            return NGX_ERROR;
        }

        path->size = drossel_path_normalise(raw, buf, raw.size);

    } else {
        path->size = drossel_path_normalise(raw, buf,
                                            NGX_HTTP_DROSSEL_PATH_LEN);
    }

    path->data = buf;

    return NGX_OK;
}


static bool
ngx_http_drossel_find_header(const struct drossel_request *request,
    struct drossel_text name, unsigned nth, struct drossel_text *value)
{
    unsigned             before;
    ngx_uint_t           i;
    ngx_list_part_t     *part;
    ngx_table_elt_t     *h;
    ngx_http_request_t  *r;

    r = request->context;

    part = &r->headers_in.headers.part;
    before = nth;
    i = 0;

    if (nth && ngx_http_drossel_found.request == r
        && ngx_http_drossel_found.name == name.data
        && ngx_http_drossel_found.nth == nth - 1)
    {
        part = ngx_http_drossel_found.part;
        i = ngx_http_drossel_found.index + 1;
        before = 0;
    }

    for ( /* void */ ; part; part = part->next, i = 0) {

        h = part->elts;

        for ( /* void */ ; i < part->nelts; i++) {

            if (h[i].key.len != name.size
                || ngx_memcmp(h[i].lowcase_key, name.data, name.size) != 0)
            {
                continue;
            }

            if (before-- == 0) {
                ngx_http_drossel_found.request = r;
                ngx_http_drossel_found.name = name.data;
                ngx_http_drossel_found.nth = nth;
                ngx_http_drossel_found.part = part;
                ngx_http_drossel_found.index = i;

                value->data = (const char *) h[i].value.data;
                value->size = h[i].value.len;
                return true;
            }
        }
    }

    return false;
}


/*
 * Several lines of Accept are one list (RFC 9110, section 5.3); nginx 1.22 knows of the
 * first only.  They are joined where there is memory.
 */

void
ngx_http_drossel_accept(ngx_http_request_t *r, struct drossel_text *accept)
{
    size_t                  size;
    u_char                 *p;
    unsigned                n;
    struct drossel_text     line;
    struct drossel_request  request;

    static const struct drossel_text  name = DROSSEL_TEXT("accept");

    ngx_memzero(accept, sizeof(struct drossel_text));

    if (r->headers_in.accept == NULL) {
        return;
    }

    accept->data = (const char *) r->headers_in.accept->value.data;
    accept->size = r->headers_in.accept->value.len;

    ngx_memzero(&request, sizeof(struct drossel_request));
    request.context = r;

    if (!ngx_http_drossel_find_header(&request, name, 1, &line)) {
        return;
    }

    size = 0;

    for (n = 0; ngx_http_drossel_find_header(&request, name, n, &line); n++) {
        size += line.size + 1;
    }

    p = ngx_pnalloc(r->pool, size);
    if (p == NULL) {
        return;
    }

    accept->data = (const char *) p;
    accept->size = size;

    for (n = 0; ngx_http_drossel_find_header(&request, name, n, &line); n++) {
        p = ngx_cpymem(p, line.data, line.size);
        *p++ = ',';
    }
}


/*
 * Of several forwarding headers the one is told that is hardest to forge
 * through a proxy: most proxies append to X-Forwarded-For, but many pass on
 * others as they came.
 */

void
ngx_http_drossel_look(ngx_http_request_t *r, ngx_http_drossel_seen_t *seen)
{
    ngx_uint_t        i, rank, best;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    ngx_memzero(seen, sizeof(ngx_http_drossel_seen_t));

    best = 0;

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (ngx_http_drossel_is_challenge(&h[i])) {
                seen->challenge = 1;
                continue;
            }

            rank = ngx_http_drossel_forwarding(&h[i]);

            if (rank > best) {
                best = rank;
                seen->forwarded = &h[i];
            }
        }
    }
}


/* 0: no forwarding header. */

static ngx_uint_t
ngx_http_drossel_forwarding(const ngx_table_elt_t *h)
{
    switch (h->key.len) {

    case 9:
        if (ngx_memcmp(h->lowcase_key, "forwarded", 9) == 0) {
            return 3;
        }

        return ngx_memcmp(h->lowcase_key, "x-real-ip", 9) == 0 ? 2 : 0;

    case 15:
        return ngx_memcmp(h->lowcase_key, "x-forwarded-for", 15) == 0 ? 4 : 0;

    case 16:
        return ngx_memcmp(h->lowcase_key, "cf-connecting-ip", 16) == 0 ? 1 : 0;

    default:
        return 0;
    }
}


/* Applications behind CGI cannot tell "_" from "-". */

ngx_uint_t
ngx_http_drossel_is_challenge(const ngx_table_elt_t *h)
{
    return h->key.len == 17
           && ngx_memcmp(h->lowcase_key, "drossel", 7) == 0
           && ngx_memcmp(h->lowcase_key + 8, "challenge", 9) == 0;
}
