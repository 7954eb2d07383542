/* The operator's own names: `--map time=ts,client=req.ip,duration=took:ms`. */
#include "logs/fields.h"
#include "logs/logs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MOST 64
#define SHOWN_MOST 80 /* bytes of a wrong entry in its message */

/* What may stand before the `=`. */
static const struct log_name mapped[] = {
    { "time", FIELD_TIME, 0, 0, 0 },           { "date", FIELD_DATE, 0, 0, 0 },
    { "client", FIELD_CLIENT, 0, 0, 0 },       { "user", FIELD_USER, 0, 0, 0 },
    { "request", FIELD_REQUEST, 0, 0, 0 },     { "method", FIELD_METHOD, 0, 0, 0 },
    { "target", FIELD_TARGET, 0, 0, 0 },       { "uri", FIELD_TARGET, 0, 0, 0 },
    { "path", FIELD_TARGET, 0, 0, 0 },         { "query", FIELD_QUERY, 0, 0, 0 },
    { "protocol", FIELD_PROTOCOL, 0, 0, 0 },   { "status", FIELD_STATUS, 0, 0, 0 },
    { "bytes", FIELD_BYTES, 0, 0, 0 },         { "duration", FIELD_DURATION, 0, 0, 0 },
    { "cache", FIELD_CACHE, 0, 0, 0 },         { "verdict", FIELD_VERDICT, 0, 0, 0 },
    { "host", FIELD_HOST, 0, 0, 0 },           { "agent", FIELD_AGENT, 0, 0, 0 },
    { "referer", FIELD_REFERER, 0, 0, 0 },     { "cookie", FIELD_COOKIE, 0, 0, 0 },
    { "forwarded", FIELD_FORWARDED, 0, 0, 0 },
};

/* What is read of a map, and where its messages go. */
struct map {
    struct log_names *names;
    size_t used, count; /* bytes of names->map, and entries */
    struct drossel_text entry;
    char *error;
    size_t error_size;
};

static bool refuse(struct map *map, const char *reason)
{
    int shown = (int)(map->entry.size < SHOWN_MOST ? map->entry.size : SHOWN_MOST);
    snprintf(map->error, map->error_size, "--map: \"%.*s\": %s", shown, map->entry.data, reason);
    return false;
}

static const struct log_name *mapped_field(struct drossel_text field)
{
    for (size_t i = 0; i < sizeof mapped / sizeof *mapped; i++)
        if (strlen(mapped[i].name) == field.size && memcmp(mapped[i].name, field.data, field.size) == 0)
            return &mapped[i];
    return NULL;
}

static enum log_unit unit_of(struct drossel_text text)
{
    static const struct {
        const char *text;
        enum log_unit unit;
    } units[] = {
        { "s", UNIT_S },
        { "ms", UNIT_MS },
        { "us", UNIT_US },
        { "ns", UNIT_NS },
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].text) == text.size && memcmp(units[i].text, text.data, text.size) == 0)
            return units[i].unit;
    return UNIT_GUESS;
}

/* Cuts `:ms` off.  A colon at the beginning is the name's own, as in `:authority`. */
static bool take_unit(struct map *map, enum log_field field, struct drossel_text *name, enum log_unit *unit)
{
    const char *colon = memrchr(name->data, ':', name->size), *end = name->data + name->size;
    if (colon == NULL || colon == name->data)
        return true;
    if (field != FIELD_DURATION)
        return refuse(
            map, "only a duration has a unit behind a colon; leave it out, and so the colon of a name, as names are "
                 "compared without them");
    *unit = unit_of((struct drossel_text){ colon + 1, (size_t)(end - colon - 1) });
    name->size = (size_t)(colon - name->data);
    return *unit != UNIT_GUESS ||
           refuse(map, "this unit is not known; write s, ms, us or ns behind the colon, as in duration=took:ms");
}

/* Enters the name with its meaning; folded it goes to names->map. */
static bool add_name(struct map *map, struct drossel_text name, struct log_name meaning)
{
    char folded[LOG_NAME_MOST], *kept = map->names->map + map->used;
    size_t size = log_name_fold(name, folded);
    if (size == 0)
        return refuse(map, "behind = a name with letters or digits is missing, as in time=ts");
    if (size == LOG_NAME_MOST)
        return refuse(map, "the name is too long; at most 95 letters and digits are read");
    if (++map->count > ENTRIES_MOST || size >= sizeof map->names->map - map->used)
        return refuse(map, "too many names; write at most 64, of 1000 letters together");
    const struct log_name *known = log_names_find(map->names, (struct drossel_text){ folded, size });
    bool is_mapped = known != NULL && known->rank == LOG_RANK_CERTAIN;
    if (is_mapped && (known->field != meaning.field || known->unit != meaning.unit))
        return refuse(map, "this name means something else already; map each name once");
    memcpy(kept, folded, size);
    kept[size] = '\0';
    map->used += size + 1;
    meaning.name = kept;
    log_names_add(map->names, meaning);
    return true;
}

static bool add_entry(struct map *map)
{
    struct drossel_text entry = map->entry;
    const char *equals = memchr(entry.data, '=', entry.size);
    if (equals == NULL)
        return refuse(map, "write FIELD=NAME, as in time=ts,client=ip");
    const struct log_name *field = mapped_field((struct drossel_text){ entry.data, (size_t)(equals - entry.data) });
    if (field == NULL)
        return refuse(
            map,
            "before = must stand one of time, date, client, user, request, method, target, query, protocol, status, "
            "bytes, duration, cache, verdict, host, agent, referer, cookie, forwarded");
    struct drossel_text name = { equals + 1, (size_t)(entry.data + entry.size - equals - 1) };
    if (memchr(name.data, '=', name.size) != NULL)
        return refuse(map, "= stands twice; write a comma between two entries");
    enum log_unit unit = UNIT_GUESS;
    struct log_name meaning = { .field = field->field, .rank = LOG_RANK_CERTAIN };
    if (!take_unit(map, (enum log_field)field->field, &name, &unit))
        return false;
    meaning.unit = (uint8_t)unit;
    return add_name(map, name, meaning);
}

bool log_names_map(struct log_names *names, const char *text, char *error, size_t error_size)
{
    struct map map = { .names = names, .error = error, .error_size = error_size };
    if (text == NULL)
        return true;
    for (text += strspn(text, ", "); *text != '\0'; text += strspn(text, ", ")) {
        map.entry = (struct drossel_text){ text, strcspn(text, ", ") };
        if (!add_entry(&map))
            return false;
        text += map.entry.size;
    }
    return map.count > 0 || refuse(&map, "nothing is mapped; write FIELD=NAME, as in time=ts,client=ip");
}

bool logs_map_check(const char *text, char *error, size_t error_size)
{
    struct log_names *names = calloc(1, sizeof *names);
    if (names == NULL) {
        snprintf(error, error_size, "no memory");
        return false;
    }
    bool good = log_names_map(names, text, error, error_size);
    free(names);
    return good;
}
