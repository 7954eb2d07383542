/*
 * Accounts as they are counted: one name for all spellings that log in to the same account, and its digest.
 *
 * The principle: what an application takes for one account must be one key, or each spelling buys new guesses; two accounts
 * that fold to one name cost their owners at most a shared limit.  So this is coarser than an application's comparison, and
 * must never be used to compare accounts or to send mail.
 *
 * Folding takes white space (Unicode White_Space) off both ends, maps wide and narrow forms to ordinary ones, and then
 * applies NFC, full case folding and NFC again (compare RFC 8265, UsernameCaseMapped).  It depends on no locale.  Inner white
 * space, confusable letters, `+tag` and dots stay: those are other accounts.  An e-mail address loses one dot at the
 * end of its domain.  What is no UTF-8 is counted byte for byte, in a class of its own.
 *
 * Bounds.  At most ACCOUNT_INPUT_MAX bytes are folded, counted from the first that is no white space, and at most `cap` are
 * written; what is longer is cut at a character: names with one long beginning are one account, and never free.
 * Plain ASCII is folded without allocation; other names allocate (libunistring) in proportion to ACCOUNT_INPUT_MAX.
 */
#ifndef DROSSEL_REQUEST_ACCOUNT_H
#define DROSSEL_REQUEST_ACCOUNT_H

#include "drossel.h"

#define ACCOUNT_MAX 1024       /* bytes: the buffer that callers are advised to give; no real name is longer */
#define ACCOUNT_INPUT_MAX 4096 /* bytes: room for such a name in wide or decomposed letters */
#define ACCOUNT_DIGEST_BYTES 16

/* Kinds of names; part of the digest, so that no two kinds ever share a key. */
enum account_class {
    ACCOUNT_USER = 0,
    ACCOUNT_EMAIL, /* something, `@` and a domain; split at the last `@` */
    ACCOUNT_MAILBOX, /* an e-mail address as its provider delivers it: for limits on sign-up and reset mails, not on logins */
    ACCOUNT_RAW /* no UTF-8 */
};

/* "user", "email", "mailbox", "raw": static text. */
const char *account_class_name(enum account_class class);

/* What an application's own trim() may take off beyond white space: control characters (PHP's takes NUL, Java's all below
 * U+0020) and U+FEFF (JavaScript's).  Returns the part of `raw` between them; to be folded in its place, or `bob%00` would be
 * another key than `bob`.  Where nothing is left, its size is 0. */
struct drossel_text account_trim(struct drossel_text raw);

/* Folds `raw` into `out` and tells its class: ACCOUNT_EMAIL, ACCOUNT_USER for other names, or ACCOUNT_RAW.  Returns the bytes
 * written, 0 if there is nothing but white space.  Folding the result again changes nothing, unless it was cut, and but
 * for what stands before the dot that a domain has lost (`a@b..`). */
size_t account_fold(struct drossel_text raw, char *out, size_t cap, enum account_class *class);

/* The name as limits count it: account_fold of account_trim, with its class in front, so that no two kinds are ever one.  Returns the
 * bytes written; 1: nothing is left of the name. */
size_t account_counted(struct drossel_text raw, char out[1 + ACCOUNT_MAX]);

/* Folds for a given class, ACCOUNT_USER, ACCOUNT_EMAIL or ACCOUNT_MAILBOX.  False, and `out` undefined, if `raw` is not
 * UTF-8 or, for the latter two, no e-mail address.  ACCOUNT_MAILBOX knows the rules that Gmail has published (no dots, no +tag,
 * one domain); elsewhere only the receiving host may interpret a local part (RFC 5321 section 2.3.11). */
DROSSEL_MUST_CHECK bool account_fold_as(enum account_class class, struct drossel_text raw, char *out, size_t cap,
                                        size_t *size);

/* The first 16 bytes of HMAC-SHA-256(secret, "rl1" 0 class 0 message), or of SHA-256 of the same bytes if `secret_size` is 0.
 * The secret may have any length.  `class` names the kind of subject, as "user" or "ip4"; `message` is the folded name. */
void account_digest(const void *secret, size_t secret_size, const char *class, struct drossel_text message,
                    uint8_t digest[ACCOUNT_DIGEST_BYTES]);

#endif
