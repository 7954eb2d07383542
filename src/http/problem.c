/* Problem details (RFC 9457) of the types that draft-ietf-httpapi-ratelimit-headers registers. */
#include "http/fields.h"

#include <string.h>

static const struct {
    const char *name, *title;
    uint16_t status;
} problems[] = {
    [HTTP_PROBLEM_QUOTA_EXCEEDED] = { "quota-exceeded", "Quota Exceeded", 429 },
    [HTTP_PROBLEM_REDUCED_CAPACITY] = { "temporary-reduced-capacity", "Temporary Reduced Capacity", 503 },
    [HTTP_PROBLEM_ABNORMAL_USAGE] = { "abnormal-usage-detected", "Abnormal Usage Detected", 429 },
    [HTTP_PROBLEM_BLANK] = { NULL, "Forbidden", 403 },
};

bool http_problem_parse(struct drossel_text name, enum http_problem_kind *kind)
{
    for (int i = HTTP_PROBLEM_QUOTA_EXCEEDED; i <= HTTP_PROBLEM_ABNORMAL_USAGE; i++) {
        if (strlen(problems[i].name) == name.size && memcmp(problems[i].name, name.data, name.size) == 0) {
            *kind = (enum http_problem_kind)i;
            return true;
        }
    }
    return false;
}

uint16_t http_problem_status(enum http_problem_kind kind)
{
    return problems[kind].status;
}

static void put_violated(struct http_writer *writer, const struct http_problem *problem)
{
    http_put_string(writer, ",\"violated-policies\":[");
    for (size_t i = 0; i < problem->violated_count; i++) {
        http_put_string(writer, i == 0 ? "\"" : ",\"");
        http_put_json(writer, problem->violated[i]);
        http_put(writer, "\"", 1);
    }
    http_put(writer, "]", 1);
}

void http_problem_format(const struct http_problem *problem, struct http_writer *writer)
{
    const char *title = problems[problem->kind].title, *name = problems[problem->kind].name;
    http_put_string(writer, "{\"type\":\"");
    http_put_string(writer, name == NULL ? "about:blank" : "https://iana.org/assignments/http-problem-types#");
    http_put_string(writer, name == NULL ? "" : name);
    http_put_string(writer, "\",\"title\":\"");
    http_put_json(writer, problem->title.size > 0 ? problem->title : (struct drossel_text){ title, strlen(title) });
    http_put(writer, "\"", 1);
    if (problem->status != 0) {
        http_put_string(writer, ",\"status\":");
        http_put_number(writer, problem->status);
    }
    if (problem->detail.size > 0) {
        http_put_string(writer, ",\"detail\":\"");
        http_put_json(writer, problem->detail);
        http_put(writer, "\"", 1);
    }
    if (problem->violated != NULL)
        put_violated(writer, problem);
    http_put(writer, "}", 1);
}
