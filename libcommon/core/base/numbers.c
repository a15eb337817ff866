#include "base/numbers.h"

#include <stdlib.h>

geodec_status geodec_numbers_parse(const char *list, const char *option, double low, double high, int64_t room,
                                   double *out, int64_t *n, geodec_err *err)
{
    const char *at = list;
    char *end;
    for (*n = 0;; at = end + 1) {
        const double v = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(v >= low && v <= high) || *n == room)
            GEODEC_FAIL(GEODEC_INVAL, "%s: '%.80s' is not a list of up to %lld numbers from %g to %g", option, list,
                        (long long)room, low, high);
        out[(*n)++] = v;
        if (!*end) break;
    }
    return GEODEC_OK;
}
