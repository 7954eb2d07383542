/* Fields of multipart/form-data. */
#include "request/multipart.h"
#include "request/form.h"
#include "request/parameter.h"

#include <string.h>

enum { LINE_CRLF = 1, LINE_LF = 2 };

struct reader {
    struct drossel_text body;
    char delimiter[MULTIPART_BOUNDARY_MAX + 2];
    size_t delimiter_size;
    const struct body_search *search;
    unsigned line_ends; /* both kinds: readers disagree about where lines end */
};

/* What the headers of one part say; sources that it is a value of are bits. */
struct part {
    uint32_t sources;
    unsigned names;
    bool faulty;
    bool bytes; /* letters beyond ASCII are in a charset that we do not know */
};

/* ---- lines ---- */

/* The line at `at` of `text`, its folded continuations included if `folded`, without its end; *next is after that. */
static struct drossel_text line_at(struct reader *reader, struct drossel_text text, size_t at, bool folded,
                                   size_t *next)
{
    size_t end = at, size = 0;
    do {
        const char *feed = memchr(text.data + end, '\n', text.size - end);
        size_t stop = feed == NULL ? text.size : (size_t)(feed - text.data);
        bool crlf = feed != NULL && stop > end && text.data[stop - 1] == '\r';
        if (feed != NULL)
            reader->line_ends |= crlf ? LINE_CRLF : LINE_LF;
        size = stop - crlf - at;
        end = feed == NULL ? stop : stop + 1;
        folded = folded && size > 0;
    } while (folded && end < text.size && (text.data[end] == ' ' || text.data[end] == '\t'));
    *next = end;
    return (struct drossel_text){ text.data + at, size };
}

/* The next delimiter that begins a line, from `at` on; body.size if there is none.  Others find them elsewhere, too: anywhere (Django), before
 * the first part (Werkzeug), behind white space (Python's cgi) or a CR alone (Python's email).  Browsers choose delimiters that are in no value. */
static size_t find_delimiter(const struct reader *reader, size_t at)
{
    const struct drossel_text body = reader->body;
    while (at < body.size) {
        const char *found = memmem(body.data + at, body.size - at, reader->delimiter, reader->delimiter_size);
        if (found == NULL)
            return body.size;
        at = (size_t)(found - body.data);
        if (at == 0 || body.data[at - 1] == '\n')
            return at;
        reader->search->found->malformed = true;
        at++;
    }
    return body.size;
}

/* ---- one part ---- */

static void compare_name(struct drossel_text name, const struct body_search *search, struct part *part)
{
    for (uint32_t i = 0; i < search->sources->count; i++) {
        if (search->sources->source[i].kind != BODY_FORM)
            continue;
        enum form_name is = form_name_compare(name, search->sources->source[i].name);
        part->faulty |= is == FORM_NAME_ARRAY;
        if (is == FORM_NAME_SAME)
            part->sources |= UINT32_C(1) << i;
    }
}

static void read_name(struct drossel_text value, const struct body_search *search, struct part *part)
{
    char name[BODY_NAME_MAX], decoded[BODY_NAME_MAX];
    bool ignored = false;
    size_t size = parameter_unquote(value, name, sizeof name, &part->faulty);
    part->faulty |=
        value.size > 0 && memmem(value.data, value.size, "=?", 2) != NULL; /* an encoded word (Java's file upload) */
    if (size > sizeof name)
        size = sizeof name;
    part->names++;
    compare_name((struct drossel_text){ name, size }, search, part);
    if (memchr(name, '%', size) == NULL)
        return;
    size = form_decode((struct drossel_text){ name, size }, false, decoded, sizeof decoded, &ignored);
    compare_name((struct drossel_text){ decoded, size }, search, part);
}

static void read_disposition(struct drossel_text value, const struct body_search *search, struct part *part)
{
    struct drossel_text name, text, none = { NULL, 0 };
    const char *semicolon = value.size == 0 ? NULL : memchr(value.data, ';', value.size);
    struct drossel_text type = { value.data, semicolon == NULL ? value.size : (size_t)(semicolon - value.data) };
    part->faulty |= !parameter_is_plain(type, none);
    while (parameter_next(&value, &name, &text)) {
        part->faulty |= !parameter_is_plain(name, text);
        if (parameter_is(name, "name"))
            read_name(text, search, part);
        else if (name.size > 4 && name.data[4] == '*' && parameter_is((struct drossel_text){ name.data, 4 }, "name"))
            part->faulty = true;
    }
}

static void read_type(struct drossel_text value, struct part *part)
{
    struct drossel_text name, text;
    while (parameter_next(&value, &name, &text))
        if (parameter_is(name, "charset")) {
            part->faulty |= parameter_charset(text) == PARAMETER_CHARSET_OTHER;
            part->bytes |= parameter_charset(text) == PARAMETER_CHARSET_BYTES;
        }
}

static bool has_bare_return(struct drossel_text line)
{
    const char *at = line.data, *end = line.data + line.size;
    while ((at = memchr(at, '\r', (size_t)(end - at))) != NULL)
        if (++at == end || *at != '\n')
            return true;
    return false;
}

/* Others take a line with another name, one before white space too, for the begin of the value (Python's email). */
static bool is_plain_name(struct drossel_text name)
{
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] <= ' ' || (unsigned char)name.data[i] >= 0x7f)
            return false;
    return name.size > 0;
}

static void read_header(struct drossel_text line, const struct body_search *search, struct part *part)
{
    const char *colon = memchr(line.data, ':', line.size);
    if (colon == NULL || line.data[0] == ' ' || line.data[0] == '\t') {
        part->faulty = true;
        return;
    }
    size_t size = (size_t)(colon - line.data);
    struct drossel_text name = parameter_trim((struct drossel_text){ line.data, size });
    struct drossel_text value = parameter_trim((struct drossel_text){ colon + 1, line.size - size - 1 });
    part->faulty |= !is_plain_name((struct drossel_text){ line.data, size }) || has_bare_return(line);
    if (parameter_is(name, "content-disposition"))
        read_disposition(value, search, part);
    else if (parameter_is(name, "content-type"))
        read_type(value, part);
    else if (parameter_is(name, "content-transfer-encoding"))
        part->faulty |= !parameter_is(value, "8bit") && !parameter_is(value, "7bit") && !parameter_is(value, "binary");
}

/* A part without the line end before the next delimiter. */
static void read_part(struct reader *reader, struct drossel_text text)
{
    struct part part = { 0 };
    size_t at = 0, used = reader->search->found->used;
    bool ended = false;
    while (at < text.size && !ended) {
        struct drossel_text line = line_at(reader, text, at, true, &at);
        ended = line.size == 0;
        if (!ended)
            read_header(line, reader->search, &part);
    }
    for (uint32_t i = 0; i < reader->search->sources->count; i++)
        if (part.sources >> i & 1)
            body_copy(reader->search, i, (struct drossel_text){ text.data + at, text.size - at });
    if (part.bytes)
        body_doubt_letters(reader->search, used);
    reader->search->found->malformed |= part.faulty || part.names != 1 || !ended;
}

/* ---- the body ---- */

/* Reads what follows a delimiter on its line, from `at` on.  Is it the final one? */
static bool read_delimiter_end(struct reader *reader, size_t at, size_t *next)
{
    struct drossel_text line = line_at(reader, reader->body, at, false, next), rest = parameter_trim(line);
    bool final = rest.size >= 2 && memcmp(rest.data, "--", 2) == 0;
    bool apart = final && rest.data != line.data; /* `--b --` is the end for some, a line of the value for others */
    if (rest.size != (final ? 2u : 0u) || apart)
        reader->search->found->malformed = true;
    return final;
}

/* body[at, end) without a line end. */
static struct drossel_text without_line_end(struct reader *reader, size_t at, size_t end)
{
    struct drossel_text part = { reader->body.data + at, end - at };
    if (part.size == 0 || part.data[part.size - 1] != '\n')
        return part;
    part.size--;
    bool crlf = part.size > 0 && part.data[part.size - 1] == '\r';
    part.size -= crlf;
    reader->line_ends |= crlf ? LINE_CRLF : LINE_LF;
    return part;
}

static void read_parts(struct reader *reader)
{
    size_t end = reader->body.size, at = find_delimiter(reader, 0);
    bool final = false, any_final = false;
    reader->search->found->malformed |= at == end;
    while (at < end) {
        final = read_delimiter_end(reader, at + reader->delimiter_size, &at);
        size_t next = find_delimiter(reader, at);
        if (!final)
            read_part(reader, without_line_end(reader, at, next));
        reader->search->found->malformed |= any_final; /* parts after the end */
        any_final |= final;
        at = next;
    }
    reader->search->found->malformed |= !any_final || reader->line_ends == (LINE_CRLF | LINE_LF);
}

void multipart_fields(struct drossel_text body, struct drossel_text boundary, const struct body_search *search)
{
    struct reader reader = { .body = body, .search = search, .delimiter = "--" };
    if (body.size == 0)
        return;
    if (boundary.size == 0 || boundary.size > MULTIPART_BOUNDARY_MAX) {
        search->found->malformed = true;
        return;
    }
    memcpy(reader.delimiter + 2, boundary.data, boundary.size);
    reader.delimiter_size = boundary.size + 2;
    read_parts(&reader);
}
