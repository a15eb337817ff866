#include "base/shard.h"

static const char *number(const char *p, int64_t *out)
{
    int64_t v = 0;
    if (*p < '1' || *p > '9') return NULL;
    for (; *p >= '0' && *p <= '9'; p++) {
        v = v * 10 + (*p - '0');
        if (v > GEODEC_SHARDS_MAX) return NULL;
    }
    *out = v;
    return p;
}

geodec_status geodec_shard_parse(const char *text, geodec_shard *out, geodec_err *err)
{
    geodec_shard s = {0};
    if (text) {
        const char *p = number(text, &s.index);
        if (p) p = *p == '/' ? number(p + 1, &s.count) : NULL;
        if (!p || *p || s.index > s.count)
            GEODEC_FAIL(GEODEC_INVAL, "'%s' is not a slice i/m with 1 <= i <= m <= %d", text, GEODEC_SHARDS_MAX);
    }
    *out = s;
    return GEODEC_OK;
}

geodec_status geodec_shard_range(geodec_shard s, int64_t n, int64_t *first, int64_t *end, geodec_err *err)
{
    int64_t from = 0, to = n;
    if (s.count != 0) {
        if (s.count < 1 || s.count > GEODEC_SHARDS_MAX || s.index < 1 || s.index > s.count)
            GEODEC_FAIL(GEODEC_INVAL, "slice %lld of %lld", (long long)s.index, (long long)s.count);
        /* n = q m + r; the product n i could overflow */
        const int64_t q = n / s.count, r = n % s.count;
        from = q * (s.index - 1) + r * (s.index - 1) / s.count;
        to = q * s.index + r * s.index / s.count;
    }
    *first = from;
    *end = to;
    return GEODEC_OK;
}
