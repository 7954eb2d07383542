/*
 * Other people's logs, which are no part of the project: DROSSEL_LOGS names their folder.  Every file is read, no line of any is lost,
 * and of those that are access logs every line is a request but for those that are none.
 */
#include "told.h"

#include <ftw.h>

#include "logs/logs.h"

#define COUNT(table) (sizeof table / sizeof *table)
#define EARLIEST_NS (UINT64_C(631152000) * 1000000000) /* 1990 */
#define LATEST_NS (UINT64_C(2208988800) * 1000000000)  /* 2040 */

/* Lines that are no requests: a server's own errors in between, or samples that were cut. */
static const struct access_log {
    const char *name, *format;
    uint64_t unparsed;
    bool without_client;
} access_logs[] = {
    { "alp-combined_access.log", "combined_forwarded", 0, false },
    { "alp-ltsv_access.log", "ltsv", 0, true },
    { "alp-json_access.log", "json", 0, true },
    { "lnav-cloudflare.1.log", "json", 0, false },
    { "lnav-cloudflare.json.log", "json", 0, false },
    { "lnav-caddy_log.0.log", "caddy", 0, false },
    { "lnav-caddy_log.1.log", "caddy", 0, false },
    { "caddy-logs.log", "caddy", 0, false },
    { "caddy-basic-auth-bf.log", "caddy", 0, false },
    { "traefik_json.log", "traefik", 1, false }, /* a plugin's debug line */
    { "traefik_clf.log", "traefik_clf", 0, false },
    { "traefik_base-http-scenario.log", "traefik", 0, false },
    { "aws-alb-logs.log", "alb", 0, false },
    { "aws-alb-http-bad-user-agent.log", "alb", 0, false },
    { "aws-cloudfront-logs.log", "cloudfront", 0, false },
    { "aws.log", "elb", 2, false }, /* of five formats; one line is cut, one of CloudFront's has no head */
    { "envoy-logs.log", "json", 0, false },
    { "envoy-http-bad-user-agent.log", "json", 0, false },
    { "envoy-http-crawl-non_statics.log", "json", 0, false },
    { "nginx-proxy-manager-logs.log", "npm", 2, false }, /* of nginx's error log */
    { "nginx-proxy-manager-malformed.log", "combined", 0, false },
    { "npmplus-logs.log", "npmplus", 2, false }, /* of nginx's error log */
    { "nginx_http-catch-npm.log", "npmplus", 0, false },
    { "zoraxy-http-logs.log", "zoraxy", 0, false },
    { "zoraxy-http-bad-user-agent.log", "zoraxy", 0, false },
    { "litespeed-http-sensitive-files.log", "combined", 0, false },
    { "bunkerweb-logs.log", "vhost_combined", 0, false },
    { "bunkerweb-bad-user-agent.log", "vhost_combined", 0, false },
    { "bunkerweb-http-malformed.log", "vhost_combined", 0, false },
    { "gitlab-bf.log", "json", 0, false },
    { "apache2-malformed.log", "combined", 0, false },
    { "nginx-http-malformed.log", "combined", 0, false },
    { "nginx-http-xss-probing.log", "combined", 0, false },
    { "nginx-http-sqli-probing.log", "combined", 0, false },
    { "http-dos-bypass-cache.log", "combined", 0, false },
    { "jellyfin-whitelist.log", "combined", 0, false },
    { "combined-apache-semicomplete-2015.log", "combined", 0, false },
    { "combined-nginx-l7flood-ddoser-2023.log", "combined", 0, false },
    { "haproxy-raravena-2012.log", "haproxy", 0, false },
};

static bool was_read[COUNT(access_logs)];

static const struct access_log *known(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; i < COUNT(access_logs); i++)
        if (strcmp(name, access_logs[i].name) == 0) {
            was_read[i] = true;
            return &access_logs[i];
        }
    return NULL;
}

static bool is_address(struct drossel_text text)
{
    struct drossel_address address;
    return drossel_address_parse(text.data, text.size, &address) == DROSSEL_OK;
}

static void assert_plausible(const char *path, const struct log_record *record, bool without_client)
{
    unsigned long long line = (unsigned long long)record->line;
    if (record->t_ns < EARLIEST_NS || record->t_ns > LATEST_NS)
        fail_msg("%s:%llu: of no time", path, line);
    if (!without_client && !is_address(record->client))
        fail_msg("%s:%llu: the client is %.*s", path, line, (int)record->client.size, record->client.data);
    if (record->method.size > 20 || (record->target.size > 0 && record->method.size == 0))
        fail_msg("%s:%llu: the method is %.*s", path, line, (int)record->method.size, record->method.data);
    if (record->protocol.size > 0 && memchr(record->protocol.data, ' ', record->protocol.size) != NULL)
        fail_msg("%s:%llu: the protocol is %.*s", path, line, (int)record->protocol.size, record->protocol.data);
}

static struct logs *opened(const char *const *path, enum logs_order order)
{
    char error[1000];
    struct logs *logs = logs_open(path, 1, &(struct logs_options){ .order = order }, error, sizeof error);
    if (logs == NULL)
        fail_msg("%s cannot be opened: %s", *path, error);
    return logs;
}

/* In the order of the file, and in that of time: the same lines are requests. */
static void read_whole(const char *path)
{
    const struct access_log *log = known(path);
    struct logs_facts facts[2];
    struct log_record record;
    for (size_t i = 0; i < 2; i++) {
        struct logs *logs = opened(&path, i == 0 ? LOGS_AS_FILED : LOGS_BY_TIME);
        uint64_t records = 0;
        for (; logs_next(logs, &record); records++)
            if (log != NULL)
                assert_plausible(path, &record, log->without_client);
        if (logs_error(logs) != NULL)
            fail_msg("%s: %s", path, logs_error(logs));
        facts[i] = *logs_facts(logs);
        if (records != facts[i].records || facts[i].lines != facts[i].records + facts[i].unparsed + facts[i].empty)
            fail_msg("%s: %llu records of %llu lines", path, (unsigned long long)records,
                     (unsigned long long)facts[i].lines);
        if (log != NULL && strcmp(logs_file_format(logs, 0), log->format) != 0)
            fail_msg("%s is taken for %s", path, logs_file_format(logs, 0));
        logs_close(logs);
    }
    if (facts[0].records != facts[1].records || facts[0].unparsed != facts[1].unparsed)
        fail_msg("%s: other requests by time than as filed", path);
    if (log != NULL && (facts[0].unparsed != log->unparsed || facts[0].records == 0))
        fail_msg("%s: %llu of %llu lines are no requests", path, (unsigned long long)facts[0].unparsed,
                 (unsigned long long)facts[0].lines);
}

static int visit(const char *path, const struct stat *about, int kind)
{
    (void)about;
    size_t size = strlen(path);
    if (kind == FTW_F && size > 4 && strcmp(path + size - 4, ".log") == 0)
        read_whole(path);
    return 0;
}

static void no_line_of_a_real_log_is_lost(void **state)
{
    (void)state;
    const char *folder = getenv("DROSSEL_LOGS");
    assert_int_equal(ftw(folder, visit, 16), 0);
    for (size_t i = 0; i < COUNT(access_logs); i++)
        if (!was_read[i])
            fail_msg("%s is not in %s", access_logs[i].name, folder);
}

int main(void)
{
    if (getenv("DROSSEL_LOGS") == NULL) {
        puts("1..1\nok 1 - real logs # SKIP DROSSEL_LOGS names no folder with real logs");
        return 0;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_line_of_a_real_log_is_lost) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
