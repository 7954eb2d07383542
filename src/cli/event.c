/*
 * One event: as a question to the engine, as a copy that outlives its source, and its time as text.
 */
#include "cli/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

static bool has_cookie(struct drossel_text cookies, struct drossel_text name)
{
    for (size_t i = 0; i + name.size < cookies.size; i++) {
        bool begins = i == 0 || cookies.data[i - 1] == ' ' || cookies.data[i - 1] == ';';
        if (begins && cookies.data[i + name.size] == '=' && memcmp(cookies.data + i, name.data, name.size) == 0)
            return true;
    }
    return false;
}

static bool has_source(const struct drossel_request *request, const struct policy_source *source)
{
    static const struct drossel_text cookie = DROSSEL_TEXT("cookie");
    struct drossel_text value;
    if (source->kind == POLICY_FROM_HEADER)
        return request_header(request, source->name, 0, &value) && value.size > 0;
    return source->kind == POLICY_FROM_COOKIE && request_header(request, cookie, 0, &value) &&
           has_cookie(value, source->name);
}

/* Does the policy find an account in the headers before it would look at the user? */
static bool has_account(const struct policy *policy, const struct drossel_request *request)
{
    for (uint32_t i = 0; i < policy->account_from_count; i++) {
        if (policy->account_from[i].kind == POLICY_FROM_BASIC)
            return false;
        if (has_source(request, &policy->account_from[i]))
            return true;
    }
    return false;
}

void event_request(const struct event *event, const struct policy *policy, enum drossel_door door,
                   struct drossel_request *request)
{
    /* Field by field: compilers clear so much at once with `rep stos`, which takes longer to begin than these to end. */
    request->now_ns = event->t_ns;
    request->peer = event->peer;
    request->address = event->address;
    request->method = event->method;
    request->host = event->host;
    request->path = event->path;
    request->account = event->account;
    request->accounts = NULL;
    request->account_count = 0;
    request->is_account_unreadable = false;
    request->token = event->token;
    request->headers = event->headers;
    request->header_count = event->header_count;
    request->find_header = NULL;
    request->context = NULL;
    request->arrived_ns = 0;
    request->extra_cost = event->extra_cost;
    request->door = door;
    if (event->user.size > 0 && event->account.size == 0 && !has_account(policy, request))
        request->account = event->user;
}

const char *event_time(const struct event *event, char out[EVENT_TIME_TEXT])
{
    if (event->t_text != NULL)
        return event->t_text;
    time_t seconds = (time_t)(event->told_ns / NS_PER_S);
    unsigned nanoseconds = (unsigned)(event->told_ns % NS_PER_S);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t size = strftime(out, EVENT_TIME_TEXT, "\"%Y-%m-%dT%H:%M:%S", &parts);
    if (nanoseconds > 0) {
        size += (size_t)snprintf(out + size, EVENT_TIME_TEXT - size, ".%09u", nanoseconds);
        while (out[size - 1] == '0')
            size--;
    }
    snprintf(out + size, EVENT_TIME_TEXT - size, "Z\"");
    return out;
}

/* ---- a copy ---- */

/* Where the texts of a copy go; a pass without `at` only counts them. */
struct copying {
    char *at;
    size_t used;
};

static void copy_text(struct copying *copying, struct drossel_text *text)
{
    if (copying->at != NULL && text->size > 0) {
        memcpy(copying->at + copying->used, text->data, text->size);
        text->data = copying->at + copying->used;
    }
    copying->used += text->size;
}

static void copy_headers(struct copying *copying, const struct drossel_header *from, uint32_t count,
                         struct drossel_header *to)
{
    for (uint32_t i = 0; i < count; i++) {
        struct drossel_header header = from[i];
        copy_text(copying, &header.name);
        copy_text(copying, &header.value);
        if (to != NULL)
            to[i] = header;
    }
}

static void copy_texts(struct copying *copying, struct event *event)
{
    struct drossel_text *text[] = { &event->method, &event->host,      &event->path,   &event->account, &event->token,
                                    &event->agent,  &event->forwarded, &event->target, &event->raw,     &event->user };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        copy_text(copying, text[i]);
}

struct event *event_copy(const struct event *event)
{
    struct copying counting = { NULL, 0 };
    struct event scratch = *event;
    uint32_t of_request = event->header_count, of_answer = event->answer_header_count;
    size_t heads = ((size_t)of_request + of_answer) * sizeof(struct drossel_header);
    size_t t_size = event->t_text != NULL ? strlen(event->t_text) + 1 : 0;
    copy_texts(&counting, &scratch);
    copy_headers(&counting, event->headers, of_request, NULL);
    copy_headers(&counting, event->answer_headers, of_answer, NULL);
    struct event *copy = malloc(sizeof *copy + heads + counting.used + t_size);
    if (copy == NULL)
        return NULL;
    struct drossel_header *header = (struct drossel_header *)(void *)(copy + 1);
    struct copying writing = { (char *)(copy + 1) + heads, 0 };
    *copy = *event;
    copy->headers = header;
    copy->answer_headers = header + of_request;
    copy_texts(&writing, copy);
    copy_headers(&writing, event->headers, of_request, header);
    copy_headers(&writing, event->answer_headers, of_answer, header + of_request);
    if (t_size > 0)
        copy->t_text = memcpy(writing.at + writing.used, event->t_text, t_size);
    return copy;
}
