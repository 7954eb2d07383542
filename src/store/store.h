/*
 * A store charges keys.  It knows neither rules nor HTTP.
 *
 * One call takes all charges of a request: every slot is held, every limit judged, and only when all that count agree is
 * anything spent.  So a request refused by one limit spends nothing from the others, without ever rolling back.
 */
#ifndef DROSSEL_STORE_STORE_H
#define DROSSEL_STORE_STORE_H

#include "engine/engine.h"
#include "table/table.h"

struct store_charge {
    struct table_key key;
    const struct engine_limit *limit;
    uint64_t cost;               /* 0 asks */
    uint16_t limit_id;           /* registry index */
    bool advisory;               /* its refusal stops nobody: dry run, challenge, mark */
    uint8_t subject;             /* the caller's: which account of the request, for `name` */
    uint32_t open_counter;       /* 1 + index of the charge that counts this key's charges with an open outcome; 0: none */
    uint32_t counts_open_of;     /* the other way round: made only if that one is */
    bool may_hold;               /* it may still wait for open outcomes, and the request with it, advisory or not */
    bool held;                   /* result: refused, but only because of charges whose outcome is open: no block starts */
    bool told;                   /* inside: the verdict tells already what one more request would find */
    bool judged;                 /* result: false where another key's running block had decided already and this one is advisory */
    struct engine_verdict verdict;   /* result, where judged */
};

struct store_batch {
    struct store_charge *charge;
    struct table_hold *hold;     /* as many; the caller's scratch memory */
    uint32_t count;
    uint64_t now_ns;
    bool has_open;               /* some charge has an open_counter */
    bool is_held;                /* result: not decided; nothing was written */
    /* Writes the readable name of a fresh key, for tables with names; NULL: none. */
    size_t (*name)(void *context, const struct store_charge *charge, char *out, size_t cap);
    void *context;
    uint16_t naming;             /* by which rules: a name made by other ones is made anew */
};

/* Charges all or nothing; the keys are different ones.  Returns whether all charges that are not advisory were admitted.
 * Each charge's verdict is set.
 * Refused: blocks start, refusals are counted where the limit wants it, nothing else is written; those that would have
 * admitted tell what is left without this request.  Refused by a running block: not even that is written, but by `extend`.
 * Not decided (batch->is_held): returns false, and nothing at all is written. */
bool store_table_charge(struct table *table, struct store_batch *batch);

/* A charge of which nearly nothing has to be said: it stops the request if it does not fit, and its outcome is not open. */
struct store_pass {
    struct table_key key;
    const struct engine_limit *limit;    /* that is_plain */
    uint64_t cost;
    uint16_t limit_id;           /* registry index */
    uint64_t remaining, used, more_ns;   /* result: as in struct engine_verdict */
};
#define STORE_PASS_MAX 8

/* The short way of up to STORE_PASS_MAX charges, of different keys: all are made if each key has a slot and room.  False, and nothing is
 * changed, if anything is otherwise: then store_table_charge tells. */
bool store_table_pass(struct table *table, struct store_pass *pass, uint32_t count, uint64_t now_ns);
/* The same of one. */
bool store_table_pass_one(struct table *table, struct store_pass *pass, uint64_t now_ns);

/* Judges all charges without guards and writes nothing: what a charge would come to now. */
void store_table_judge(struct table *table, struct store_batch *batch);

/* What is to become of one key's charge. */
struct store_settlement {
    struct table_key key;
    uint16_t limit_id;
    bool clears;                 /* the key starts afresh; it keeps its slot and its name, because who logs in once will do so again */
    uint64_t cost, mark;         /* else so much is given back to where it went (engine_refund) */
};

/* Returns how much was given back; 0 where the key has no slot, and where it was cleared. */
uint64_t store_table_settle(struct table *table, const struct store_settlement *of, uint64_t now_ns);

#endif
