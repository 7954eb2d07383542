/*
 * The names that logs give to values, and what each means.
 */
#include "logs/fields.h"

#include <pthread.h>
#include <string.h>

/* Folded; objects within objects are joined with dots.  Of the values of one line the highest rank counts: what the server itself
 * wrote before what a shipper added, what the client sent before what the server made of it. */
static const struct log_name common[] = {
    { "msec", FIELD_TIME, 8, 0, 0 },
    { "timeiso8601", FIELD_TIME, 7, 0, 0 },
    { "startutc", FIELD_TIME, 7, 0, 0 },
    { "edgestarttimestamp", FIELD_TIME, 7, 0, 0 },
    { "timelocal", FIELD_TIME, 6, 0, 0 },
    { "ts", FIELD_TIME, 6, 0, 0 },
    { "startlocal", FIELD_TIME, 6, 0, 0 },
    { "timestamp", FIELD_TIME, 5, 0, 0 },
    { "time", FIELD_TIME, 5, 0, 0 },
    { "starttime", FIELD_TIME, 5, 0, 0 },
    { "startedat", FIELD_TIME, 5, 0, 0 },
    { "reqtimesec", FIELD_TIME, 6, 0, 0 },
    { "datetime", FIELD_TIME, 5, 0, 0 },
    { "requesttimestamp", FIELD_TIME, 5, 0, 0 },
    { "requesttimeepoch", FIELD_TIME, 5, 0, 0 },
    { "accesstime", FIELD_TIME, 4, 0, 0 },
    { "eventtime", FIELD_TIME, 4, 0, 0 },
    { "logtime", FIELD_TIME, 4, 0, 0 },
    { "epoch", FIELD_TIME, 4, 0, 0 },
    { "unixtime", FIELD_TIME, 4, 0, 0 },
    { "asctime", FIELD_TIME, 3, 0, 0 },
    { "t", FIELD_TIME, 3, 0, 0 },
    { "edgeendtimestamp", FIELD_TIME, 3, 0, 0 },
    { "receivedat", FIELD_TIME, 2, 0, 0 },
    { "date", FIELD_DATE, 5, 0, 0 },
    { "datelocal", FIELD_DATE, 4, 0, 0 },

    { "clientip", FIELD_CLIENT, 8, 0, 0 },
    { "client.ip", FIELD_CLIENT, 8, 0, 0 },
    { "request.clientip", FIELD_CLIENT, 8, 0, 0 },
    { "remoteaddr", FIELD_CLIENT, 7, 0, 0 },
    { "source.ip", FIELD_CLIENT, 7, 0, 0 },
    { "cip", FIELD_CLIENT, 7, 0, 0 },
    { "downstreamremoteaddress", FIELD_CLIENT, 7, 0, 0 },
    { "network.client.ip", FIELD_CLIENT, 7, 0, 0 },
    { "request.remoteip", FIELD_CLIENT, 7, 0, 0 },
    { "request.remoteaddr", FIELD_CLIENT, 6, 0, 0 },
    { "req.remoteaddress", FIELD_CLIENT, 6, 0, 0 },
    { "req.ip", FIELD_CLIENT, 6, 0, 0 },
    { "remoteip", FIELD_CLIENT, 6, 0, 0 },
    { "remoteaddress", FIELD_CLIENT, 6, 0, 0 },
    { "clienthost", FIELD_CLIENT, 6, 0, 0 },
    { "sourceip", FIELD_CLIENT, 6, 0, 0 },
    { "srcip", FIELD_CLIENT, 6, 0, 0 },
    { "cliip", FIELD_CLIENT, 6, 0, 0 },
    { "client.address", FIELD_CLIENT, 6, 0, 0 },
    { "client", FIELD_CLIENT, 6, 0, 0 },
    { "clientaddr", FIELD_CLIENT, 5, 0, 0 },
    { "clientaddress", FIELD_CLIENT, 5, 0, 0 },
    { "source.address", FIELD_CLIENT, 5, 0, 0 },
    { "remotehost", FIELD_CLIENT, 5, 0, 0 },
    { "ip", FIELD_CLIENT, 5, 0, 0 },
    { "ipaddress", FIELD_CLIENT, 5, 0, 0 },
    { "remote", FIELD_CLIENT, 5, 0, 0 },
    { "xrealip", FIELD_CLIENT, 4, 0, 0 },
    { "httpxrealip", FIELD_CLIENT, 4, 0, 0 },
    { "cfconnectingip", FIELD_CLIENT, 4, 0, 0 },
    { "httpcfconnectingip", FIELD_CLIENT, 4, 0, 0 },
    { "trueclientip", FIELD_CLIENT, 4, 0, 0 },
    { "httptrueclientip", FIELD_CLIENT, 4, 0, 0 },
    { "address", FIELD_CLIENT, 4, 0, 0 },
    { "downstreamdirectremoteaddress", FIELD_CLIENT, 4, 0, 0 },
    { "peer", FIELD_CLIENT, 3, 0, 0 },
    { "realipremoteaddr", FIELD_CLIENT, 2, 0, 0 },

    { "remoteuser", FIELD_USER, 7, 0, 0 },
    { "clientusername", FIELD_USER, 6, 0, 0 },
    { "csusername", FIELD_USER, 6, 0, 0 },
    { "user.name", FIELD_USER, 6, 0, 0 },
    { "authuser", FIELD_USER, 6, 0, 0 },
    { "user", FIELD_USER, 5, 0, 0 },
    { "username", FIELD_USER, 5, 0, 0 },
    { "cauthid", FIELD_USER, 5, 0, 0 },
    { "userid", FIELD_USER, 4, 0, 0 },

    { "requestline", FIELD_REQUEST, 8, 0, 0 },
    { "request", FIELD_REQUEST, 7, 0, 0 },
    { "req", FIELD_REQUEST, 6, 0, 0 },

    { "requestmethod", FIELD_METHOD, 8, 0, 0 },
    { "request.method", FIELD_METHOD, 8, 0, 0 },
    { "req.method", FIELD_METHOD, 8, 0, 0 },
    { "http.request.method", FIELD_METHOD, 8, 0, 0 },
    { "clientrequestmethod", FIELD_METHOD, 8, 0, 0 },
    { "csmethod", FIELD_METHOD, 8, 0, 0 },
    { "method", FIELD_METHOD, 7, 0, 0 },
    { "http.method", FIELD_METHOD, 7, 0, 0 },
    { "httpmethod", FIELD_METHOD, 6, 0, 0 },
    { "verb", FIELD_METHOD, 5, 0, 0 },
    { "reqmethod", FIELD_METHOD, 5, 0, 0 },

    { "requesturi", FIELD_TARGET, 9, 0, 0 },
    { "request.uri", FIELD_TARGET, 9, 0, 0 },
    { "clientrequesturi", FIELD_TARGET, 9, 0, 0 },
    { "originalurl", FIELD_TARGET, 8, 0, 0 },
    { "request.url", FIELD_TARGET, 8, 0, 0 },
    { "req.originalurl", FIELD_TARGET, 9, 0, 0 },
    { "req.url", FIELD_TARGET, 8, 0, 0 },
    { "url.original", FIELD_TARGET, 8, 0, 0 },
    { "xenvoyoriginpath", FIELD_TARGET, 8, 0, 0 },
    { "xenvoyoriginalpath", FIELD_TARGET, 8, 0, 0 },
    { "csuri", FIELD_TARGET, 8, 0, 0 },
    { "http.target", FIELD_TARGET, 8, 0, 0 },
    { "uri", FIELD_TARGET, 7, 0, 0 },
    { "target", FIELD_TARGET, 7, 0, 0 },
    { "requestpath", FIELD_TARGET, 7, 0, 0 },
    { "request.target", FIELD_TARGET, 7, 0, 0 },
    { "request.path", FIELD_TARGET, 7, 0, 0 },
    { "http.url", FIELD_TARGET, 7, 0, 0 },
    { "rawpath", FIELD_TARGET, 6, 0, 0 },
    { "requesturl", FIELD_TARGET, 6, 0, 0 },
    { "url", FIELD_TARGET, 6, 0, 0 },
    { "url.path", FIELD_TARGET, 6, 0, 0 },
    { "url.full", FIELD_TARGET, 5, 0, 0 },
    { "csuristem", FIELD_TARGET, 6, 0, 0 },
    { "clientrequestpath", FIELD_TARGET, 5, 0, 0 },
    { "path", FIELD_TARGET, 5, 0, 0 },
    { "resourcepath", FIELD_TARGET, 5, 0, 0 },
    { "reqpath", FIELD_TARGET, 5, 0, 0 },
    { "uripath", FIELD_TARGET, 5, 0, 0 },
    { "documenturi", FIELD_TARGET, 4, 0, 0 },

    { "args", FIELD_QUERY, 6, 0, 0 },
    { "querystring", FIELD_QUERY, 6, 0, 0 },
    { "csuriquery", FIELD_QUERY, 6, 0, 0 },
    { "url.query", FIELD_QUERY, 6, 0, 0 },
    { "request.querystring", FIELD_QUERY, 6, 0, 0 },
    { "requestquery", FIELD_QUERY, 5, 0, 0 },
    { "querystr", FIELD_QUERY, 5, 0, 0 },
    { "query", FIELD_QUERY, 4, 0, 0 },

    { "requestprotocol", FIELD_PROTOCOL, 8, 0, 0 },
    { "clientrequestprotocol", FIELD_PROTOCOL, 8, 0, 0 },
    { "request.proto", FIELD_PROTOCOL, 8, 0, 0 },
    { "csprotocolversion", FIELD_PROTOCOL, 8, 0, 0 },
    { "serverprotocol", FIELD_PROTOCOL, 7, 0, 0 },
    { "csversion", FIELD_PROTOCOL, 7, 0, 0 },
    { "protocol", FIELD_PROTOCOL, 5, 0, 0 },
    { "http.version", FIELD_PROTOCOL, 4, 0, 0 },
    { "httpversion", FIELD_PROTOCOL, 4, 0, 0 },
    { "proto", FIELD_PROTOCOL, 4, 0, 0 },

    { "status", FIELD_STATUS, 8, 0, 0 },
    { "edgeresponsestatus", FIELD_STATUS, 8, 0, 0 },
    { "downstreamstatus", FIELD_STATUS, 8, 0, 0 },
    { "http.response.statuscode", FIELD_STATUS, 8, 0, 0 },
    { "res.statuscode", FIELD_STATUS, 8, 0, 0 },
    { "scstatus", FIELD_STATUS, 8, 0, 0 },
    { "response.status", FIELD_STATUS, 7, 0, 0 },
    { "http.statuscode", FIELD_STATUS, 7, 0, 0 },
    { "res.status", FIELD_STATUS, 7, 0, 0 },
    { "statuscode", FIELD_STATUS, 6, 0, 0 },
    { "responsestatus", FIELD_STATUS, 6, 0, 0 },
    { "httpstatus", FIELD_STATUS, 6, 0, 0 },
    { "httpstatuscode", FIELD_STATUS, 6, 0, 0 },
    { "responsecode", FIELD_STATUS, 6, 0, 0 },
    { "responsestatuscode", FIELD_STATUS, 6, 0, 0 },
    { "response", FIELD_STATUS, 4, 0, 0 },
    { "code", FIELD_STATUS, 3, 0, 0 },

    { "bodybytessent", FIELD_BYTES, 8, 0, 0 },
    { "edgeresponsebytes", FIELD_BYTES, 8, 0, 0 },
    { "downstreamcontentsize", FIELD_BYTES, 8, 0, 0 },
    { "http.response.body.bytes", FIELD_BYTES, 8, 0, 0 },
    { "scbytes", FIELD_BYTES, 8, 0, 0 },
    { "bytessent", FIELD_BYTES, 7, 0, 0 },
    { "bodybytes", FIELD_BYTES, 7, 0, 0 },
    { "http.response.bytes", FIELD_BYTES, 7, 0, 0 },
    { "network.byteswritten", FIELD_BYTES, 7, 0, 0 },
    { "size", FIELD_BYTES, 6, 0, 0 },
    { "bytesout", FIELD_BYTES, 6, 0, 0 },
    { "responsesize", FIELD_BYTES, 6, 0, 0 },
    { "responselength", FIELD_BYTES, 6, 0, 0 },
    { "responsebytes", FIELD_BYTES, 6, 0, 0 },
    { "responsebodysize", FIELD_BYTES, 6, 0, 0 },
    { "response.size", FIELD_BYTES, 6, 0, 0 },
    { "sentbytes", FIELD_BYTES, 6, 0, 0 },
    { "bytes", FIELD_BYTES, 5, 0, 0 },

    { "requesttime", FIELD_DURATION, 8, UNIT_S, 0 },
    { "event.duration", FIELD_DURATION, 8, UNIT_NS, 0 },
    { "latencyhuman", FIELD_DURATION, 8, UNIT_GUESS, 0 },
    { "reqtimemicrosec", FIELD_DURATION, 8, UNIT_US, 0 },
    { "requesttimems", FIELD_DURATION, 7, UNIT_MS, 0 },
    { "reqtime", FIELD_DURATION, 7, UNIT_S, 0 },
    { "durationns", FIELD_DURATION, 7, UNIT_NS, 0 },
    { "latencies.request", FIELD_DURATION, 7, UNIT_MS, 0 },
    { "durationus", FIELD_DURATION, 7, UNIT_US, 0 },
    { "durationms", FIELD_DURATION, 7, UNIT_MS, 0 },
    { "durations", FIELD_DURATION, 7, UNIT_S, 0 },
    { "elapsedms", FIELD_DURATION, 7, UNIT_MS, 0 },
    { "latencyms", FIELD_DURATION, 7, UNIT_MS, 0 },
    { "responsetimems", FIELD_DURATION, 7, UNIT_MS, 0 },
    { "timetaken", FIELD_DURATION, 7, UNIT_GUESS, 0 },
    { "timetakenms", FIELD_DURATION, 7, UNIT_MS, 0 },
    { "duration", FIELD_DURATION, 6, UNIT_GUESS, 0 },
    { "responsetime", FIELD_DURATION, 6, UNIT_GUESS, 0 },
    { "elapsed", FIELD_DURATION, 5, UNIT_GUESS, 0 },
    { "elapsedtime", FIELD_DURATION, 5, UNIT_GUESS, 0 },
    { "latency", FIELD_DURATION, 5, UNIT_GUESS, 0 },
    { "took", FIELD_DURATION, 4, UNIT_GUESS, 0 },
    { "apptime", FIELD_DURATION, 4, UNIT_S, 0 },
    { "runtime", FIELD_DURATION, 3, UNIT_S, 0 },
    { "edgetimetofirstbytems", FIELD_DURATION, 3, UNIT_MS, 0 },
    { "upstreamresponsetime", FIELD_DURATION, 2, UNIT_S, 0 },

    { "upstreamcachestatus", FIELD_CACHE, 8, 0, 0 },
    { "cachecachestatus", FIELD_CACHE, 8, 0, 0 },
    { "xedgeresulttype", FIELD_CACHE, 8, 0, 0 },
    { "cachestatus", FIELD_CACHE, 7, 0, 0 },
    { "proxycachestatus", FIELD_CACHE, 6, 0, 0 },
    { "xcache", FIELD_CACHE, 6, 0, 0 },
    { "responsestate", FIELD_CACHE, 5, 0, 0 },
    { "cache", FIELD_CACHE, 6, 0, 0 },
    { "xedgeresponseresulttype", FIELD_CACHE, 3, 0, 0 },

    { "drosselverdict", FIELD_VERDICT, 8, 0, 0 },
    { "verdict", FIELD_VERDICT, 6, 0, 0 },
    { "logger", FIELD_LOGGER, 6, 0, 0 },
    { "msg", FIELD_MESSAGE, 6, 0, 0 },
    { "message", FIELD_MESSAGE, 5, 0, 0 },
    { "level", FIELD_LEVEL, 6, 0, 0 },

    { "request.host", FIELD_HOST, 8, 0, 0 },
    { "clientrequesthost", FIELD_HOST, 8, 0, 0 },
    { "xhostheader", FIELD_HOST, 8, 0, 0 },
    { "httphost", FIELD_HOST, 7, 0, 0 },
    { "requesthost", FIELD_HOST, 7, 0, 0 },
    { "authority", FIELD_HOST, 7, 0, 0 },
    { "vhost", FIELD_HOST, 6, 0, 0 },
    { "virtualhost", FIELD_HOST, 6, 0, 0 },
    { "url.domain", FIELD_HOST, 6, 0, 0 },
    { "host", FIELD_HOST, 5, 0, 0 },
    { "cshost", FIELD_HOST, 5, 0, 0 },
    { "servername", FIELD_HOST, 4, 0, 0 },
    { "requestaddr", FIELD_HOST, 4, 0, 0 },
    { "domain", FIELD_HOST, 4, 0, 0 },
    { "reqhost", FIELD_HOST, 5, 0, 0 },

    { "httpuseragent", FIELD_AGENT, 8, 0, 0 },
    { "clientrequestuseragent", FIELD_AGENT, 8, 0, 0 },
    { "useragent.original", FIELD_AGENT, 8, 0, 0 },
    { "requestuseragent", FIELD_AGENT, 8, 0, 0 },
    { "csuseragent", FIELD_AGENT, 8, 0, 0 },
    { "http.useragent", FIELD_AGENT, 8, 0, 0 },
    { "useragent", FIELD_AGENT, 7, 0, 0 },
    { "ua", FIELD_AGENT, 5, 0, 0 },
    { "agent", FIELD_AGENT, 4, 0, 0 },

    { "httpreferer", FIELD_REFERER, 8, 0, 0 },
    { "httpreferrer", FIELD_REFERER, 8, 0, 0 },
    { "clientrequestreferer", FIELD_REFERER, 8, 0, 0 },
    { "http.request.referrer", FIELD_REFERER, 8, 0, 0 },
    { "requestreferer", FIELD_REFERER, 8, 0, 0 },
    { "csreferer", FIELD_REFERER, 8, 0, 0 },
    { "csreferrer", FIELD_REFERER, 8, 0, 0 },
    { "referer", FIELD_REFERER, 7, 0, 0 },
    { "referrer", FIELD_REFERER, 7, 0, 0 },

    { "httpxforwardedfor", FIELD_FORWARDED, 8, 0, 0 },
    { "requestxforwardedfor", FIELD_FORWARDED, 8, 0, 0 },
    { "csxforwardedfor", FIELD_FORWARDED, 8, 0, 0 },
    { "xforwardedfor", FIELD_FORWARDED, 8, 0, 0 },
    { "forwardedfor", FIELD_FORWARDED, 7, 0, 0 },
    { "xff", FIELD_FORWARDED, 6, 0, 0 },
    { "sxff", FIELD_FORWARDED, 6, 0, 0 },
    { "proxyaddxforwardedfor", FIELD_FORWARDED, 5, 0, 0 },

    { "httpcookie", FIELD_COOKIE, 8, 0, 0 },
    { "requestcookie", FIELD_COOKIE, 8, 0, 0 },
    { "cscookie", FIELD_COOKIE, 8, 0, 0 },
    { "cookie", FIELD_COOKIE, 6, 0, 0 },
};

size_t log_name_fold(struct drossel_text name, char out[LOG_NAME_MOST])
{
    size_t size = 0;
    for (size_t i = 0; i < name.size && size < LOG_NAME_MOST; i++) {
        char c = name.data[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c | 0x20);
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.')
            out[size++] = c;
    }
    return size;
}

/* The size and up to eight bytes at either end tell names apart; nobody chooses them to collide within one table of ours. */
static size_t place_of(struct drossel_text name)
{
    uint64_t first = 0, last = 0;
    size_t size = name.size < sizeof first ? name.size : sizeof first;
    memcpy(&first, name.data, size);
    memcpy(&last, name.data + name.size - size, size);
    uint64_t hash = (first ^ (last << 7 | last >> 57) ^ name.size) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) % LOG_NAMES_CAP;
}

static bool is_named(const struct log_name *slot, struct drossel_text name)
{
    return slot->size == name.size && memcmp(slot->name, name.data, name.size) == 0;
}

void log_names_add(struct log_names *names, struct log_name name)
{
    struct drossel_text text = { name.name, strlen(name.name) };
    if (names->count + 1 >= LOG_NAMES_CAP || text.size == 0 || text.size >= LOG_NAME_MOST)
        return;
    name.size = (uint8_t)text.size;
    size_t at = place_of(text);
    while (names->slot[at].name != NULL && !is_named(&names->slot[at], text))
        at = (at + 1) % LOG_NAMES_CAP;
    names->count += names->slot[at].name == NULL;
    names->slot[at] = name;
}

const struct log_name *log_names_find(const struct log_names *names, struct drossel_text folded)
{
    if (folded.size == 0 || folded.size >= LOG_NAME_MOST)
        return NULL;
    for (size_t at = place_of(folded); names->slot[at].name != NULL; at = (at + 1) % LOG_NAMES_CAP)
        if (is_named(&names->slot[at], folded))
            return &names->slot[at];
    return NULL;
}

void log_names_clear(struct log_names *names)
{
    memset(names, 0, sizeof *names);
}

static struct log_names shared;

static void make_shared(void)
{
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        log_names_add(&shared, common[i]);
}

/* Made once, as recognition asks for it with each line. */
const struct log_names *log_names_common(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_shared);
    return &shared;
}

void log_names_default(struct log_names *names, struct log_name name)
{
    const struct log_name *known = log_names_find(names, (struct drossel_text){ name.name, strlen(name.name) });
    if (known == NULL || known->rank < LOG_RANK_CERTAIN)
        log_names_add(names, name);
}
