/*
 * drossel explain: tells a request's way through the policy, step by step.
 */
#include "cli/explain.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/plain.h"

#define LABEL 11

/* How it came out over all limits. */
struct outcome {
    enum drossel_verdict verdict, suppressed; /* DROSSEL_HOLD: no more than open outcomes stand in the way */
    const struct policy_limit *limit;
    uint64_t wait_ns, delay_ns;
};

void explain_label(const char *name)
{
    printf("%-*s", LABEL, name);
}

/* The PROXY protocol comes with the connection, which there is none of here. */
static const char *reason_of(const struct policy *policy, const struct client *found)
{
    if (policy->client.source != CLIENT_PROXY_PROTOCOL)
        return client_reason_text(found->reason);
    return found->peer_trusted
               ? "the connection's other end; --address names what its PROXY protocol would say"
               : "the connection does not come from a trusted proxy, so its PROXY protocol is not believed";
}

static void print_client(const struct policy *policy, const struct drossel_request *request,
                         const struct drossel_decision *decision)
{
    char client[DROSSEL_ADDRESS_TEXT], peer[DROSSEL_ADDRESS_TEXT];
    explain_label("client");
    if (request->address.family != DROSSEL_NONE) {
        drossel_address_format(&request->address, client);
        printf("%s: taken as it was given\n", client);
    } else {
        struct client found = client_recover(&policy->client, request);
        drossel_address_format(&found.address, client);
        drossel_address_format(&request->peer, peer);
        printf("%s: %s\n", client, reason_of(policy, &found));
        explain_label("peer");
        printf("%s, %s\n", peer, found.peer_trusted ? "a trusted proxy" : "not a trusted proxy");
    }
    if (decision->client.family == DROSSEL_IPV6 && policy->ipv6_prefix < 128) {
        struct drossel_address key = client_key(&decision->client, policy->ipv6_prefix);
        drossel_address_format(&key, client);
        explain_label("key");
        printf("%s/%u: an IPv6 client is counted by its network\n", client, policy->ipv6_prefix);
    }
}

static void print_source(const struct policy_source *source)
{
    static const char *const kind[] = {
        [POLICY_FROM_HEADER] = "header.", [POLICY_FROM_COOKIE] = "cookie.", [POLICY_FROM_BASIC] = "basic",
        [POLICY_FROM_FORM] = "form.",     [POLICY_FROM_JSON] = "json.",     [POLICY_FROM_BEARER] = "bearer"
    };
    bool is_named = source->kind != POLICY_FROM_BASIC && source->kind != POLICY_FROM_BEARER;
    printf("%s%.*s", kind[source->kind], is_named ? (int)source->name.size : 0, source->name.data);
}

/* Where the account comes from: what is in a body cannot be given here, but for its name. */
static void print_account(const struct policy *policy, const struct drossel_request *request)
{
    if (request->account.size == 0 && policy->account_from_count == 0)
        return;
    explain_label("account");
    if (request->account.size > 0) {
        puts("taken as it was given");
        return;
    }
    fputs("from ", stdout);
    for (uint32_t i = 0; i < policy->account_from_count; i++) {
        fputs(i > 0 ? ", else " : "", stdout);
        print_source(&policy->account_from[i]);
    }
    puts(policy->needs_body ? "; --account NAME stands for the body" : "");
}

static void print_exempt(const struct policy *policy, const struct policy_facts *facts,
                         const struct drossel_decision *decision)
{
    static const char *const why[] = { "no", "yes, its address is listed: neither counted nor refused",
                                       "yes, its path is listed: neither counted nor refused",
                                       "yes, its method is listed: neither counted nor refused" };
    char wait[48];
    enum policy_exemption exemption = policy_exempt(policy, &decision->client, facts);
    explain_label("exempt");
    if (decision->untrusted && exemption != POLICY_NOT_EXEMPT)
        printf("no: its %s is listed, but around a trusted proxy only listed addresses are let through\n",
               exemption == POLICY_EXEMPT_PATH ? "path" : "method");
    else
        puts(why[exemption]);
    explain_label("banned");
    if (decision->banned)
        printf("yes, for another %s\n", cli_wait_format(decision->wait_ns, wait, sizeof wait));
    else
        puts("no");
}

static void print_classes(const struct policy *policy, const struct policy_class_set *classes)
{
    bool any = false;
    explain_label("classes");
    for (uint32_t i = 0; i < policy->class_count; i++)
        if (policy_in_class(classes, i)) {
            printf("%s%s", any ? ", " : "", policy->class_names[i]);
            any = true;
        }
    puts(any ? "" : "none");
}

/* Which class keeps the request out of the limit. */
static void print_no_class(const struct policy *policy, const struct policy_limit *limit,
                           const struct policy_class_set *classes)
{
    for (uint32_t i = 0; i < limit->positive_count; i++)
        if (!policy_in_class(classes, limit->positive[i])) {
            printf("does not apply: the request is not in class %s\n", policy->class_names[limit->positive[i]]);
            return;
        }
    for (uint32_t i = 0; i < limit->negative_count; i++)
        if (policy_in_class(classes, limit->negative[i])) {
            printf("does not apply: the request is in class %s\n", policy->class_names[limit->negative[i]]);
            return;
        }
    puts("does not apply: the request is not in its classes");
}

static enum drossel_verdict verdict_of(const struct policy_limit *limit)
{
    static const enum drossel_verdict verdict[] = { [POLICY_REFUSE] = DROSSEL_REFUSE,
                                                    [POLICY_DROP] = DROSSEL_DROP,
                                                    [POLICY_DELAY] = DROSSEL_REFUSE,
                                                    [POLICY_CHALLENGE] = DROSSEL_CHALLENGE,
                                                    [POLICY_MARK] = DROSSEL_MARK };
    return verdict[limit->action];
}

/* What one rate said, as a verdict.  Open outcomes alone hold only where more than a mark or a dry run hangs on them. */
static enum drossel_verdict rate_verdict(const struct policy_limit *limit, const struct limiter_explained *said,
                                         uint32_t index)
{
    if (said->verdict[index].allowed)
        return said->verdict[index].delay_ns > 0 ? DROSSEL_DELAY : DROSSEL_ALLOW;
    if (!said->waits[index])
        return verdict_of(limit);
    return limit->dry_run || limit->action == POLICY_MARK ? DROSSEL_ALLOW : DROSSEL_HOLD;
}

static const char *counted_by(const struct policy_limit *limit)
{
    static const char *const different[] = {
        [POLICY_NOT_DISTINCT] = "", [POLICY_DISTINCT_ACCOUNTS] = "accounts ", [POLICY_DISTINCT_ADDRESSES] = "addresses "
    };
    return limit->failures ? "failures " : different[limit->distinct];
}

static void print_rate(const struct policy_limit *limit, const struct limiter_explained *said, uint32_t index)
{
    char period[32], wait[48];
    const struct policy_rate *rate = said->rate[index];
    const struct engine_verdict *verdict = &said->verdict[index];
    policy_duration_format(rate->engine.spec.period_ns, period, sizeof period);
    printf("%*s%llu %sper %s: ", LABEL + 2, "", (unsigned long long)rate->engine.spec.count, counted_by(limit), period);
    if (verdict->allowed) {
        printf("lets it through, %llu left after it", (unsigned long long)verdict->remaining);
        if (verdict->delay_ns > 0)
            printf(", held back for %s", cli_wait_format(verdict->delay_ns, wait, sizeof wait));
    } else if (rate_verdict(limit, said, index) == DROSSEL_ALLOW) {
        fputs("lets it through until more is known", stdout);
    } else if (said->waits[index]) {
        printf("holds it for up to %s", cli_wait_format(limit->hold_ns, wait, sizeof wait));
    } else if (verdict->wait_ns == ENGINE_NEVER) {
        fputs("refuses it, and waiting does not help", stdout);
    } else {
        printf("%s; it would pass in %s",
               verdict->started_block ? rate->engine.spec.flags & ENGINE_BAN
                                            ? "refuses it, used up, and bans the address"
                                            : "refuses it, used up, and blocks the key"
               : verdict->blocked     ? "refuses it, blocked"
                                      : "refuses it, used up",
               cli_wait_format(verdict->wait_ns, wait, sizeof wait));
    }
    if (said->open[index] > 0)
        printf("; %llu of %llu have no outcome yet", (unsigned long long)said->open[index],
               (unsigned long long)(verdict->used - (verdict->allowed ? said->cost : 0)));
    putchar('\n');
}

/* A hold counts for more than what goes through, and for less than what is certain. */
static unsigned rank_of(enum drossel_verdict verdict)
{
    static const unsigned rank[] = {
        [DROSSEL_ALLOW] = 0, [DROSSEL_MARK] = 1,   [DROSSEL_DELAY] = 2, [DROSSEL_CHALLENGE] = 3,
        [DROSSEL_HOLD] = 4,  [DROSSEL_REFUSE] = 5, [DROSSEL_DROP] = 6
    };
    return rank[verdict];
}

/* Adds what one rate said to how it comes out. */
static void merge(const struct policy_limit *limit, const struct limiter_explained *explained, uint32_t index,
                  struct outcome *outcome)
{
    const struct engine_verdict *said = &explained->verdict[index];
    enum drossel_verdict verdict = rate_verdict(limit, explained, index);
    if (limit->dry_run) {
        if (verdict > outcome->suppressed)
            outcome->suppressed = verdict;
        return;
    }
    bool stricter = rank_of(verdict) > rank_of(outcome->verdict);
    bool longer =
        verdict != DROSSEL_ALLOW && verdict == outcome->verdict && !said->allowed && said->wait_ns > outcome->wait_ns;
    if (stricter || longer) {
        outcome->verdict = verdict;
        outcome->limit = limit;
        outcome->wait_ns = verdict == DROSSEL_HOLD ? limit->hold_ns : said->wait_ns;
    }
    if (said->allowed && said->delay_ns > outcome->delay_ns)
        outcome->delay_ns = said->delay_ns;
}

static void print_limit(const struct policy *policy, const struct limiter_explained *said,
                        const struct policy_class_set *classes, struct outcome *outcome)
{
    const struct policy_limit *limit = &policy->limits[said->limit];
    printf("  %-16s ", limit->name);
    switch (said->why) {
    case LIMITER_NO_CLASS:
        print_no_class(policy, limit, classes);
        return;
    case LIMITER_OTHER_DOOR:
        puts("does not apply: it is for other doors (`only`)");
        return;
    case LIMITER_KEY_MISSING:
        printf("no %s, so this limit does not apply", said->missing);
        puts(limit->needs_body && strcmp(said->missing, "account") == 0
                 ? ": it would come from the body; give it with --account"
                 : "");
        return;
    case LIMITER_UNLIMITED:
        plain_print(stdout, true, "does not apply: key %s is unlimited by an override\n", said->key);
        return;
    case LIMITER_APPLIES:
        break;
    }
    plain_print(stdout, true, "applies, key %s%s%s", said->key,
                said->accounts > 1 ? " (one of several accounts that it names)" : "",
                said->overridden ? " (with numbers of its own)" : "");
    if (said->cost != 1 && said->thing == 0)
        printf(", costs %llu", (unsigned long long)said->cost);
    if (limit->failures)
        printf(", counts failures%s", limit->reset_on_success ? ", a success clears it" : "");
    puts(limit->dry_run ? ", dry run" : "");
    for (uint32_t i = 0; i < said->rate_count; i++) {
        print_rate(limit, said, i);
        merge(limit, said, i, outcome);
    }
}

static void print_outcome(const struct outcome *outcome, const struct drossel_decision *decision)
{
    char wait[48];
    const char *name = outcome->limit != NULL ? outcome->limit->name : "";
    explain_label("result");
    if (decision->exempt)
        puts("allow: exempt");
    else if (decision->untrusted)
        printf("refuse with %u: it did not come through a trusted proxy\n", decision->status);
    else if (decision->banned)
        printf("%s: the address is banned\n", drossel_verdict_name(decision->verdict));
    else if (outcome->verdict == DROSSEL_REFUSE)
        printf("refuse with %u by limit %s; wait %s\n", outcome->limit->answer->status, name,
               cli_wait_format(outcome->wait_ns, wait, sizeof wait));
    else if (outcome->verdict == DROSSEL_HOLD)
        printf("hold by limit %s for up to %s, until outcomes that are open decide\n", name,
               cli_wait_format(outcome->wait_ns, wait, sizeof wait));
    else if (outcome->verdict == DROSSEL_DELAY)
        printf("delay for %s\n", cli_wait_format(outcome->delay_ns, wait, sizeof wait));
    else
        printf("%s%s%s\n", drossel_verdict_name(outcome->verdict), *name != '\0' ? " by limit " : "", name);
    if (outcome->suppressed > DROSSEL_ALLOW)
        printf("%*sa limit in dry run would have said: %s\n", LABEL, "", drossel_verdict_name(outcome->suppressed));
}

/* The limit for one of the accounts that the request names.  False: there is no such account; the first there always is. */
static bool explain_next(struct limiter *limiter, const struct drossel_request *request, uint32_t limit,
                         unsigned account, struct limiter_explained *said)
{
    if (account > 0 && account >= said->accounts)
        return false;
    limiter_explain_account(limiter, request, limit, account, said);
    return true;
}

/* Does a running block decide, or is the request held?  Then no refusal takes effect: no block starts, nothing is counted. */
static bool is_stopped(struct limiter *limiter, const struct drossel_request *request)
{
    const struct policy *policy = limiter_policy(limiter);
    struct outcome outcome = { 0 };
    bool stopped = false;
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        const struct policy_limit *limit = &policy->limits[i];
        bool advises = limit->dry_run || limit->action == POLICY_CHALLENGE || limit->action == POLICY_MARK;
        struct limiter_explained said;
        for (unsigned account = 0; explain_next(limiter, request, i, account, &said); account++)
            for (uint32_t k = 0; k < said.rate_count; k++) {
                merge(limit, &said, k, &outcome);
                stopped |= said.verdict[k].blocked && !advises;
            }
    }
    return stopped || outcome.verdict == DROSSEL_HOLD;
}

/* Of a limit whose own block runs the verdict is what it is, but that the block may be extended. */
static void take_effect(struct limiter_explained *said, bool stopped)
{
    for (uint32_t i = 0; i < said->rate_count; i++)
        if (!stopped || said->verdict[i].blocked)
            said->verdict[i] = said->taken[i];
}

static void tell_limits(struct limiter *limiter, const struct drossel_request *request,
                        const struct policy_class_set *classes, struct outcome *outcome)
{
    const struct policy *policy = limiter_policy(limiter);
    bool stopped = is_stopped(limiter, request);
    puts("limits");
    for (uint32_t i = 0; i < policy->limit_count; i++) {
        struct limiter_explained said;
        for (unsigned account = 0; explain_next(limiter, request, i, account, &said); account++) {
            take_effect(&said, stopped);
            print_limit(policy, &said, classes, outcome);
        }
    }
}

void explain_tell(struct limiter *limiter, const struct drossel_request *request,
                  const struct drossel_decision *decision)
{
    const struct policy *policy = limiter_policy(limiter);
    struct policy_facts facts = { request->method, request->host, request->path, request, request->door };
    struct policy_class_set classes = { 0 };
    struct outcome outcome = { 0 };
    explain_label("request");
    plain_print(stdout, false, "%.*s %.*s", (int)request->method.size, request->method.data, (int)request->path.size,
                request->path.data);
    putchar('\n');
    print_client(policy, request, decision);
    print_account(policy, request);
    print_exempt(policy, &facts, decision);
    policy_match(policy, &facts, &classes, NULL, 0);
    print_classes(policy, &classes);
    if (decision->exempt || decision->banned || decision->untrusted)
        puts("limits     not asked");
    else
        tell_limits(limiter, request, &classes, &outcome);
    print_outcome(&outcome, decision);
}
