/* Lines of a request's headers, wherever the caller keeps them. */
#include "request/client.h"

#include <strings.h>

bool request_header(const struct drossel_request *request, struct drossel_text name, unsigned nth,
                    struct drossel_text *value)
{
    if (request->find_header != NULL)
        return request->find_header(request, name, nth, value);
    if (request->headers == NULL || name.size == 0)
        return false;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct drossel_header *header = &request->headers[i];
        if (header->name.size != name.size || strncasecmp(header->name.data, name.data, name.size) != 0)
            continue;
        if (nth-- > 0)
            continue;
        *value = header->value;
        return true;
    }
    return false;
}
