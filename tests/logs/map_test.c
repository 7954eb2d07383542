/* The operator's own names for what a log says: what may be written, and what is told of a mistake. */
#include "files.h"

#include "logs/fields.h"
#include "logs/logs.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define X32 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void a_map_gives_names_a_field_and_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *map, *name;
        enum log_field field;
        enum log_unit unit;
    } table[] = {
        { "time=ts", "ts", FIELD_TIME, UNIT_GUESS },
        { "duration=took", "took", FIELD_DURATION, UNIT_GUESS },
        { "duration=took:s", "took", FIELD_DURATION, UNIT_S },
        { "duration=took:ms", "took", FIELD_DURATION, UNIT_MS },
        { "duration=took:us", "took", FIELD_DURATION, UNIT_US },
        { " ,time=ts, ,duration=t.o_o:k:ns", "t.ook", FIELD_DURATION, UNIT_NS },
        { "host=:authority", "authority", FIELD_HOST, UNIT_GUESS },
        { "duration=:ms", "ms", FIELD_DURATION, UNIT_GUESS },
        { "path=a,target=a", "a", FIELD_TARGET, UNIT_GUESS },
        { "time=ts,time=when", "when", FIELD_TIME, UNIT_GUESS },
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        static struct log_names names;
        char error[600] = "";
        log_names_clear(&names);
        if (!log_names_map(&names, table[i].map, error, sizeof error))
            fail_msg("%s", error);
        const struct log_name *found =
            log_names_find(&names, (struct drossel_text){ table[i].name, strlen(table[i].name) });
        if (found == NULL || found->field != table[i].field || found->unit != table[i].unit)
            fail_msg("%s does not name %s", table[i].map, table[i].name);
    }
}

static const struct {
    const char *map, *entry, *remedy;
} mistakes[] = {
    { "duration=took:h", "\"duration=took:h\"", "write s, ms, us or ns" },
    { "duration=took:", "\"duration=took:\"", "write s, ms, us or ns" },
    { "duration=took:MS", "\"duration=took:MS\"", "write s, ms, us or ns" },
    { "client=ip,duration=took:ms:h", "\"duration=took:ms:h\"", "write s, ms, us or ns" },
    { "time=ts:ms", "\"time=ts:ms\"", "only a duration has a unit" },
    { "client=ip:h", "\"client=ip:h\"", "only a duration has a unit" },
    { "time", "\"time\"", "write FIELD=NAME" },
    { "time=ts,client", "\"client\"", "write FIELD=NAME" },
    { "when=ts", "\"when=ts\"", "one of time, date, client" },
    { "TIME=ts", "\"TIME=ts\"", "one of time, date, client" },
    { "=ts", "\"=ts\"", "one of time, date, client" },
    { "time=", "\"time=\"", "a name with letters or digits" },
    { "time=-_-", "\"time=-_-\"", "a name with letters or digits" },
    { "time=ts;client=ip", "\"time=ts;client=ip\"", "a comma between two entries" },
    { "client=ip,user=IP", "\"user=IP\"", "map each name once" },
    { "duration=t:s,duration=t:ms", "\"duration=t:ms\"", "map each name once" },
    { "time=" X32 X32 X32, "\"time=" X32 X32, "at most 95" },
    { "", "\"\"", "write FIELD=NAME" },
    { " , ", "\"\"", "write FIELD=NAME" },
};

static void a_mistake_names_its_entry_and_what_would_be_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        char error[600] = "";
        if (logs_map_check(mistakes[i].map, error, sizeof error))
            fail_msg("%s is taken", mistakes[i].map);
        if (strncmp(error, "--map: ", 7) != 0 || strstr(error, mistakes[i].entry) == NULL ||
            strstr(error, mistakes[i].remedy) == NULL)
            fail_msg("%s: told %s", mistakes[i].map, error);
    }
}

static void as_many_names_as_there_is_room_for_and_no_more(void **state)
{
    (void)state;
    char map[2000] = "", error[600] = "";
    for (int i = 0; i < 64; i++)
        snprintf(map + strlen(map), sizeof map - strlen(map), "client=n%d,", i);
    assert_true(logs_map_check(map, error, sizeof error));
    strcat(map, "client=more");
    assert_false(logs_map_check(map, error, sizeof error));
    assert_non_null(strstr(error, "\"client=more\": too many names"));
    map[0] = '\0';
    for (int i = 0; i < 20; i++)
        snprintf(map + strlen(map), sizeof map - strlen(map), "client=" X32 X32 "%d,", i);
    assert_false(logs_map_check(map, error, sizeof error));
    assert_non_null(strstr(error, "too many names"));
}

/* A mistake in what a log of this format does not need would go unseen otherwise. */
static void a_mistake_is_told_whatever_the_format(void **state)
{
    (void)state;
    const char *path =
        file_of_text("access.log", "192.0.2.1 - - [10/Oct/2000:13:55:01 +0000] \"GET / HTTP/1.1\" 200 1\n");
    static const struct logs_options wrong = { .map = "duration=took:h" }, right = { .map = "duration=took:s" };
    char error[600] = "";
    assert_null(logs_open(&path, 1, &wrong, error, sizeof error));
    assert_non_null(strstr(error, "\"duration=took:h\""));
    struct logs *logs = logs_open(&path, 1, &right, error, sizeof error);
    assert_non_null(logs);
    logs_close(logs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_gives_names_a_field_and_a_unit),
        cmocka_unit_test(a_mistake_names_its_entry_and_what_would_be_right),
        cmocka_unit_test(as_many_names_as_there_is_room_for_and_no_more),
        cmocka_unit_test(a_mistake_is_told_whatever_the_format),
    };
    return cmocka_run_group_tests_name("map", tests, files_make, files_remove);
}
