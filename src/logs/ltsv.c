/*
 * LTSV: `label:value` between tabs, with the labels of ltsv.org, of nginx's variables, or of one's own (--map).
 */
#include "logs/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MOST 48 /* bytes of a label that is one */

/* Takes the next field.  False: the line is at its end; `label` of size 0: it is no field. */
static bool next_field(struct drossel_text *rest, struct drossel_text *label, struct drossel_text *value)
{
    if (rest->size == 0)
        return false;
    const char *tab = memchr(rest->data, '\t', rest->size);
    size_t size = tab == NULL ? rest->size : (size_t)(tab - rest->data);
    const char *colon = memchr(rest->data, ':', size);
    size_t label_size = colon == NULL ? 0 : (size_t)(colon - rest->data);
    *label = (struct drossel_text){ rest->data, label_size };
    *value = (struct drossel_text){ rest->data + label_size + 1, colon == NULL ? 0 : size - label_size - 1 };
    rest->data += size + (tab != NULL);
    rest->size -= size + (tab != NULL);
    return true;
}

static bool is_label(struct drossel_text label)
{
    if (label.size == 0 || label.size > LABEL_MOST)
        return false;
    for (size_t i = 0; i < label.size; i++) {
        char c = label.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '.' && c != '-' && c != '@')
            return false;
    }
    return true;
}

static void take(const struct log_names *names, struct drossel_text label, struct drossel_text value,
                 struct log_scratch *scratch, struct log_values *values)
{
    char folded[LOG_NAME_MOST];
    struct drossel_text header;
    const struct log_name *name = log_names_find(names, (struct drossel_text){ folded, log_name_fold(label, folded) });
    if (name != NULL && values->rank[name->field] < name->rank)
        log_values_set(values, name, log_unescaped(scratch, value));
    /* A proxy's field stays one beside the address of the connection. */
    if ((name == NULL || name->field == FIELD_CLIENT) && log_header_name(label, scratch, &header))
        log_values_header(values, header, log_unescaped(scratch, value));
}

static enum log_line read_values(const struct log_names *names, struct drossel_text line, struct log_scratch *scratch,
                                 struct log_record *record, struct log_values *values)
{
    struct drossel_text label, value;
    size_t fields = 0;
    memset(values, 0, sizeof *values);
    while (next_field(&line, &label, &value)) {
        if (!is_label(label))
            continue;
        fields++;
        take(names, label, value, scratch, values);
    }
    return fields < 2 ? LOG_UNPARSED : log_values_record(values, scratch, record);
}

static enum log_line parse(void *parser, struct drossel_text line, struct log_scratch *scratch,
                           struct log_record *record)
{
    struct log_values values;
    return read_values(parser, line, scratch, record, &values);
}

static bool find_time(void *parser, struct drossel_text line, uint64_t *t_ns, uint64_t *resolution_ns)
{
    struct log_scratch nowhere = { 0 };
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    struct log_values values;
    if (read_values(parser, line, &nowhere, &record, &values) != LOG_REQUEST)
        return false;
    *t_ns = record.t_ns;
    *resolution_ns = values.resolution_ns;
    return true;
}

static void *open_names(const char *map, char *error, size_t error_size)
{
    struct log_names *names = malloc(sizeof *names);
    if (names == NULL) {
        snprintf(error, error_size, "no memory");
        return NULL;
    }
    *names = *log_names_common();
    log_names_add(names, (struct log_name){ "host", FIELD_NEAR, 5, 0, 0 }); /* ltsv.org's name for the client */
    if (!log_names_map(names, map, error, error_size)) {
        free(names);
        return NULL;
    }
    return names;
}

static int recognise(struct drossel_text line)
{
    struct log_scratch nowhere = { 0 };
    struct log_record record = { .duration_ns = LOG_NO_DURATION };
    struct log_values values;
    struct drossel_text rest = line, label, value;
    size_t fields = 0;
    while (next_field(&rest, &label, &value)) {
        if (!is_label(label))
            return 0;
        fields++;
    }
    if (fields < 3)
        return 0;
    return read_values(log_names_common(), line, &nowhere, &record, &values) == LOG_REQUEST ? 90 : 10;
}

const struct log_format log_format_ltsv = {
    .name = "ltsv",
    .recognise = recognise,
    .open = open_names,
    .close = free,
    .time = find_time,
    .parse = parse,
};
