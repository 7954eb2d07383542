/* Which of its formats the status is told in. */
#include "status/status.h"

#include <string.h>

#include "http/answer.h"

bool status_choose(struct drossel_text name, struct drossel_text accept, enum status_format *format)
{
    static const char *const names[] = {
        [STATUS_JSON] = "json", [STATUS_PROMETHEUS] = "prometheus", [STATUS_PAGE] = "html"
    };
    /* Prometheus asks for OpenMetrics first and takes the older format gladly. */
    static const struct http_type types[] = {
        { "application", "json" }, { "application", "openmetrics-text" }, { "text", "plain" }, { "text", "html" }
    };
    static const enum status_format by_type[] = { STATUS_JSON, STATUS_PROMETHEUS, STATUS_PROMETHEUS, STATUS_PAGE };
    if (name.size == 0) {
        *format = by_type[http_accept_best(accept, types, sizeof types / sizeof *types)];
        return true;
    }
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (name.size == strlen(names[i]) && memcmp(name.data, names[i], name.size) == 0) {
            *format = (enum status_format)i;
            return true;
        }
    }
    return false;
}

const char *status_media_type(enum status_format format)
{
    static const char *const types[] = { [STATUS_JSON] = "application/json",
                                         [STATUS_PROMETHEUS] = "text/plain; version=0.0.4; charset=utf-8",
                                         [STATUS_PAGE] = "text/html; charset=utf-8" };
    return types[format];
}
