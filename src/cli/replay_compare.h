/*
 * Two policies over the same requests: who is hit by one and not by the other.
 *
 * Hit is who is refused, or would be but for a dry run.
 */
#ifndef DROSSEL_CLI_REPLAY_COMPARE_H
#define DROSSEL_CLI_REPLAY_COMPARE_H

#include "cli/replay_side.h"

struct compare_pending;

struct replay_compare {
    const struct replay_side *side[2];
    uint64_t both, only[2]; /* requests */
    /* What one side has decided and the other holds. */
    struct compare_pending *pending;
    size_t pending_count, pending_cap;
    struct compare_ear { /* the listeners' contexts */
        struct replay_compare *compare;
        int which;
    } ear[2];
};

/* Listens to both, which have begun. */
void compare_begin(struct replay_compare *compare, struct replay_side *one, struct replay_side *other);
void compare_release(struct replay_compare *compare);

/* The member `compare` of the JSON; a new reference. */
json_t *compare_json(const struct replay_compare *compare, const struct tally_input *input);
void compare_print(const struct replay_compare *compare, FILE *out);

#endif
