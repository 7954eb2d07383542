/* The policy in plain sentences. */
#include "policy/index.h"
void policy_describe(const struct policy *policy, FILE *out)
{
    index_describe_exempt(policy->index, out);
}
