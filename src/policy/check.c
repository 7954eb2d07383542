/* Warnings and mistakes about the sections and the classes that no single key can tell. */
#include "policy/reading.h"
void check_sections(struct reading *reading)
{
    (void)reading;
}
void check_classes(struct reading *reading)
{
    (void)reading;
}
