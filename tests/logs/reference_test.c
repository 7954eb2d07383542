/*
 * Real logs against the answers of an independent program (reference.py): the same records, clients and times.  Only where the environment
 * variable DROSSEL_LOGS names the folder that has them.
 */
#include "told.h"

#include <dirent.h>
#include <jansson.h>

#include "logs/logs.h"

#define PATH_BYTES 1000
#define CLIENTS_MOST 4096

static const char *folder;

/* What the file has of one client. */
struct client {
    char name[64];
    uint64_t total, first_ns, last_ns;
};

struct clients {
    struct client client[CLIENTS_MOST];
    size_t count;
};

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const struct client *)left)->name, ((const struct client *)right)->name);
}

static struct client *client_named(struct clients *clients, struct drossel_text name)
{
    for (size_t i = 0; i < clients->count; i++)
        if (strlen(clients->client[i].name) == name.size && memcmp(clients->client[i].name, name.data, name.size) == 0)
            return &clients->client[i];
    assert_true(clients->count < CLIENTS_MOST && name.size < sizeof clients->client[0].name);
    struct client *added = &clients->client[clients->count++];
    memcpy(added->name, name.data, name.size);
    added->name[name.size] = '\0';
    return added;
}

static void count_record(struct clients *clients, const struct log_record *record)
{
    struct client *client = client_named(clients, record->client);
    if (client->total++ == 0)
        client->first_ns = record->t_ns;
    assert_true(record->t_ns >= client->last_ns);
    client->last_ns = record->t_ns;
}

static uint64_t time_of(const char *text)
{
    struct log_stamp stamp;
    assert_true(log_stamp_iso((struct drossel_text){ text, strlen(text) }, &stamp));
    return stamp.t_ns;
}

/* perip.tsv: key, total, ..., first and last in columns 9 and 10. */
static void assert_clients(const char *name, struct clients *clients)
{
    char path[PATH_BYTES], line[1000];
    snprintf(path, sizeof path, "%s/reference/%s.perip.tsv", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    size_t count = 0;
    qsort(clients->client, clients->count, sizeof *clients->client, compare_names);
    for (; fgets(line, sizeof line, file) != NULL; count++) {
        const char *column[20];
        size_t columns = 0;
        for (char *rest = line, *word; columns < 20 && (word = strsep(&rest, "\t\n")) != NULL;)
            column[columns++] = word;
        assert_true(columns > 10);
        struct client wanted = { "", 0, 0, 0 };
        snprintf(wanted.name, sizeof wanted.name, "%s", column[0]);
        const struct client *found =
            bsearch(&wanted, clients->client, clients->count, sizeof *clients->client, compare_names);
        if (found == NULL)
            fail_msg("%s: no client %s", name, column[0]);
        assert_int_equal(found->total, strtoull(column[1], NULL, 10));
        assert_int_equal(found->first_ns, time_of(column[9]));
        assert_int_equal(found->last_ns, time_of(column[10]));
    }
    assert_int_equal(count, clients->count);
    fclose(file);
}

static uint64_t number_in(const json_t *answer, const char *name)
{
    assert_true(json_is_integer(json_object_get(answer, name)));
    return (uint64_t)json_integer_value(json_object_get(answer, name));
}

static void assert_answer(const char *name, const struct logs_facts *facts, size_t clients)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/reference/%s.json", folder, name);
    json_t *answer = json_load_file(path, 0, NULL);
    assert_non_null(answer);
    assert_int_equal(facts->records, number_in(answer, "events"));
    assert_int_equal(facts->unparsed, number_in(answer, "unparsed"));
    assert_int_equal(facts->out_of_order, number_in(answer, "out_of_order_lines"));
    assert_int_equal(clients, number_in(answer, "keys"));
    assert_int_equal(facts->first_ns, time_of(json_string_value(json_object_get(answer, "first"))));
    assert_int_equal(facts->last_ns, time_of(json_string_value(json_object_get(answer, "last"))));
    json_decref(answer);
}

static struct logs *open_log(const char *path, uint64_t memory)
{
    char error[2000];
    const struct logs_options options = { .memory = memory };
    struct logs *logs = logs_open(&path, 1, &options, error, sizeof error);
    if (logs == NULL)
        fail_msg("%s", error);
    return logs;
}

static void assert_log(const char *name, const char *format, uint64_t memory)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.log", folder, name);
    struct clients *clients = calloc(1, sizeof *clients);
    struct logs *logs = open_log(path, memory);
    struct log_record record;
    uint64_t previous = 0;
    while (logs_next(logs, &record)) {
        assert_true(record.t_ns >= previous);
        previous = record.t_ns;
        count_record(clients, &record);
    }
    assert_null(logs_error(logs));
    assert_string_equal(logs_file_format(logs, 0), format);
    assert_answer(name, logs_facts(logs), clients->count);
    assert_clients(name, clients);
    logs_close(logs);
    free(clients);
}

static void real_logs_have_the_records_that_the_oracle_finds(void **state)
{
    (void)state;
    static const char *const logs[][2] = {
        { "combined-apache-hackers-joinform-2015", "combined" },
        { "combined-apache-semicomplete-2015", "combined" },
        { "combined-nginx-l7flood-ddoser-2023", "combined" },
        { "combined-xff-nginx-zanbil-shop-2019", "combined_forwarded" },
        { "common-apache-farmwork-2024", "common" },
        { "vhost-apache-farmwork-2024", "vhost_combined" },
        { "haproxy-raravena-2012", "haproxy" },
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        assert_log(logs[i][0], logs[i][1], 0);
        assert_log(logs[i][0], logs[i][1], 4096);
    }
}

/* Every line is something, and the first that are nothing are kept. */
static size_t read_folder(const char *name)
{
    char path[PATH_BYTES];
    size_t files = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    DIR *listing = opendir(path);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (entry->d_type != DT_REG)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", folder, name, entry->d_name);
        struct logs *logs = open_log(path, 0);
        struct log_record record;
        while (logs_next(logs, &record))
            assert_true(record.line > 0 && record.t_ns > 0);
        const struct logs_facts *facts = logs_facts(logs);
        assert_int_equal(facts->lines, facts->records + facts->unparsed + facts->empty);
        assert_int_equal(facts->bad_count, facts->unparsed < LOGS_BAD_KEPT ? facts->unparsed : LOGS_BAD_KEPT);
        logs_close(logs);
        files++;
    }
    closedir(listing);
    return files;
}

static void every_sample_of_a_hundred_applications_is_read_or_counted(void **state)
{
    (void)state;
    assert_true(read_folder("suites/crowdsec") > 50);
    assert_true(read_folder("suites/logstash") > 0);
    assert_true(read_folder("caddy") > 0);
    assert_true(read_folder("json") > 0);
}

int main(void)
{
    folder = getenv("DROSSEL_LOGS");
    if (folder == NULL) {
        puts("1..1\nok 1 - real logs # SKIP DROSSEL_LOGS names no folder with real logs");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_logs_have_the_records_that_the_oracle_finds),
        cmocka_unit_test(every_sample_of_a_hundred_applications_is_read_or_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
