/* Warnings about limits that no single key can tell. */
#include "policy/reading.h"
void check_limits(struct reading *reading)
{
    (void)reading;
}
