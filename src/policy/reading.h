/*
 * How a policy file is read: shared by the files that read its sections; nothing outside this room includes it.
 *
 * Each section has a table of its keys.  A reader takes the node of a key, says what is wrong with it, and goes on: a
 * value that was refused keeps its default, so that one mistake does not breed others.
 */
#ifndef DROSSEL_POLICY_READING_H
#define DROSSEL_POLICY_READING_H

#include "policy/classes.h"
#include "policy/diagnose.h"
#include "policy/document.h"
#include "policy/policy.h"
#include "policy/words.h"

#define POLICY_RATES_OF_LIMIT_MAX 8

enum limit_key {
    KEY_FOR,
    KEY_BY,
    KEY_ALLOW,
    KEY_ALGORITHM,
    KEY_FROM,
    KEY_BURST,
    KEY_DELAY,
    KEY_ACTION,
    KEY_DRY_RUN,
    KEY_ONLY,
    KEY_COST,
    KEY_BLOCK,
    KEY_BAN,
    KEY_EXTEND,
    KEY_COUNT_REFUSED,
    KEY_HOLD,
    KEY_RESET_ON,
    KEY_STORE,
    KEY_DEADLINE,
    KEY_ON_OUTAGE,
    KEY_ANSWER,
    KEY_CONSISTENCY,
    KEY_OVERRIDES,
    KEY_CHALLENGE_TO,
    LIMIT_KEYS
};

enum store_kind { STORE_TABLE = 0, STORE_REDIS, STORE_REDIS_CLUSTER, STORE_MARIADB, STORE_MEMCACHED };

struct rate_text { /* `N [unit] per T` */
    uint64_t count, period_ns;
    enum rate_unit { UNIT_REQUESTS = 0, UNIT_FAILURES, UNIT_COST, UNIT_ACCOUNTS, UNIT_ADDRESSES } unit;
    const struct node *node;
};

/* A limit while it is read: what the file says, with the place of each key for the checks. */
struct limit_draft {
    const struct node *name;
    const struct node *at[LIMIT_KEYS]; /* the key's value; NULL: not there */
    struct policy_limit *limit;
    struct rate_text rate[POLICY_RATES_OF_LIMIT_MAX];
    uint32_t rate_count;
    struct engine_spec spec; /* all but count and period */
    bool broken;             /* has a mistake: not compiled, not warned about */
    bool unshaped;           /* algorithm or burst is one: what hangs on them is not told */
    bool unkeyed;            /* `by` is one, or not there: likewise */
    bool crowded;            /* told of more rates than there may be */
    enum store_kind store;
};

struct reading {
    struct policy_arena *arena;
    struct diagnoses *diagnoses;
    struct policy *policy;
    const struct node *root;
    struct drossel_text directory; /* of the policy, with its `/`; empty for the current one */
    struct arena_list files; /* const char *: the list files read, by number from 1 */
    struct class *classes;
    uint32_t class_count;
    struct words class_lookup;                    /* by name */
    const char *trusted_text, *address_from_text; /* as written; NULL: not there */
    struct netset *exempt_addresses;              /* NULL: none */
    struct arena_list exempt_paths;               /* struct entry */
    struct arena_list exempt_methods;             /* struct entry */
    struct limit_draft *drafts;
    uint32_t draft_count;
    struct arena_list rates;    /* struct policy_rate */
    struct arena_list subjects; /* struct policy_subject */
    enum policy_outage on_outage;
    enum store_kind store;
    uint64_t deadline_ns;
};

struct entry { /* of a list, with its place */
    struct drossel_text text;
    struct place place;
};

#define mistake_at(reading, at, ...) diagnose((reading)->diagnoses, MISTAKE, (at), __VA_ARGS__)
#define mistake(reading, node, ...) diagnose((reading)->diagnoses, MISTAKE, &(node)->place, __VA_ARGS__)
#define warning(reading, node, ...) diagnose((reading)->diagnoses, WARNING, &(node)->place, __VA_ARGS__)

/* Refuses what the language has and this version has not: `found: not carried out by this version yet; instead`. */
void not_yet(struct reading *reading, const struct node *node, const char *found, const char *instead);

/* ---- keys.c: tables of keys ---- */

struct key_row {
    const char *name; /* NULL ends a table; `header.` takes every key that begins with it */
    void (*read)(struct reading *reading, const struct node *key, void *into);
};

/* Reads the map by the table, in the table's order.  Says which keys it does not know; a misspelt one is read, and stands in the map
 * from then on, as what it was meant to be.  False if it is no map. */
bool read_keys(struct reading *reading, const struct node *map, const struct key_row *table, void *into);

/* Calls `read` for the value, or for each item of it if it is a list; an empty list is a mistake. */
void read_items(struct reading *reading, const struct node *value,
                void (*read)(struct reading *reading, const struct node *item, void *into), void *into);

/* The index of the scalar in `names` (NULL at the end), or -1 after saying what it could be. */
int read_choice(struct reading *reading, const struct node *node, const char *const *names);

/* ---- scalars.c: values; each is false after it has told the mistake, and leaves its output untouched then ---- */

bool read_text(struct reading *reading, const struct node *node, const char *what, struct drossel_text *out);
bool read_flag(struct reading *reading, const struct node *node, bool *out);
bool read_number(struct reading *reading, const struct node *node, uint64_t least, uint64_t most, uint64_t *out);
bool read_duration(struct reading *reading, const struct node *node, uint64_t least_ns, uint64_t *out);
/* A number of table keys: rounded up to a power of two. */
bool read_size(struct reading *reading, const struct node *node, uint64_t *out);
/* A number of bytes, as it is. */
bool read_byte_count(struct reading *reading, const struct node *node, uint64_t *out);
bool read_percent_ppm(struct reading *reading, const struct node *node, uint32_t *out);
bool read_factor_milli(struct reading *reading, const struct node *node, uint32_t *out);
bool read_rate(struct reading *reading, const struct node *node, struct rate_text *out);
/* A decimal number without sign; what no 64 bits hold is UINT64_MAX.  False if it is none. */
bool parse_number(struct drossel_text text, uint64_t *out);
bool is_token(struct drossel_text text); /* RFC 9110 section 5.6.2 */
bool is_name(struct drossel_text text);  /* of a class or limit */
bool has_control(struct drossel_text text);
bool text_equal(struct drossel_text a, struct drossel_text b);
bool text_is(struct drossel_text text, const char *word);
bool text_begins(struct drossel_text text, struct drossel_text prefix);

/* ---- listfile.c ---- */

/* The path of a file that the policy names: relative to the policy, NUL-terminated. */
const char *path_beside_policy(struct reading *reading, struct drossel_text name);

/* Reads the list file that `at` names and calls `read` with a scalar node for each line.  False if it cannot be read: then
 * `*why` is set and nothing was told. */
bool read_list_file(struct reading *reading, struct drossel_text name, const char **why,
                    void (*read)(struct reading *reading, const struct node *line, void *into), void *into);

/* ---- networks.c ---- */

struct network_list {
    struct netset *set;
    bool may_be_unix; /* `trusted`: a unix peer is one of its */
};

void read_networks(struct reading *reading, const struct node *value, struct network_list *into);
struct netset *new_netset(struct reading *reading);
/* Parses an address or network; when it is none though it looks like one, tells so at the node and sets `*told`. */
bool read_network(struct reading *reading, const struct node *node, struct drossel_address *address, unsigned *bits,
                  bool *told);

/* ---- the sections ---- */

void read_table(struct reading *reading, const struct node *key, void *into);
void read_client(struct reading *reading, const struct node *key, void *into);
void read_exempt(struct reading *reading, const struct node *key, void *into);
void read_classes(struct reading *reading, const struct node *key, void *into);
void set_default_outcomes(struct policy *policy);
void read_outcomes(struct reading *reading, const struct node *key, void *into);
/* Once all is read: what each status comes to. */
void plan_outcomes(struct policy *policy);
void read_secret_file(struct reading *reading, const struct node *key, void *into);
void read_limits(struct reading *reading, const struct node *key, void *into);
/* Reads an `answer:` over the rules that `into` holds. */
void read_answer(struct reading *reading, const struct node *key, void *into);
bool read_store(struct reading *reading, const struct node *node, enum store_kind *out);
bool read_outage(struct reading *reading, const struct node *node, enum policy_outage *out);

/* A class by name, or -1 after telling which name it could be. */
int find_class(struct reading *reading, const struct node *node, struct drossel_text name);

/* subject.c, block.c: keys of a limit; `into` is its draft */
void read_for(struct reading *reading, const struct node *key, void *into);
void read_by(struct reading *reading, const struct node *key, void *into);
void read_block(struct reading *reading, const struct node *key, void *into);
void read_ban(struct reading *reading, const struct node *key, void *into);

/* rates.c */
/* Does this version count what the rate counts, and does the limit's other rates' kind agree?  False after a mistake. */
bool accept_unit(struct reading *reading, const struct limit_draft *draft, const struct rate_text *rate);
/* Derives the spec of a draft, compiles its rates, and gives them names and seeds. */
void compile_limit(struct reading *reading, struct limit_draft *draft);
/* Appends one rate of a limit (or takes an equal one of an override); UINT32_MAX after telling a mistake. */
uint32_t add_rate(struct reading *reading, const struct limit_draft *draft, const struct rate_text *rate,
                  uint32_t place, const char *name);
struct engine_spec spec_of_rate(const struct limit_draft *draft, const struct rate_text *rate);
void check_rate_names(struct reading *reading);

/* override.c */
void read_overrides(struct reading *reading, struct limit_draft *draft);
uint32_t overrides_count(const struct policy_overrides *overrides);

/* check.c, check_limits.c: what no single key can tell. */
/* Can no request be in both?  (By their methods, exact paths and hosts.) */
bool classes_exclude(const struct class *a, const struct class *b);
void check_classes(struct reading *reading);
void check_limits(struct reading *reading);
void check_sections(struct reading *reading);

#endif
