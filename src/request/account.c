/* Accounts as they are counted: folding and digests. */
#include "request/account.h"

#include "hint.h"
#include "request/scan.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

static const struct drossel_text nothing = { "", 0 };

const char *account_class_name(enum account_class class)
{
    static const char *const names[] = {
        [ACCOUNT_USER] = "user", [ACCOUNT_EMAIL] = "email", [ACCOUNT_MAILBOX] = "mailbox", [ACCOUNT_RAW] = "raw"
    };
    return names[class];
}

/* ---- ends ---- */

static bool is_white(ucs4_t character)
{
    return character < 0x80 ? character == ' ' || (character >= '\t' && character <= '\r')
                            : uc_is_property_white_space(character);
}

static bool is_trimmed(ucs4_t character)
{
    return character < ' ' || character == 0xfeff || is_white(character);
}

static __attribute__((noinline)) struct drossel_text trim_ends(struct drossel_text text, bool (*unwanted)(ucs4_t))
{
    const uint8_t *start = (const uint8_t *)text.data;
    const uint8_t *end = start + text.size;
    ucs4_t character;
    while (start < end) {
        int length = u8_mbtoucr(&character, start, (size_t)(end - start));
        if (length <= 0 || !unwanted(character))
            break;
        start += length;
    }
    while (start < end) {
        const uint8_t *last = u8_prev(&character, end, start);
        if (last == NULL || !unwanted(character))
            break;
        end = last;
    }
    return (struct drossel_text){ (const char *)start, (size_t)(end - start) };
}

/* ASCII that nobody trims. */
static bool is_visible(char c)
{
    return (unsigned char)c > ' ' && (unsigned char)c < 0x7f;
}

/* Takes off both ends the characters that `unwanted` accepts; stops at bytes that are no UTF-8.  Nearly always there are none. */
static struct drossel_text trim(struct drossel_text text, bool (*unwanted)(ucs4_t))
{
    if (likely(text.size > 0 && is_visible(text.data[0]) && is_visible(text.data[text.size - 1])))
        return text;
    return trim_ends(text, unwanted);
}

struct drossel_text account_trim(struct drossel_text raw)
{
    return raw.size == 0 ? nothing : trim(raw, is_trimmed);
}

/* At most `cap` bytes of valid UTF-8, cut before a character; a cut leaves no white space at the end. */
static struct drossel_text cut(struct drossel_text text, size_t cap)
{
    if (text.size <= cap)
        return text;
    text.size = cap;
    while (text.size > 0 && ((unsigned char)text.data[text.size] & 0xc0) == 0x80)
        text.size--;
    return text.size == 0 ? nothing : trim(text, is_white);
}

/* ---- folding ---- */

/* Eight bytes at a time. */
static bool is_ascii(struct drossel_text text)
{
    uint64_t all = 0, word;
    size_t at = 0;
    for (; at + sizeof word <= text.size; at += sizeof word) {
        memcpy(&word, text.data + at, sizeof word);
        all |= word;
    }
    if (likely(at > 0 && at < text.size)) { /* the last word, part of which was seen before */
        memcpy(&word, text.data + text.size - sizeof word, sizeof word);
        all |= word;
        at = text.size;
    }
    for (; at < text.size; at++)
        all |= (unsigned char)text.data[at];
    return (all & UINT64_C(0x8080808080808080)) == 0;
}

/* Capitals become small in eight bytes at once, all of them ASCII: to each are added two numbers, of which one carries into its
 * highest bit from `A` on, the other beyond `Z`; what lies between has that bit once, and gets the bit that tells its case. */
static uint64_t lower_word(uint64_t word)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t from_a = word + (0x80 - 'A') * each, beyond_z = word + (0x7f - 'Z') * each;
    return word | ((from_a ^ beyond_z) & 0x80 * each) >> 2;
}

/* The last word overlaps the one before it: what is small stays so. */
static void fold_ascii(struct drossel_text text, char *out)
{
    uint64_t word = 0;
    size_t at = 0;
    for (; at + sizeof word <= text.size; at += sizeof word) {
        memcpy(&word, text.data + at, sizeof word);
        word = lower_word(word);
        memcpy(out + at, &word, sizeof word);
    }
    if (likely(at > 0 && at < text.size)) {
        at = text.size - sizeof word;
        memcpy(&word, text.data + at, sizeof word);
        word = lower_word(word);
        memcpy(out + at, &word, sizeof word);
        return;
    }
    for (; at < text.size; at++)
        out[at] = (char)lower_word((unsigned char)text.data[at]);
}

/* Wide and narrow forms become ordinary ones.  None of them gets longer in UTF-8: all are in U+3000 and U+FF00 to U+FFEE. */
static size_t map_width(struct drossel_text text, uint8_t *out)
{
    const uint8_t *at = (const uint8_t *)text.data;
    size_t left = text.size, written = 0;
    while (left > 0) {
        ucs4_t character, mapped[UC_DECOMPOSITION_MAX_LENGTH];
        int tag, length = u8_mbtouc(&character, at, left);
        bool candidate = character == 0x3000 || (character >= 0xff00 && character <= 0xffef);
        if (candidate && uc_decomposition(character, &tag, mapped) == 1 &&
            (tag == UC_DECOMP_WIDE || tag == UC_DECOMP_NARROW))
            character = mapped[0];
        written += (size_t)u8_uctomb(out + written, character, (ptrdiff_t)(text.size - written));
        at += length;
        left -= (size_t)length;
    }
    return written;
}

/* NFC, full case folding without a language, NFC.  NULL without memory; else the caller's to free. */
static uint8_t *fold_letters(const uint8_t *text, size_t size, size_t *folded_size)
{
    size_t composed_size, cased_size;
    uint8_t *folded = NULL;
    uint8_t *composed = u8_normalize(UNINORM_NFC, text, size, NULL, &composed_size);
    uint8_t *cased = composed == NULL ? NULL : u8_casefold(composed, composed_size, NULL, NULL, NULL, &cased_size);
    if (cased != NULL)
        folded = u8_normalize(UNINORM_NFC, cased, cased_size, NULL, folded_size);
    free(composed);
    free(cased);
    return folded;
}

/* Is it LOCAL@DOMAIN?  A dot at the domain's end is not counted. */
static bool split_address(struct drossel_text text, size_t *at, size_t *end)
{
    size_t sign = scan_behind_last(text.data, text.size, '@');
    if (sign <= 1)
        return false;
    *at = sign - 1;
    *end = text.data[text.size - 1] == '.' ? text.size - 1 : text.size;
    return *end > *at + 1;
}

static bool is_gmail(struct drossel_text domain)
{
    return (domain.size == 9 && memcmp(domain.data, "gmail.com", 9) == 0) ||
           (domain.size == 14 && memcmp(domain.data, "googlemail.com", 14) == 0);
}

/* The mailbox of a Gmail address; other addresses, and those without a name, stay as they are. */
static size_t fold_mailbox(char *text, size_t at, size_t size)
{
    size_t kept = 0;
    if (!is_gmail((struct drossel_text){ text + at + 1, size - at - 1 }))
        return size;
    while (kept < at && (text[kept] == '.'))
        kept++;
    if (kept == at || text[kept] == '+')
        return size;
    kept = 0;
    for (size_t i = 0; i < at && text[i] != '+'; i++)
        if (text[i] != '.')
            text[kept++] = text[i];
    memcpy(text + kept, "@gmail.com", 10); /* not longer than the domain that was there */
    return kept + 10;
}

/* Finishes what is folded, as its class wants it, in place.  False if it is not of that class. */
static bool finish(enum account_class class, char *text, size_t *size)
{
    size_t at, end;
    if (class == ACCOUNT_USER)
        return true;
    if (!split_address((struct drossel_text){ text, *size }, &at, &end))
        return false;
    *size = class == ACCOUNT_MAILBOX ? fold_mailbox(text, at, end) : end;
    return true;
}

struct folded {
    char ascii[ACCOUNT_INPUT_MAX];
    uint8_t *letters; /* the caller's to free; NULL where `ascii` is used */
    char *text;
    size_t size;
};

/* False: no UTF-8, or no memory; then nothing is to be freed. */
static bool fold(struct drossel_text raw, struct folded *folded)
{
    folded->letters = NULL;
    folded->text = folded->ascii;
    folded->size = 0;
    if (raw.size == 0)
        return true;
    bool ascii = is_ascii(raw);
    if (!ascii && u8_check((const uint8_t *)raw.data, raw.size) != NULL)
        return false;
    struct drossel_text text = cut(trim(raw, is_white), ACCOUNT_INPUT_MAX);
    folded->size = text.size;
    if (ascii) {
        fold_ascii(text, folded->ascii);
        return true;
    }
    size_t mapped = map_width(text, (uint8_t *)folded->ascii);
    folded->letters = fold_letters((const uint8_t *)folded->ascii, mapped, &folded->size);
    folded->text = (char *)folded->letters;
    return folded->letters != NULL;
}

static size_t copy_cut(struct folded *folded, char *out, size_t cap)
{
    struct drossel_text text = cut((struct drossel_text){ folded->text, folded->size }, cap);
    if (text.size > 0)
        memcpy(out, text.data, text.size);
    free(folded->letters);
    return text.size;
}

bool account_fold_as(enum account_class class, struct drossel_text raw, char *out, size_t cap, size_t *size)
{
    struct folded folded;
    if (class == ACCOUNT_RAW || !fold(raw, &folded))
        return false;
    if (!finish(class, folded.text, &folded.size)) {
        free(folded.letters);
        return false;
    }
    *size = copy_cut(&folded, out, cap);
    return true;
}

static __attribute__((noinline)) size_t fold_any(struct drossel_text raw, char *out, size_t cap,
                                                 enum account_class *class)
{
    struct folded folded;
    if (!fold(raw, &folded)) {
        size_t size = raw.size < cap ? raw.size : cap;
        memcpy(out, raw.data, size);
        *class = ACCOUNT_RAW;
        return size;
    }
    *class = finish(ACCOUNT_EMAIL, folded.text, &folded.size) ? ACCOUNT_EMAIL : ACCOUNT_USER;
    return copy_cut(&folded, out, cap);
}

size_t account_fold(struct drossel_text raw, char *out, size_t cap, enum account_class *class)
{
    if (unlikely(raw.size > cap || raw.size > ACCOUNT_INPUT_MAX || !is_ascii(raw)))
        return fold_any(raw, out, cap, class);
    /* Nearly always: it is folded where it is wanted. */
    struct drossel_text text = trim(raw, is_white);
    fold_ascii(text, out);
    *class = finish(ACCOUNT_EMAIL, out, &text.size) ? ACCOUNT_EMAIL : ACCOUNT_USER;
    return text.size;
}

size_t account_counted(struct drossel_text raw, char out[1 + ACCOUNT_MAX])
{
    enum account_class class;
    size_t size = account_fold(account_trim(raw), out + 1, ACCOUNT_MAX, &class);
    out[0] = (char)class;
    return 1 + size;
}

/* ---- digests ---- */

void account_digest(const void *secret, size_t secret_size, const char *class, struct drossel_text message,
                    uint8_t digest[ACCOUNT_DIGEST_BYTES])
{
    static const unsigned char label[4] = "rl1";
    unsigned char whole[crypto_hash_sha256_BYTES];
    size_t class_size = strlen(class) + 1;
    if (secret_size == 0) {
        crypto_hash_sha256_state state;
        crypto_hash_sha256_init(&state);
        crypto_hash_sha256_update(&state, label, sizeof label);
        crypto_hash_sha256_update(&state, (const unsigned char *)class, class_size);
        crypto_hash_sha256_update(&state, (const unsigned char *)message.data, message.size);
        crypto_hash_sha256_final(&state, whole);
    } else {
        crypto_auth_hmacsha256_state state;
        crypto_auth_hmacsha256_init(&state, secret, secret_size);
        crypto_auth_hmacsha256_update(&state, label, sizeof label);
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)class, class_size);
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)message.data, message.size);
        crypto_auth_hmacsha256_final(&state, whole);
        sodium_memzero(&state, sizeof state);
    }
    memcpy(digest, whole, ACCOUNT_DIGEST_BYTES);
    sodium_memzero(whole, sizeof whole);
}
