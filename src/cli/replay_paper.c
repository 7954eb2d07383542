/*
 * Drawing for a terminal, and for whatever is none.
 */
#include "cli/replay_paper.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct paper paper_on(FILE *out)
{
    struct winsize size;
    bool is_terminal = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    locale_t own = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    bool is_utf8 = own != (locale_t)0 && strcmp(nl_langinfo_l(CODESET, own), "UTF-8") == 0;
    if (own != (locale_t)0)
        freelocale(own);
    return (struct paper){ out, is_terminal && is_utf8 };
}

const char *paper_number(uint64_t number, char out[PAPER_NUMBER])
{
    char digits[PAPER_NUMBER];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    char *to = out;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

const char *paper_time(const char *json, char *out, size_t cap)
{
    size_t used = 0;
    bool is_text = json[0] == '"';
    for (const char *at = json; *at != '\0' && used + 1 < cap; at++) {
        if (is_text && (*at == '"' || *at == 'Z' || *at == 'z'))
            continue;
        out[used++] = is_text && (*at == 'T' || *at == 't') ? ' ' : *at;
    }
    out[used] = '\0';
    return out;
}

int paper_cut(const struct paper *paper, const char *text, size_t size, int width)
{
    int used = 0;
    for (size_t i = 0; i < size && used < width; i++, used++) {
        bool is_plain = text[i] >= ' ' && text[i] < 0x7f;
        bool is_last = used == width - 1 && i + 1 < size;
        putc(is_last ? '~' : is_plain ? text[i] : '?', paper->out);
    }
    return used;
}

void paper_wrap(const struct paper *paper, const char *text, int indent)
{
    int column = 0;
    bool is_first = true; /* of its line */
    while (*text != '\0') {
        int word = (int)strcspn(text, " ");
        if (!is_first && column + 1 + word > PAPER_WIDTH) {
            column = fprintf(paper->out, "\n%*s", indent, "") - 1;
            is_first = true;
        }
        column += fprintf(paper->out, "%s%.*s", is_first ? "" : " ", word, text);
        is_first = false;
        text += word + (int)strspn(text + word, " ");
    }
    putc('\n', paper->out);
}

void paper_bars(const struct paper *paper, const uint64_t *column, size_t count)
{
    static const char *const block[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const plain[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
    uint64_t most = 1;
    for (size_t i = 0; i < count; i++)
        most = column[i] > most ? column[i] : most;
    for (size_t i = 0; i < count; i++) {
        double part = (double)column[i] / (double)most;
        size_t level = column[i] == 0 ? 0 : 1 + (size_t)(part * 7.999);
        fputs(paper->has_blocks ? block[level] : plain[level], paper->out);
    }
}
