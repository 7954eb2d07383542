/*
 * The library in ten lines: decides requests of one address, as a program without a web server would.
 *
 *     cc examples/library.c $(pkg-config --cflags --libs drossel) -o /tmp/library && /tmp/library examples/first.yaml
 */
#include <drossel.h>
#include <stdio.h>

int main(int count, char **argument)
{
    struct drossel *limiter;
    struct drossel_error why;
    struct drossel_options options = { .private_table = true }; /* NULL: the table that nginx shares */
    if (count != 2 || drossel_open(&limiter, argument[1], &options, &why) != DROSSEL_OK) {
        fprintf(stderr, "%s\n", count == 2 ? why.text : "usage: library POLICY");
        return 1;
    }
    struct drossel_request request = { .method = DROSSEL_TEXT("GET"), .path = DROSSEL_TEXT("/search") };
    if (drossel_address_parse("203.0.113.7", 11, &request.peer) != DROSSEL_OK)
        return 1;
    for (int i = 1; i <= 52; i++) {
        struct drossel_decision decision;
        request.now_ns = drossel_now(limiter);
        if (drossel_check(limiter, &request, &decision) == DROSSEL_OK && i >= 49)
            printf("%d: %s, %llu left, wait %.3f s\n", i, drossel_verdict_name(decision.verdict),
                   (unsigned long long)decision.remaining, (double)decision.wait_ns / 1e9);
    }
    drossel_close(limiter);
    return 0;
}
