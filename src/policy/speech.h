/* Numbers and times as a person says them. */
#ifndef DROSSEL_POLICY_SPEECH_H
#define DROSSEL_POLICY_SPEECH_H

#include <stddef.h>
#include <stdint.h>

#define SPEECH_BYTES 48

/* `10 s`, `15 min`, `2 h`, `7 days`, `150 ms`: the largest unit that divides it. */
const char *say_duration(uint64_t ns, char out[SPEECH_BYTES]);
/* period / count: `12 s`, `10 ms`, `333.333 ms`. */
const char *say_interval(uint64_t period_ns, uint64_t count, char out[SPEECH_BYTES]);
/* `51st` */
const char *say_ordinal(uint64_t number, char out[SPEECH_BYTES]);

#endif
