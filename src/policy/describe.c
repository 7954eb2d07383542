/* The policy in plain sentences: one fact each, in the order in which a request meets them. */
#include <inttypes.h>
#include <string.h>

#include "policy/index.h"
#include "policy/speech.h"

#define NAMED_MAX 5           /* words of a list that are named; the rest is counted */
#define STATUSES_NAMED_MAX 12 /* the same of statuses */

/* What stands between the `i`th of `count` words and the one before. */
static const char *joint(size_t i, size_t count, const char *last)
{
    if (i == 0)
        return "";
    return i + 1 == count ? last : ", ";
}

/* ---- client ---- */

static void describe_source(FILE *out, const struct policy_source *source)
{
    static const char *const form[] = {
        [POLICY_FROM_HEADER] = "the header %s",       [POLICY_FROM_COOKIE] = "the cookie %s",
        [POLICY_FROM_BASIC] = "basic authentication", [POLICY_FROM_FORM] = "the form field %s",
        [POLICY_FROM_JSON] = "the JSON value %s",     [POLICY_FROM_BEARER] = "the bearer token in Authorization",
    };
    const char *place = strchr(form[source->kind], '%');
    if (place == NULL)
        fputs(form[source->kind], out);
    else
        fprintf(out, "%.*s%s", (int)(place - form[source->kind]), form[source->kind], source->name.data);
}

static void describe_sources(FILE *out, const char *what, const struct policy_source *sources, uint32_t count)
{
    if (count == 0)
        return;
    fprintf(out, "%s is taken from ", what);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i == 0 ? "" : ", else from ", out);
        describe_source(out, &sources[i]);
    }
    fputs(".\n", out);
}

static void describe_client(const struct policy *policy, FILE *out)
{
    const char *trusted = policy->index->trusted_text, *from = policy->index->address_from_text;
    if (policy->client.source == CLIENT_PROXY_PROTOCOL)
        from = "the PROXY protocol";
    if (policy->client.source == CLIENT_PEER)
        fputs("The client's address is that of the connection.\n", out);
    else if (trusted != NULL)
        fprintf(out, "The client's address is taken from %s if the connection comes from %s.\n", from, trusted);
    else
        fprintf(out, "The client's address is that of the connection, as nobody is trusted to send %s.\n", from);
    if (policy->require_trusted)
        fprintf(out, "Whoever does not come through a trusted proxy gets a 403%s.\n",
                policy_has_exemptions(policy) ? ", unless its address is exempt; exempt paths and methods are no excuse"
                                              : "");
    if (policy->ipv6_prefix < 128)
        fprintf(out, "IPv6 clients are counted by their /%u.\n", policy->ipv6_prefix);
    describe_sources(out, "The account", policy->account_from, policy->account_from_count);
    describe_sources(out, "The token", policy->token_from, policy->token_from_count);
}

/* ---- failures ---- */

static void describe_outcome(const struct policy_outcome *outcome, const char *what, FILE *out)
{
    size_t count = 0, told = 0;
    for (size_t i = 0; i < sizeof(outcome->status) / sizeof(outcome->status[0]); i++)
        count += (size_t)__builtin_popcountll(outcome->status[i]);
    if (outcome->header.size > 0) {
        fprintf(out, "A %s is an answer with the header %s: %s.\n", what, outcome->header.data, outcome->value.data);
        return;
    }
    if (count == 0) {
        fprintf(out, "No answer is a %s.\n", what);
        return;
    }
    fprintf(out, "A %s is an answer of status ", what);
    for (unsigned status = 0; status < 1024 && told < STATUSES_NAMED_MAX; status++)
        if (outcome->status[status / 64] >> (status % 64) & 1)
            fprintf(out, "%s%u", joint(told++, count, " or "), status);
    if (told < count)
        fprintf(out, " or %zu more", count - told);
    fputs(".\n", out);
}

static void describe_failures(const struct policy *policy, FILE *out)
{
    bool body = false;
    for (uint32_t i = 0; i < policy->limit_count; i++)
        body = body || policy->limits[i].needs_body;
    if (body)
        fprintf(out, "The body of a request is read for the account, up to %" PRIu64 " bytes of it.\n",
                policy->body_cap);
    if (policy->secret.size > 0)
        fputs("Keys are hashed with the secret of the secret file.\n", out);
    if (!policy->has_failures)
        return;
    describe_outcome(&policy->failure, "failure", out);
    describe_outcome(&policy->success, "success", out);
    fputs("A request counts as a failure until it is answered, and for good if it never is.\n", out);
}

/* ---- exempt, answer, table ---- */

static void describe_words(FILE *out, const char *what, const struct arena_list *list)
{
    const struct word *words = list->items;
    size_t named = list->count <= NAMED_MAX ? list->count : NAMED_MAX;
    if (list->count == 0)
        return;
    fprintf(out, "Requests %s ", what);
    for (size_t i = 0; i < named; i++)
        fprintf(out, "%s%s", joint(i, list->count, " or "), words[i].text.data);
    if (named < list->count)
        fprintf(out, " or %zu more", list->count - named);
    fputs(" are neither counted nor refused.\n", out);
}

static void describe_exempt(const struct policy_index *index, FILE *out)
{
    size_t ranges = index->exempt_addresses == NULL ? 0 : netset_size(index->exempt_addresses);
    if (ranges > 0)
        fprintf(out, "Clients in %zu exempt %s of addresses are neither counted nor refused.\n", ranges,
                ranges == 1 ? "range" : "ranges");
    describe_words(out, "whose path begins with", &index->exempt_paths.words.list);
    describe_words(out, "of the method", &index->exempt_methods.list);
}

static const char *const bodies[] = { "a body chosen by Accept", "problem details", "JSON", "HTML", "text", "no body" };

static void describe_fields(const struct http_answer_rules *rules, const char *indent, FILE *out)
{
    static const char *const readers[] = { "signed-in clients only", "everyone", "nobody" };
    if (rules->headers & ~HTTP_RETRY_AFTER)
        fprintf(out, "%sRateLimit fields are shown to %s.\n", indent, readers[rules->reveal]);
    else if (*indent != '\0')
        fprintf(out, "%sNo RateLimit fields are shown.\n", indent);
}

static void describe_answer(const struct http_answer_rules *rules, FILE *out)
{
    fprintf(out, "A refused client gets a %u with %s%s.\n", rules->status,
            rules->headers & HTTP_RETRY_AFTER ? "Retry-After and " : "", bodies[rules->body]);
    if (rules->jitter_ppm > 0 && rules->headers & HTTP_RETRY_AFTER)
        fprintf(out, "Retry-After is up to %g %% later than it must be, so that not all come back at once.\n",
                (double)rules->jitter_ppm / 10000);
    describe_fields(rules, "", out);
}

/* What a limit's own answer has that the file's has not; its status stands in the limit's sentence. */
static void describe_own_answer(const struct policy *policy, const struct policy_limit *limit, FILE *out)
{
    const struct http_answer_rules *own = limit->answer, *common = &policy->answer;
    bool told = (own->headers & ~HTTP_RETRY_AFTER) != 0, told_else = (common->headers & ~HTTP_RETRY_AFTER) != 0;
    if (limit->action != POLICY_REFUSE && limit->action != POLICY_DELAY)
        return;
    if (own->body != common->body)
        fprintf(out, "  Its answer has %s.\n", bodies[own->body]);
    if (told != told_else || (told && own->reveal != common->reveal))
        describe_fields(own, "  ", out);
}

static void describe_table(const struct policy *policy, FILE *out)
{
    fprintf(out, "Counters are kept in %s, with room for %" PRIu64 " keys%s.\n",
            policy->table_path != NULL ? policy->table_path : "this user's shared table", policy->table_keys,
            policy->table_names ? " and their readable names" : "");
    if (policy->table_reveal)
        fputs("Accounts are named in the clear, in the table and in logs.\n", out);
}

/* ---- classes ---- */

static void describe_condition(const struct condition *condition, FILE *out)
{
    static const char *const heads[] = { "the method is",    "the path is", "the path begins with",
                                         "the path ends in", "the host is", "",
                                         "the path matches" };
    if (condition->kind != CONDITION_HEADER)
        fputs(heads[condition->kind], out);
    else if (condition->test == HEADER_IS_ONE_OF)
        fprintf(out, "the header %s is", condition->header.data);
    else
        fprintf(out, "the header %s is %s", condition->header.data,
                condition->test == HEADER_PRESENT ? "present" : "absent");
    size_t named = condition->test != HEADER_IS_ONE_OF ? 0 : condition->count;
    for (size_t i = 0; i < named && i < NAMED_MAX; i++)
        fprintf(out, "%s%s", i == 0 ? " " : joint(i, named, " or "), condition->values[i].data);
    if (named > NAMED_MAX)
        fprintf(out, " or %zu more", named - NAMED_MAX);
}

static void describe_class(const struct class *class, FILE *out)
{
    fprintf(out, "A request is `%s` if ", class->name);
    for (uint32_t i = 0; i < class->condition_count; i++) {
        fputs(joint(i, class->condition_count, " and "), out);
        describe_condition(&class->conditions[i], out);
    }
    fputs(".\n", out);
}

/* ---- limits ---- */

static void describe_requests(const struct policy *policy, const struct policy_limit *limit, FILE *out)
{
    uint32_t count = limit->positive_count + limit->negative_count;
    fputs(count == 0 ? "any request" : "a request that is ", out);
    for (uint32_t i = 0; i < count; i++) {
        bool positive = i < limit->positive_count;
        uint32_t class = positive ? limit->positive[i] : limit->negative[i - limit->positive_count];
        fprintf(out, "%s%s`%s`", joint(i, count, " and "), positive ? "" : "not ", policy->class_names[class]);
    }
}

static void describe_key(const struct policy *policy, const struct policy_limit *limit, FILE *out)
{
    static const char *const names[] = { [POLICY_BY_ADDRESS] = "address", [POLICY_BY_ACCOUNT] = "account",
                                         [POLICY_BY_TOKEN] = "token",     [POLICY_BY_SITE] = "everybody together",
                                         [POLICY_BY_PATH] = "path",       [POLICY_BY_HEADER] = "value of the header " };
    const struct policy_subject *subject = &policy->subjects[limit->subject];
    bool site = subject->part[0].kind == POLICY_BY_SITE;
    fputs(site ? " by " : " by one ", out);
    for (unsigned i = 0; i < subject->part_count; i++) {
        const struct policy_part *part = &subject->part[i];
        fprintf(out, "%s%s%s", joint(i, subject->part_count, " and "), names[part->kind],
                part->kind == POLICY_BY_HEADER ? part->header.data : "");
    }
}

static const char *unit_of(uint64_t count, bool by_cost)
{
    if (by_cost)
        return count == 1 ? " unit" : " units";
    return count == 1 ? " time" : " times";
}

/* `50 times in any 10 s` */
static void describe_rate(const struct engine_limit *engine, bool by_cost, FILE *out)
{
    char time[SPEECH_BYTES], interval[SPEECH_BYTES];
    const struct engine_spec *spec = &engine->spec;
    const char *unit = unit_of(spec->count, by_cost);
    say_duration(spec->period_ns, time);
    if (spec->algorithm == ENGINE_SLIDING)
        fprintf(out, "%" PRIu64 "%s in any %s", spec->count, unit, time);
    else if (spec->algorithm == ENGINE_FIXED && spec->flags & ENGINE_FROM_FIRST)
        fprintf(out, "%" PRIu64 "%s in %s from the first one on", spec->count, unit, time);
    else if (spec->algorithm == ENGINE_FIXED)
        fprintf(out, "%" PRIu64 "%s in each %s of the clock", spec->count, unit, time);
    else if (spec->algorithm == ENGINE_BUCKET)
        fprintf(out, "%" PRIu64 "%s at once, and then %" PRIu64 " per %s", spec->burst, unit_of(spec->burst, by_cost),
                spec->count, time);
    else
        fprintf(out, "%s each %s with a burst of %" PRIu64 " more", by_cost ? "1 unit" : "once",
                say_interval(spec->period_ns, spec->count, interval), spec->burst);
}

static void describe_refusal(const struct policy_limit *limit, const char *who, FILE *out)
{
    fprintf(out, "%s gets a %u%s", who, limit->answer->status,
            limit->answer->headers & HTTP_RETRY_AFTER ? " with Retry-After" : "");
}

/* A leaky bucket holds back those of its burst; what exceeds that has no place to wait. */
static void describe_delay(const struct policy_limit *limit, const struct engine_spec *spec, const char *who, FILE *out)
{
    char time[SPEECH_BYTES];
    if (spec->algorithm != ENGINE_LEAKY)
        fprintf(out, "%s is held back until it fits, for up to %s; ", who, say_duration(spec->period_ns, time));
    describe_refusal(limit, spec->algorithm != ENGINE_LEAKY ? "what would have to wait longer" : who, out);
}

static void describe_excess(const struct policy_limit *limit, const struct engine_spec *spec, const char *who,
                            FILE *out)
{
    switch (limit->action) {
    case POLICY_REFUSE:
        describe_refusal(limit, who, out);
        return;
    case POLICY_DROP:
        fprintf(out, "%s is dropped without an answer", who);
        return;
    case POLICY_DELAY:
        describe_delay(limit, spec, who, out);
        return;
    case POLICY_CHALLENGE:
        if (limit->challenge_to != NULL) {
            fprintf(out, "%s is sent to %s", who, limit->challenge_to);
            return;
        }
        fprintf(out, "%s goes through, and the application is told to ask for more", who);
        return;
    case POLICY_MARK:
        fprintf(out, "%s goes through with a mark", who);
        return;
    }
}

/* N of 0.  Waiting does not help, so that no Retry-After is sent and nobody is held back. */
static void describe_nothing(const struct policy *policy, const struct policy_limit *limit,
                             const struct engine_spec *spec, FILE *out)
{
    bool goes_through = limit->action == POLICY_CHALLENGE || limit->action == POLICY_MARK;
    fputs(goes_through ? " is always too much" : " is never let through", out);
    describe_key(policy, limit, out);
    fputs("; ", out);
    if (goes_through || limit->action == POLICY_DROP)
        describe_excess(limit, spec, "it", out);
    else
        fprintf(out, "it gets a %u", limit->answer->status);
    fputs(".\n", out);
}

static void describe_one_rate(const struct policy *policy, const struct policy_limit *limit,
                              const struct policy_rate *rate, FILE *out)
{
    char ordinal[SPEECH_BYTES], who[SPEECH_BYTES + 16];
    bool by_cost = limit->class_cost_count > 0 || limit->cost != 1;
    fprintf(out, "%s: ", rate->name);
    describe_requests(policy, limit, out);
    if (rate->engine.spec.count == 0) {
        describe_nothing(policy, limit, &rate->engine.spec, out);
        return;
    }
    if (limit->distinct != POLICY_NOT_DISTINCT) {
        char period[SPEECH_BYTES];
        say_duration(rate->engine.spec.period_ns, period);
        fprintf(out, " may name %" PRIu64 " different %s in any %s", rate->engine.spec.count,
                limit->distinct == POLICY_DISTINCT_ACCOUNTS ? "accounts" : "addresses", period);
        describe_key(policy, limit, out);
        fputs("; ", out);
        describe_excess(limit, &rate->engine.spec, "one with yet another", out);
        fputs(".\n", out);
        return;
    }
    if (limit->failures)
        fputs(by_cost ? " may spend on failures " : " may fail ", out);
    else
        fputs(by_cost ? " may spend " : " may be made ", out);
    describe_rate(&rate->engine, by_cost, out);
    describe_key(policy, limit, out);
    fputs("; ", out);
    snprintf(who, sizeof(who), "the %s", say_ordinal(rate->engine.capacity + 1, ordinal));
    describe_excess(limit, &rate->engine.spec,
                    limit->failures ? "whatever comes after that"
                    : by_cost       ? "what goes beyond"
                                    : who,
                    out);
    fputs(".\n", out);
}

static void describe_cost(const struct policy *policy, const struct policy_limit *limit, FILE *out)
{
    if (limit->class_cost_count == 0 && limit->cost == 1)
        return;
    fprintf(out, "  A request costs %" PRIu64, limit->cost);
    for (uint32_t i = 0; i < limit->class_cost_count; i++)
        fprintf(out, "%s %" PRIu64 " if it is `%s`", i == 0 ? "," : ", else", limit->class_cost[i].cost,
                policy->class_names[limit->class_cost[i].class_index]);
    fputs(".\n", out);
}

static void describe_block(const struct policy_limit *limit, const struct engine_spec *spec, FILE *out)
{
    static const char *const deeds[] = { [POLICY_REFUSE] = "refused by this limit",
                                         [POLICY_DROP] = "dropped by this limit",
                                         [POLICY_DELAY] = "refused by this limit",
                                         [POLICY_CHALLENGE] = "challenged by this limit",
                                         [POLICY_MARK] = "marked by this limit" };
    char time[SPEECH_BYTES], most[SPEECH_BYTES], forgive[SPEECH_BYTES];
    if (spec->block_ns == 0)
        return;
    say_duration(spec->block_ns, time);
    if (spec->flags & ENGINE_BAN)
        fprintf(out, "  Who exceeds it is banned: every limit refuses the address for %s", time);
    else
        fprintf(out, "  Who exceeds it is %s for %s", deeds[limit->action], time);
    fputs(spec->flags & ENGINE_EXTEND ? ", anew with each request meanwhile.\n" : ".\n", out);
    if (spec->factor_milli > 1000)
        fprintf(out, "  Each further time is %g times as long, up to %s, until nothing happened for %s.\n",
                (double)spec->factor_milli / 1000, say_duration(spec->block_max_ns, most),
                say_duration(spec->forgive_ns, forgive));
}

static void describe_hold(const struct policy_limit *limit, FILE *out)
{
    char time[SPEECH_BYTES];
    if (!limit->failures)
        return;
    if (limit->dry_run || limit->action == POLICY_MARK)
        fputs("  What only unanswered ones stand in the way of passes.\n", out);
    else if (limit->hold_ns > 0)
        fprintf(out, "  A request that only unanswered ones stand in the way of is held for up to %s.\n",
                say_duration(limit->hold_ns, time));
    else
        fputs("  No request is held until others are answered.\n", out);
    if (limit->reset_on_success)
        fputs("  A success clears the failures of its key.\n", out);
}

static void describe_leaky(const struct engine_spec *spec, FILE *out)
{
    if (spec->algorithm != ENGINE_LEAKY || spec->burst == 0 || spec->undelayed >= spec->burst)
        return;
    if (spec->undelayed == 0)
        fputs("  Those of the burst are held back until the rate allows them.\n", out);
    else
        fprintf(out, "  The first %" PRIu64 " of the burst pass undelayed, the others are held back.\n",
                spec->undelayed);
}

static void describe_doors(uint32_t doors, FILE *out)
{
    static const char *const names[] = { "library", "nginx", "haproxy", "redis", "php", "envoy", "forward-auth" };
    size_t count = (size_t)__builtin_popcount(doors), told = 0;
    if (doors == UINT32_MAX)
        return;
    fputs("  It applies at ", out);
    for (unsigned i = 0; i < DROSSEL_DOOR_COUNT; i++)
        if (doors >> i & 1)
            fprintf(out, "%s%s", joint(told++, count, " and "), names[i]);
    fputs(count == 0 ? "no door.\n" : " only.\n", out);
}

static void describe_limit(const struct policy *policy, const struct policy_limit *limit, FILE *out)
{
    const struct engine_spec *spec = &policy->rates[limit->first_rate].engine.spec;
    for (uint32_t i = 0; i < limit->rate_count; i++)
        describe_one_rate(policy, limit, &policy->rates[limit->first_rate + i], out);
    describe_cost(policy, limit, out);
    describe_leaky(spec, out);
    describe_hold(limit, out);
    describe_block(limit, spec, out);
    if ((spec->flags & (ENGINE_COUNT_REFUSED | ENGINE_QUEUE)) == ENGINE_COUNT_REFUSED)
        fputs("  Refused requests count, too.\n", out);
    uint32_t overridden = overrides_count(limit->overrides);
    if (overridden > 0)
        fprintf(out, "  %u named %s other limits.\n", overridden, overridden == 1 ? "key has" : "keys have");
    describe_doors(limit->doors, out);
    describe_own_answer(policy, limit, out);
    if (limit->dry_run)
        fputs("  This is a dry run: it counts, logs and marks, and refuses nobody.\n", out);
}

void policy_describe(const struct policy *policy, FILE *out)
{
    describe_client(policy, out);
    describe_exempt(policy->index, out);
    for (uint32_t i = 0; i < policy->class_count; i++)
        describe_class(&policy->index->classes[i], out);
    describe_failures(policy, out);
    describe_answer(&policy->answer, out);
    describe_table(policy, out);
    if (policy->limit_count == 0)
        fputs("There are no limits.\n", out);
    for (uint32_t i = 0; i < policy->limit_count; i++)
        describe_limit(policy, &policy->limits[i], out);
}
