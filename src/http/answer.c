/*
 * The answer to a refused request.
 *
 * Who is told what.  Everybody: the status and when to come back.  Only to whom the policy reveals it: names of limits
 * and quota numbers.  A request that came past the trusted proxy: neither.
 *
 * The jitter.  Refused clients that all wait exactly as long as they were told come back at one instant.  So each waits a
 * little longer, by a number made from its key and the second of the clock: no random state, and two answers to one
 * client in one second agree.
 */
#include "http/answer.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define MILLION 1000000u
#define JITTER_MAX_NS (300 * SECOND_NS) /* more does not spread better, and costs honest clients more */
#define WAIT_MAX_NS (UINT64_C(2147483000) * SECOND_NS)

/* SplitMix64's finalizer: every bit of the input changes half of the output's. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* 0 to jitter_ppm of the wait, uniformly. */
static uint64_t jitter_ns(uint64_t wait_ns, uint32_t jitter_ppm, uint64_t hash, uint64_t unix_now_s)
{
    uint64_t ppm = jitter_ppm > MILLION ? MILLION : jitter_ppm;
    uint64_t spread = wait_ns / MILLION * ppm;
    if (spread > JITTER_MAX_NS)
        spread = JITTER_MAX_NS;
    uint64_t draw = mix(hash ^ mix(unix_now_s)) >> 40; /* 24 bits; the spread has fewer than 39 */
    return spread * draw >> 24;
}

/* A wait that with its jitter still is a number of seconds that every client can read. */
static uint64_t bounded(uint64_t wait_ns)
{
    return wait_ns > WAIT_MAX_NS ? WAIT_MAX_NS : wait_ns;
}

uint32_t http_retry_after(uint64_t wait_ns, uint32_t jitter_ppm, uint64_t hash, uint64_t unix_now_s)
{
    if (wait_ns == DROSSEL_NEVER)
        return 0;
    wait_ns = bounded(wait_ns);
    uint64_t whole_ns = wait_ns + jitter_ns(wait_ns, jitter_ppm, hash, unix_now_s);
    uint64_t seconds = whole_ns / SECOND_NS + (whole_ns % SECOND_NS != 0);
    return seconds == 0 ? 1 : (uint32_t)seconds;
}

/* What one answer is made from. */
struct making {
    const struct http_answer_rules *rules;
    const struct drossel_decision *decision;
    const struct http_answer_request *request;
    struct http_answer *answer;
    struct http_writer writer;
    bool revealed;
    size_t quota_count, violated_count;
    struct drossel_text violated[DROSSEL_QUOTAS];
};

static bool is_revealed(const struct http_answer_rules *rules, const struct drossel_decision *decision)
{
    if (decision->untrusted)
        return false;
    return rules->reveal == HTTP_REVEAL_EVERYONE || (rules->reveal == HTTP_REVEAL_SIGNED_IN && decision->signed_in);
}

static struct drossel_text text_of(const char *text)
{
    return (struct drossel_text){ text, text == NULL ? 0 : strlen(text) };
}

static void gather_violated(struct making *making)
{
    const struct drossel_decision *decision = making->decision;
    making->quota_count = decision->quota_count > DROSSEL_QUOTAS ? DROSSEL_QUOTAS : decision->quota_count;
    for (size_t i = 0; i < making->quota_count; i++) {
        if (decision->quota[i].violated)
            making->violated[making->violated_count++] = text_of(decision->quota[i].name);
    }
}

/* ---- fields ---- */

/* How many guesses an account has left tells a stranger how its owner, or another stranger, has fared.  A token that is merely there
 * proves nothing; that of the limit which refused is no secret, as Retry-After tells it. */
static bool is_told(const struct making *making, const struct drossel_quota *quota)
{
    return !quota->counts_failures || quota->violated || making->rules->reveal == HTTP_REVEAL_EVERYONE;
}

/* A window in whole seconds; one below a second cannot be said. */
static struct http_policy_item policy_item(const struct drossel_quota *quota)
{
    uint64_t window_s = quota->window_ns / SECOND_NS + (quota->window_ns % SECOND_NS != 0);
    return (struct http_policy_item){ .name = text_of(quota->name),
                                      .quota = (double)quota->count,
                                      .window_s = (double)window_s,
                                      .has_window = quota->window_ns >= SECOND_NS };
}

static struct http_limit_item limit_item(const struct drossel_quota *quota)
{
    double remaining = (double)quota->remaining;
    return (struct http_limit_item){ .policy = text_of(quota->name),
                                     .remaining = remaining > HTTP_INTEGER_MAX ? HTTP_INTEGER_MAX : remaining,
                                     .window_ns = quota->more_ns,
                                     .has_window =
                                         quota->more_ns != DROSSEL_NEVER && (quota->more_ns > 0 || quota->violated) };
}

static void put_fields(struct making *making, struct http_fields_input *input)
{
    static const struct {
        uint8_t choice;
        enum http_profile profile;
    } profiles[] = {
        { HTTP_DRAFT_11, HTTP_PROFILE_DRAFT_11 },       { HTTP_DRAFT_12, HTTP_PROFILE_DRAFT_12 },
        { HTTP_DRAFT_7, HTTP_PROFILE_DRAFT_7 },         { HTTP_DRAFT_6, HTTP_PROFILE_DRAFT_6 },
        { HTTP_X_RATELIMIT, HTTP_PROFILE_X_RATELIMIT },
    };
    struct http_policy_item policies[DROSSEL_QUOTAS];
    struct http_limit_item limits[DROSSEL_QUOTAS];
    struct http_answer *answer = making->answer;
    struct http_field_list list = { answer->field, answer->field_count, HTTP_ANSWER_FIELDS };
    size_t count = 0;
    for (size_t i = 0; making->revealed && i < making->quota_count; i++) {
        if (!is_told(making, &making->decision->quota[i]))
            continue;
        policies[count] = policy_item(&making->decision->quota[i]);
        limits[count] = limit_item(&making->decision->quota[i]);
        if (http_policy_item_check(&policies[count]) == NULL)
            count++; /* a name that no field can hold is left out, not the others with it */
    }
    if (count == 0)
        return; /* nothing to tell: by default to everybody who is not signed in, and so to nearly all who are refused */
    input->policies = policies;
    input->limits = limits;
    input->policy_count = input->limit_count = count;
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        if ((making->rules->headers & profiles[i].choice) == 0)
            continue;
        input->profile = profiles[i].profile;
        if (http_fields_format(input, &list, &making->writer) != NULL)
            break; /* a name that no field can hold: the policy's reader lets none through */
    }
    answer->field_count = list.count;
}

/* Cache-Control and Retry-After, before anything else: they must fit. */
static void put_retry_after(struct making *making, struct http_fields_input *input)
{
    struct http_answer *answer = making->answer;
    struct http_field_list list = { answer->field, 0, HTTP_ANSWER_FIELDS };
    input->profile = HTTP_PROFILE_NONE;
    if (http_fields_format(input, &list, &making->writer) == NULL)
        answer->field_count = list.count;
}

/*
 * The second that dates are counted from.  They name whole seconds, and so does unix_now_s, but the wait begins within
 * that second: rounded up for itself it may end after the date.  One second later then, and not in any other case.
 */
static uint64_t dates_from_s(const struct http_answer_request *request, uint64_t wait_ns)
{
    uint64_t beyond_ns = (wait_ns + SECOND_NS - 1) % SECOND_NS;
    return request->unix_now_s + (beyond_ns + request->unix_now_ns >= SECOND_NS);
}

static struct http_fields_input fields_input(const struct making *making)
{
    const struct http_answer_rules *rules = making->rules;
    const struct drossel_decision *decision = making->decision;
    bool ends = making->answer->retry_after_s > 0;
    uint64_t now_s = making->request->unix_now_s;
    uint64_t wait_ns = bounded(decision->wait_ns);
    uint64_t spread_ns = ends ? jitter_ns(wait_ns, rules->jitter_ppm, decision->subject_hash, now_s) : 0;
    return (struct http_fields_input){
        .denied = true,
        .on_redirect = true,
        .status = making->answer->status,
        .has_retry_after = ends && (rules->headers & HTTP_RETRY_AFTER) != 0,
        .retry_after_date = rules->date,
        .retry_after_ns = ends ? wait_ns : 0,
        .jitter_ns = spread_ns,
        .now_s = dates_from_s(making->request, ends ? wait_ns + spread_ns : 0),
        .violated = making->violated,
        .violated_count = making->violated_count,
    };
}

/* ---- bodies ---- */

static void put_problem(struct making *making)
{
    const struct drossel_decision *decision = making->decision;
    char detail[96];
    struct http_writer words = { .data = detail, .cap = sizeof detail };
    struct http_problem problem = { .status = making->answer->status };
    uint32_t seconds = making->answer->retry_after_s;
    if (decision->untrusted) {
        problem.kind = HTTP_PROBLEM_BLANK;
        http_put_string(&words, "This site can only be reached at its public address.");
    } else if (seconds == 0) {
        http_put_string(&words, "Waiting does not help.");
    } else {
        http_put_string(&words, "Try again in ");
        http_put_number(&words, seconds);
        http_put_string(&words, seconds == 1 ? " second." : " seconds.");
    }
    problem.detail = http_written(&words, 0);
    problem.violated = making->revealed && making->violated_count > 0 ? making->violated : NULL;
    problem.violated_count = making->violated_count;
    http_problem_format(&problem, &making->writer);
}

static bool begins(struct drossel_text text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return text.size - at >= size && memcmp(text.data + at, word, size) == 0;
}

/* The policy's own JSON with its two places filled in. */
static void put_template(struct making *making)
{
    static const char retry_after[] = "${retry_after}", limit[] = "${limit}";
    struct drossel_text json = making->rules->json;
    struct http_writer *writer = &making->writer;
    for (size_t at = 0; at < json.size;) {
        if (begins(json, at, retry_after)) {
            if (making->answer->retry_after_s == 0)
                http_put_string(writer, "null");
            else
                http_put_number(writer, making->answer->retry_after_s);
            at += sizeof retry_after - 1;
        } else if (begins(json, at, limit)) {
            if (making->revealed)
                http_put_json(writer, text_of(making->decision->limit_name));
            at += sizeof limit - 1;
        } else {
            http_put(writer, json.data + at++, 1);
        }
    }
}

static enum http_body choose_body(const struct making *making)
{
    enum http_body body = (enum http_body)making->rules->body;
    if (body == HTTP_BODY_JSON && (making->decision->untrusted || making->rules->json.size == 0))
        return HTTP_BODY_PROBLEM; /* what the policy words for limits does not fit here */
    return body == HTTP_BODY_AUTO ? http_accept_choose(making->request->accept) : body;
}

static void put_body(struct making *making)
{
    struct http_answer *answer = making->answer;
    size_t mark = making->writer.size;
    switch (choose_body(making)) {
    case HTTP_BODY_NONE:
        return;
    case HTTP_BODY_JSON:
        answer->content_type = "application/json";
        put_template(making);
        break;
    case HTTP_BODY_HTML:
        answer->content_type = "text/html; charset=utf-8";
        http_page_format(making->decision, answer->status, answer->retry_after_s, &making->writer);
        break;
    case HTTP_BODY_TEXT:
        answer->content_type = "text/plain; charset=utf-8";
        http_text_format(making->decision, answer->retry_after_s, &making->writer);
        break;
    default:
        answer->content_type = HTTP_PROBLEM_MEDIA_TYPE;
        put_problem(making);
    }
    if (making->writer.full) {
        http_rewind(&making->writer, mark);
        answer->content_type = NULL;
    } else if (making->request->head) {
        http_rewind(&making->writer, mark);
    } else {
        answer->body = http_written(&making->writer, mark);
    }
}

void http_answer_format(const struct http_answer_rules *rules, const struct drossel_decision *decision,
                        const struct http_answer_request *request, struct http_answer *answer)
{
    struct making making = { .rules = rules, .decision = decision, .request = request, .answer = answer };
    making.writer = (struct http_writer){ .data = answer->buffer, .cap = sizeof answer->buffer };
    making.revealed = is_revealed(rules, decision);
    gather_violated(&making);
    answer->status = decision->untrusted ? 403 : rules->status == 0 ? 429 : rules->status;
    answer->retry_after_s = 0;
    if (!decision->untrusted)
        answer->retry_after_s =
            http_retry_after(decision->wait_ns, rules->jitter_ppm, decision->subject_hash, request->unix_now_s);
    answer->content_type = NULL;
    answer->body = (struct drossel_text){ NULL, 0 };
    answer->field_count = 0;
    struct http_fields_input input = fields_input(&making);
    put_retry_after(&making, &input);
    put_body(&making);
    put_fields(&making, &input);
    answer->used = making.writer.size;
}
