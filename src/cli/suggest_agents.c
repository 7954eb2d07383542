/*
 * The User-Agents of a log.
 */
#include "cli/suggest_agents.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (AGENTS_MOST * 2)

/* Words that people's browsers do not have in their names. */
static const char bot_pattern[] =
    "(?i)bot|crawl|spider|slurp|archiver|curl|wget|python|java/|libwww|okhttp|go-http|scrapy|httpclient|"
    "monitor|uptime|pingdom|checker|healthcheck|feed|rss|wordpress/|w3 total cache|apache|zgrab|masscan|"
    "nikto|zmeu|nmap|censys|scan|facebookexternalhit|headless|phantomjs|ahrefs|semrush|yandex|baidu|"
    "duckduck|bing|google|\\bperl\\b|ruby|dummy connection";

struct agents {
    pcre2_code *bot;
    pcre2_match_data *data;
    unsigned char secret[crypto_shorthash_KEYBYTES]; /* nobody shall make agents collide */
    uint32_t count;
    uint32_t slot[SLOTS]; /* index + 1; 0: free */
    struct agent agent[AGENTS_MOST];
    struct agent stranger; /* the last one that is not remembered */
};

struct agents *agents_open(void)
{
    int code;
    PCRE2_SIZE offset;
    struct agents *agents = calloc(1, sizeof *agents);
    if (agents == NULL)
        return NULL;
    agents->bot = pcre2_compile((PCRE2_SPTR)bot_pattern, PCRE2_ZERO_TERMINATED, 0, &code, &offset, NULL);
    agents->data = pcre2_match_data_create(1, NULL);
    randombytes_buf(agents->secret, sizeof agents->secret);
    if (agents->bot != NULL && agents->data != NULL) {
        pcre2_jit_compile(agents->bot, PCRE2_JIT_COMPLETE);
        return agents;
    }
    agents_close(agents);
    return NULL;
}

void agents_close(struct agents *agents)
{
    for (uint32_t i = 0; i < agents->count; i++)
        free(agents->agent[i].text);
    pcre2_match_data_free(agents->data);
    pcre2_code_free(agents->bot);
    free(agents);
}

static void look_at(struct agents *agents, struct drossel_text text, struct agent *agent)
{
    *agent = (struct agent){ 0 };
    agent->is_bot = pcre2_match(agents->bot, (PCRE2_SPTR)text.data, text.size, 0, 0, agents->data, NULL) >= 0;
    agent->is_browser = !agent->is_bot && ((text.size > 8 && memcmp(text.data, "Mozilla/", 8) == 0) ||
                                           (text.size > 6 && memcmp(text.data, "Opera/", 6) == 0));
}

static size_t slot_of(const struct agents *agents, struct drossel_text text)
{
    uint64_t hash;
    unsigned char out[crypto_shorthash_BYTES];
    crypto_shorthash(out, (const unsigned char *)text.data, text.size, agents->secret);
    memcpy(&hash, out, sizeof hash);
    size_t at = (size_t)hash % SLOTS;
    while (agents->slot[at] != 0) {
        const struct agent *agent = &agents->agent[agents->slot[at] - 1];
        if (agent->size == text.size && memcmp(agent->text, text.data, text.size) == 0)
            break;
        at = (at + 1) % SLOTS;
    }
    return at;
}

const struct agent *agents_find(struct agents *agents, struct drossel_text text)
{
    if (text.size <= AGENT_BYTES_MOST) {
        size_t at = slot_of(agents, text);
        if (agents->slot[at] != 0)
            return &agents->agent[agents->slot[at] - 1];
        char *copy = agents->count < AGENTS_MOST ? calloc(1, text.size + 1) : NULL;
        if (copy != NULL) {
            memcpy(copy, text.data, text.size);
            struct agent *agent = &agents->agent[agents->count];
            look_at(agents, text, agent);
            agent->text = copy;
            agent->size = (uint32_t)text.size;
            agent->number = ++agents->count;
            agents->slot[at] = agents->count;
            return agent;
        }
    }
    look_at(agents, text, &agents->stranger);
    return &agents->stranger;
}
