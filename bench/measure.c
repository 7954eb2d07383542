/* Clock, processor and the lines that bench/run reads. */
#include "measure.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t measure_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t measure_spent_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void measure_pin(unsigned processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

void measure_pair(const char *row, double ours, double other)
{
    printf("pair\t%s\t%.4f\t%.4f\n", row, ours, other);
    fflush(stdout);
}

void measure_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("note\t");
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
}

void measure_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}
