/* `secret_file:`: bytes that make the hashes of subjects this operator's own; wiped when the policy is closed. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/reading.h"

#define SECRET_LEAST ((size_t)16)
#define SECRET_MOST ((size_t)4096)

struct secret {
    size_t size;
    char bytes[SECRET_MOST + 2]; /* with a newline, and one more to see that it is too long */
};

static void wipe(void *object)
{
    sodium_memzero(object, sizeof(struct secret));
}

/* Why the bytes cannot be read, or NULL.  Takes no memory, so that no descriptor is lost for want of it. */
static const char *read_bytes(const char *path, struct secret *secret, bool *everybody)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return strerror(errno);
    const char *why = fstat(descriptor, &status) != 0 ? strerror(errno) : NULL;
    while (why == NULL && secret->size < sizeof(secret->bytes)) {
        ssize_t got = read(descriptor, secret->bytes + secret->size, sizeof(secret->bytes) - secret->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            why = strerror(errno);
        if (got <= 0)
            break;
        secret->size += (size_t)got;
    }
    close(descriptor);
    *everybody = why == NULL && S_ISREG(status.st_mode) && (status.st_mode & S_IROTH) != 0;
    return why;
}

void read_secret_file(struct reading *reading, const struct node *key, void *into)
{
    struct drossel_text name;
    bool everybody = false;
    if (!read_text(reading, key->value, "the path of a file", &name))
        return;
    const char *shown = quotable(reading->arena, name), *path = path_beside_policy(reading, name);
    void **slot = arena_defer(reading->arena, wipe);
    struct secret *secret = arena_alloc(reading->arena, sizeof(*secret));
    *slot = secret;
    const char *why = read_bytes(path, secret, &everybody);
    if (why != NULL) {
        mistake(reading, key->value,
                "secret file \"%s\" cannot be read (%s); name a file that is there and readable, relative to the "
                "policy; `head -c 32 /dev/urandom` makes a secret",
                shown, why);
        return;
    }
    if (secret->size > 0 && secret->bytes[secret->size - 1] == '\n')
        secret->size--;
    if (secret->size < SECRET_LEAST || secret->size > SECRET_MOST) {
        mistake(reading, key->value,
                "secret file \"%s\" has %s; write %zu to %zu bytes, as `head -c 32 /dev/urandom` does", shown,
                secret->size < SECRET_LEAST ? "too few bytes" : "too many bytes", SECRET_LEAST, SECRET_MOST);
        return;
    }
    if (everybody)
        warning(reading, key->value, "secret file \"%s\" can be read by everybody on this machine; chmod o-r it",
                shown);
    ((struct policy *)into)->secret = (struct drossel_text){ secret->bytes, secret->size };
}
