/* What can be opened as a log, what cannot and how that is told, and files that are not whole. */
#include "files.h"

#include <lzma.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include "logs/source.h"

#define TEXT_BYTES 300000

static const struct log_spooling no_progress = { NULL, NULL };

/* Text that packs badly enough that a third of the packed data is something. */
static char *make_text(void)
{
    char *text = malloc(TEXT_BYTES);
    uint64_t seed = 88172645463325252;
    assert_non_null(text);
    for (size_t i = 0; i < TEXT_BYTES; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        text[i] = i % 80 == 79 ? '\n' : (char)('a' + seed % 20);
    }
    return text;
}

struct packed {
    unsigned char data[TEXT_BYTES * 2];
    size_t size;
};

static void pack_gzip(struct packed *packed, const char *text, size_t size)
{
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)text,
                        .avail_in = (uInt)size,
                        .next_out = packed->data + packed->size,
                        .avail_out = (uInt)(sizeof packed->data - packed->size) };
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed->size += stream.total_out;
    deflateEnd(&stream);
}

static void pack_xz(struct packed *packed, const char *text, size_t size)
{
    size_t used = packed->size;
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)text, size, packed->data,
                                             &used, sizeof packed->data),
                     LZMA_OK);
    packed->size = used;
}

/* Opens, and expects the first `size` bytes of the text; `message`: a part of what is told, NULL: nothing. */
static void assert_source(const char *path, const char *text, size_t size, const char *message)
{
    struct log_source source;
    char error[1000];
    if (!source_open(&source, path, &no_progress, error, sizeof error))
        fail_msg("%s", error);
    assert_int_equal(source.size, size);
    if (size > 0)
        assert_memory_equal(source.data, text, size);
    if (message == NULL ? error[0] != '\0' : strstr(error, message) == NULL || strstr(error, path) == NULL)
        fail_msg("told: %s", error);
    source_close(&source);
}

static void assert_refused(const char *path, const char *message)
{
    struct log_source source;
    char error[1000];
    if (source_open(&source, path, &no_progress, error, sizeof error))
        fail_msg("%s is opened", path);
    if (strstr(error, message) == NULL || (strcmp(path, "-") != 0 && strstr(error, path) == NULL))
        fail_msg("told: %s", error);
}

static void plain_and_packed_files_give_the_same_text(void **state)
{
    (void)state;
    char *text = make_text();
    struct packed *gzip = calloc(1, sizeof *gzip), *xz = calloc(1, sizeof *xz);
    pack_gzip(gzip, text, TEXT_BYTES);
    pack_xz(xz, text, TEXT_BYTES);
    assert_source(file_of("plain", text, TEXT_BYTES), text, TEXT_BYTES, NULL);
    assert_source(file_of("x.gz", gzip->data, gzip->size), text, TEXT_BYTES, NULL);
    assert_source(file_of("x.xz", xz->data, xz->size), text, TEXT_BYTES, NULL);
    assert_source(file_of("misnamed.log", gzip->data, gzip->size), text, TEXT_BYTES, NULL);
    assert_source(file_of_text("misnamed.gz", "plain\n"), "plain\n", 6, NULL);
    assert_source(file_of("empty", "", 0), "", 0, NULL);
    assert_source(file_of("empty.gz", "", 0), "", 0, NULL);
    free(text);
    free(gzip);
    free(xz);
}

static void packed_files_behind_each_other_are_one(void **state)
{
    (void)state;
    char *text = make_text();
    struct packed *gzip = calloc(1, sizeof *gzip), *xz = calloc(1, sizeof *xz);
    for (size_t at = 0; at < TEXT_BYTES; at += TEXT_BYTES / 3) {
        pack_gzip(gzip, text + at, TEXT_BYTES / 3);
        pack_xz(xz, text + at, TEXT_BYTES / 3);
    }
    assert_source(file_of("many.gz", gzip->data, gzip->size), text, TEXT_BYTES, NULL);
    assert_source(file_of("many.xz", xz->data, xz->size), text, TEXT_BYTES, NULL);
    gzip->size += 512; /* zeros, as from a tape */
    assert_source(file_of("zeros.gz", gzip->data, gzip->size), text, TEXT_BYTES, NULL);
    gzip->data[gzip->size++] = 'x';
    assert_source(file_of("more.gz", gzip->data, gzip->size), text, TEXT_BYTES, "something else behind");
    free(text);
    free(gzip);
    free(xz);
}

/* What came before the damage is there, and it is told. */
static void assert_part(const char *path, const char *text, const char *message)
{
    struct log_source source;
    char error[1000];
    assert_true(source_open(&source, path, &no_progress, error, sizeof error));
    assert_true(source.size > TEXT_BYTES / 10 && source.size < TEXT_BYTES);
    assert_memory_equal(source.data, text, TEXT_BYTES / 10); /* bytes that are wrong may still unpack to something */
    if (strstr(error, message) == NULL || strstr(error, path) == NULL ||
        strstr(error, "what came before is used") == NULL)
        fail_msg("told: %s", error);
    source_close(&source);
}

static void damaged_files_are_used_up_to_the_damage(void **state)
{
    (void)state;
    char *text = make_text();
    struct packed *packed = calloc(1, sizeof *packed);
    pack_gzip(packed, text, TEXT_BYTES);
    assert_part(file_of("cut.gz", packed->data, packed->size / 2), text, "ends too early");
    memset(packed->data + packed->size / 2, 0xff, 64);
    assert_part(file_of("bad.gz", packed->data, packed->size), text, "is corrupt");
    packed->size = 0;
    for (size_t at = 0; at < TEXT_BYTES; at += TEXT_BYTES / 3)
        pack_xz(packed, text + at, TEXT_BYTES / 3);
    assert_part(file_of("cut.xz", packed->data, packed->size / 2), text, "ends too early");
    memset(packed->data + packed->size / 2, 0xff, 64);
    assert_part(file_of("bad.xz", packed->data, packed->size), text, "is corrupt");
    free(text);
    free(packed);
}

static void only_the_head_of_a_packed_file_is_no_text(void **state)
{
    (void)state;
    assert_source(file_of("head.gz", "\x1f\x8b", 2), "", 0, "ends too early");
    assert_source(file_of("head.xz",
                          "\xfd"
                          "7zXZ\0",
                          6),
                  "", 0, "ends too early");
    assert_source(file_of("odd.gz", "\x1f\x8bxxxxxxxxxxxxxxxxx", 19), "", 0, "corrupt");
}

static void what_cannot_be_read_is_told_with_the_way_out(void **state)
{
    (void)state;
    assert_refused("/nowhere/at/all.log", "No such file");
    assert_refused(files_folder, "is a folder");
    assert_refused(file_of("x.zst", "\x28\xb5\x2f\xfd....", 8), "zstd -dc");
    assert_refused(file_of("x.bz2", "BZh91AY", 7), "bzip2 -dc");
    assert_refused(file_of("x.zip", "PK\x03\x04....", 8), "unzip -p");
    assert_refused(file_of("x.log",
                           "\xff\xfe"
                           "1\0.\0",
                           6),
                   "iconv -f UTF-16");
    assert_refused(file_of("x.log", "\xfe\xff\0001\0.", 6), "is UTF-16");
}

static void a_file_without_permission_is_told(void **state)
{
    (void)state;
    const char *path = file_of_text("secret.log", "x\n");
    assert_int_equal(chmod(path, 0), 0);
    if (geteuid() == 0) { /* root reads everything */
        assert_source(path, "x\n", 2, NULL);
        return;
    }
    assert_refused(path, "permission denied; read it as root");
}

static void no_room_for_what_is_unpacked_is_told(void **state)
{
    (void)state;
    struct packed *packed = calloc(1, sizeof *packed);
    pack_gzip(packed, "text\n", 5);
    const char *path = file_of("x.gz", packed->data, packed->size);
    setenv("TMPDIR", "/nowhere/at/all", 1);
    assert_refused(path, "set TMPDIR");
    unsetenv("TMPDIR");
    free(packed);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    struct packed *packed = calloc(1, sizeof *packed);
    char *text = make_text();
    pack_gzip(packed, text, TEXT_BYTES);
    const char *path = file_of("x.gz", packed->data, packed->size);
    /* A limit on the size of files fails as a full disk does, but for the words. */
    struct rlimit before, small = { 100000, RLIM_INFINITY };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_refused(path, "no room");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    free(text);
    free(packed);
}

/* Standard input is what the test puts there. */
static void with_input(int fd)
{
    assert_true(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    close(fd);
}

static void standard_input_may_be_a_file_or_a_pipe_packed_or_not(void **state)
{
    (void)state;
    int kept = dup(STDIN_FILENO), ends[2];
    char *text = make_text();
    struct packed *packed = calloc(1, sizeof *packed);
    with_input(open(file_of("in.log", text, TEXT_BYTES), O_RDONLY));
    assert_source("-", text, TEXT_BYTES, NULL);
    /* read in part by somebody before: the rest is the log */
    with_input(open(file_of("in.log", text, TEXT_BYTES), O_RDONLY));
    assert_true(lseek(STDIN_FILENO, 1000, SEEK_SET) == 1000);
    assert_source("-", text + 1000, TEXT_BYTES - 1000, NULL);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, 5000), 5000);
    close(ends[1]);
    with_input(ends[0]);
    assert_source("-", text, 5000, NULL);
    pack_gzip(packed, text, 5000);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], packed->data, packed->size), packed->size);
    close(ends[1]);
    with_input(ends[0]);
    assert_source("-", text, 5000, NULL);
    assert_int_equal(pipe(ends), 0);
    close(ends[1]);
    with_input(ends[0]);
    assert_source("-", "", 0, NULL);
    if (kept >= 0)
        with_input(kept);
    free(text);
    free(packed);
}

/* What main saw: cmocka's own handler of SIGBUS would stand before the guard's. */
static struct {
    bool was_cut_before, is_cut, is_cut_again, is_text_kept;
    size_t size, zeros, kept;
} cut;

static void cut_off_while_it_is_read(void)
{
    struct log_source source;
    char error[1000], *text = make_text();
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    files_make(NULL);
    const char *path = file_of("shrinks.log", text, TEXT_BYTES);
    if (source_open(&source, path, &no_progress, error, sizeof error)) {
        cut.kept = 4 * page;
        cut.was_cut_before = source_is_cut(&source);
        bool good = truncate(path, (off_t)cut.kept) == 0;
        for (size_t i = 0; good && i < TEXT_BYTES; i++)
            cut.zeros += source.data[i] == '\0';
        cut.is_cut = source_is_cut(&source);
        cut.size = source.size;
        cut.is_text_kept = memcmp(source.data, text, source.size) == 0;
        cut.is_cut_again = source_is_cut(&source);
        source_close(&source);
    }
    free(text);
    files_remove(NULL);
}

static void a_file_that_is_cut_off_while_it_is_read_ends_there(void **state)
{
    (void)state;
    assert_false(cut.was_cut_before);
    assert_true(cut.is_cut);
    assert_int_equal(cut.size, cut.kept);
    assert_int_equal(cut.zeros, TEXT_BYTES - cut.kept);
    assert_true(cut.is_text_kept);
    assert_false(cut.is_cut_again);
}

static void more_files_than_can_be_guarded_are_read_all_the_same(void **state)
{
    (void)state;
    enum { MANY = 1100 };
    struct log_source *source = calloc(MANY, sizeof *source);
    char error[1000];
    const char *path = file_of_text("one.log", "one\n");
    for (size_t i = 0; i < MANY; i++) {
        if (!source_open(&source[i], path, &no_progress, error, sizeof error))
            fail_msg("%s", error);
        assert_int_equal(source[i].size, 4);
        assert_memory_equal(source[i].data, "one\n", 4);
    }
    assert_int_equal(source[0].watch >= 0, 1);
    assert_int_equal(source[MANY - 1].watch, -1);
    for (size_t i = 0; i < MANY; i++)
        source_close(&source[i]);
    free(source);
}

int main(void)
{
    cut_off_while_it_is_read();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_packed_files_give_the_same_text),
        cmocka_unit_test(packed_files_behind_each_other_are_one),
        cmocka_unit_test(damaged_files_are_used_up_to_the_damage),
        cmocka_unit_test(only_the_head_of_a_packed_file_is_no_text),
        cmocka_unit_test(what_cannot_be_read_is_told_with_the_way_out),
        cmocka_unit_test(a_file_without_permission_is_told),
        cmocka_unit_test(no_room_for_what_is_unpacked_is_told),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(standard_input_may_be_a_file_or_a_pipe_packed_or_not),
        cmocka_unit_test(a_file_that_is_cut_off_while_it_is_read_ends_there),
        cmocka_unit_test(more_files_than_can_be_guarded_are_read_all_the_same),
    };
    return cmocka_run_group_tests(tests, files_make, files_remove);
}
