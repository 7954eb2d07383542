/*
 * The findings as JSON.
 */
#include "cli/suggest_report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS_SHOWN 100
#define HITS_SHOWN 100
#define PLAIN_BYTES 512

/* Text from the log: as it is where it is UTF-8, else as prose_plain has it. */
static json_t *text_of(const char *text, size_t size)
{
    char plain[PLAIN_BYTES];
    json_t *value = json_stringn(text, size);
    return value != NULL ? value : json_string(prose_plain(text, size, plain, sizeof plain));
}

static json_t *count_of(uint64_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *time_of(uint64_t t_ns, bool is_known)
{
    char text[PROSE_COUNT];
    if (!is_known)
        return json_null();
    prose_time(t_ns, text);
    text[10] = 'T';
    return json_sprintf("%sZ", text);
}

static json_t *spread_json(const struct spread *spread)
{
    json_t *object = json_object();
    json_object_set_new(object, "clients", count_of(spread->clients));
    for (int i = 0; i < SPREAD_RANKS; i++)
        json_object_set_new(object, spread_rank_name[i], count_of(spread->rank[i]));
    return object;
}

static json_t *gap_json(const struct gap *gap)
{
    json_t *object = json_object();
    bool has_person = gap->person != NULL;
    json_object_set_new(object, "people_most", count_of(gap->people));
    json_object_set_new(object, "person",
                        has_person ? text_of(gap->person->name, gap->person->name_size) : json_null());
    json_object_set_new(object, "machines", count_of(gap->machines));
    json_object_set_new(object, "machines_above", count_of(gap->machines_above));
    json_object_set_new(object, "machine_least_above", gap->machine > 0 ? count_of(gap->machine) : json_null());
    json_object_set_new(object, "machine_most", count_of(gap->machine_most));
    return object;
}

static json_t *class_json(const struct findings *findings, int kind)
{
    json_t *object = json_object(), *windows = json_object();
    json_object_set_new(object, "requests", count_of(findings->profile->requests[kind]));
    for (int window = 0; window < PEAK_WINDOWS; window++) {
        json_t *one = json_object();
        for (int who = 0; who < CLIENT_KINDS; who++)
            json_object_set_new(one, client_kind_name[who], spread_json(&findings->spread[kind][window][who]));
        json_object_set_new(one, "all", spread_json(&findings->everyone[kind][window]));
        json_object_set_new(one, "gap", gap_json(&findings->gap[kind][window]));
        json_object_set_new(windows, peak_window_name[window], one);
    }
    json_object_set_new(object, "windows", windows);
    return object;
}

static json_t *client_json(const struct client *client)
{
    json_t *object = json_object();
    json_object_set_new(object, "key", text_of(client->name, client->name_size));
    json_object_set_new(object, "kind", json_string(client_kind_name[client->kind]));
    json_object_set_new(object, "why", json_string(client->why));
    json_object_set_new(object, "agent",
                        client->agent != NULL ? text_of(client->agent, strlen(client->agent)) : json_null());
    json_object_set_new(object, "agents", count_of(client->agent_count));
    json_object_set_new(object, "total", count_of(client_total(client, TRAFFIC_ALL)));
    json_object_set_new(object, "pages", count_of(client_total(client, TRAFFIC_PAGE)));
    json_object_set_new(object, "static", count_of(client_total(client, TRAFFIC_STATIC)));
    json_object_set_new(object, "max10", count_of(client_peak(client, TRAFFIC_ALL, PEAK_10S)));
    json_object_set_new(object, "max10_page", count_of(client_peak(client, TRAFFIC_PAGE, PEAK_10S)));
    json_object_set_new(object, "max10_static", count_of(client_peak(client, TRAFFIC_STATIC, PEAK_10S)));
    json_object_set_new(object, "max60", count_of(client_peak(client, TRAFFIC_ALL, PEAK_1MIN)));
    json_object_set_new(object, "max600", count_of(client_peak(client, TRAFFIC_ALL, PEAK_10MIN)));
    json_object_set_new(object, "logins", count_of(client_total(client, TRAFFIC_LOGIN)));
    json_object_set_new(object, "failed_logins", count_of(client_total(client, TRAFFIC_FAILURE)));
    json_object_set_new(object, "bot_lines", count_of(client->bot_lines));
    json_object_set_new(object, "no_ua", count_of(client->no_agent));
    return object;
}

static json_t *clients_json(const struct findings *findings, bool with_all)
{
    json_t *array = json_array();
    size_t count = findings->profile->count;
    if (!with_all && count > CLIENTS_SHOWN)
        count = CLIENTS_SHOWN;
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, client_json(findings->busiest[i]));
    return array;
}

static json_t *hits_json(const struct proposal *proposal)
{
    json_t *array = json_array();
    for (size_t i = 0; i < proposal->hits && i < HITS_SHOWN; i++) {
        const struct client *client = proposal->hit[i].client;
        json_t *object = json_object();
        json_object_set_new(object, "key", text_of(client->name, client->name_size));
        json_object_set_new(object, "kind", json_string(client_kind_name[client->kind]));
        json_object_set_new(object, "peak", count_of(proposal->hit[i].peak));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *limit_json(const struct proposal *proposal)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(proposal->name));
    json_object_set_new(object, "for", json_string(proposal->what));
    json_object_set_new(object, "by", json_string(proposal->by));
    json_object_set_new(object, "allow", json_string(proposal->allow));
    json_object_set_new(object, "reason", json_string(proposal->reason.text != NULL ? proposal->reason.text : ""));
    json_object_set_new(object, "clients_exceeding", count_of(proposal->hits));
    json_object_set_new(object, "exceeding", hits_json(proposal));
    return object;
}

static json_t *texts_json(const struct prose *text, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (text[i].text != NULL)
            json_array_append_new(array, json_string(text[i].text));
    return array;
}

static json_t *limits_json(const struct findings *findings)
{
    json_t *array = json_array();
    for (size_t i = 0; i < findings->proposals; i++)
        json_array_append_new(array, limit_json(&findings->proposal[i]));
    return array;
}

static json_t *kinds_json(const struct findings *findings)
{
    json_t *object = json_object();
    for (int kind = 0; kind < CLIENT_KINDS; kind++)
        json_object_set_new(object, client_kind_name[kind], count_of(findings->clients[kind]));
    return object;
}

bool report_json(const struct findings *findings, bool with_all, FILE *out)
{
    const struct profile *profile = findings->profile;
    json_t *object = json_object(), *classes = json_object();
    struct prose policy = { 0 };
    for (int kind = 0; kind < TRAFFIC_KINDS; kind++)
        json_object_set_new(classes, traffic_name[kind], class_json(findings, kind));
    policy_write(findings, &policy);
    json_object_set_new(object, "format", json_string(findings->format));
    json_object_set_new(object, "requests", count_of(profile->records));
    json_object_set_new(object, "unparsed", count_of(findings->facts->unparsed));
    json_object_set_new(object, "first", time_of(profile->first_ns, profile->records > 0));
    json_object_set_new(object, "last", time_of(profile->last_ns, profile->records > 0));
    json_object_set_new(object, "complete", json_boolean(!findings->is_part));
    json_object_set_new(object, "proxy", findings->proxy != NULL ? json_string(findings->proxy) : json_null());
    json_object_set_new(object, "client_count", count_of(profile->count));
    json_object_set_new(object, "kinds", kinds_json(findings));
    json_object_set_new(object, "classes", classes);
    json_object_set_new(object, "limits", limits_json(findings));
    json_object_set_new(object, "policy", json_string(policy.text != NULL ? policy.text : ""));
    json_object_set_new(object, "warnings", texts_json(findings->warning, findings->warnings));
    json_object_set_new(object, "clients", clients_json(findings, with_all));
    bool good = object != NULL && !policy.is_short &&
                json_dumpf(object, out, JSON_INDENT(1) | JSON_ENSURE_ASCII) == 0 && fputc('\n', out) != EOF;
    free(policy.text);
    json_decref(object);
    return good;
}
