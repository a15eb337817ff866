/* Attention over one block of keys, written over a vector of 16 floats; included by kernels_body.h. kernels_internal.h
 * has the definition. The including file also gives
 *   f_top(a)                the largest lane
 *   f_within(a, lo, hi, b)  lanes lo .. hi-1 of a, the others of b
 *   f_pair(a, b)            a in the first eight lanes, b in the others; f_load_pair(p, q), f_store_pair(p, q, a)
 *   ATTEND_ROWS             queries of a register tile (at most 6)
 *   ATTEND_WIDE(R)          vectors of sums each of R queries may have: 4, or 2 with few registers */

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* 16 elements of keys or values, from element i; those of Q8_0 without their scale. type is a constant after inlining.
 */
INLINE fvec load_elements(const int type, const void *p, int64_t i)
{
    const uint8_t *bytes = p;
    return type == GEODEC_KV_F32   ? f_load((const float *)p + i)
           : type == GEODEC_KV_F16 ? load_f16(bytes + 2 * i)
                                   : load_i8(bytes + i);
}

INLINE int64_t element_size(const int type) { return type == GEODEC_KV_F32 ? 4 : type == GEODEC_KV_F16 ? 2 : 1; }

static inline float float_of_bf16(uint16_t b)
{
    const uint32_t u = (uint32_t)b << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* ---- scores ----------------------------------------------------------------------------------------------------- */

/* Scores of R queries with V groups of 16 keys; type, R and V are constants after inlining. */
INLINE void score_tile(const int type, const int R, const int V, geodec__attend_query *const *query,
                       const geodec__attend_keys *keys, int64_t dim, int64_t group)
{
    fvec sum[6][4], scale[4];
    const float *q[6];
    UNROLL
    for (int r = 0; r < R; r++) {
        q[r] = query[r]->q;
        UNROLL
        for (int j = 0; j < V; j++) sum[r][j] = f_zero();
    }
    const uint8_t *ahead = (const uint8_t *)keys->k + keys->ahead;
    const int64_t part = type == GEODEC_KV_Q8_0 ? GEODEC__KV_GROUP : dim, row = GEODEC__KEYS * element_size(type);
    for (int64_t first = 0; first < dim; first += part) {
        const int64_t end = first + part < dim ? first + part : dim;
        UNROLL
        for (int j = 0; j < V && type == GEODEC_KV_Q8_0; j++)
            scale[j] = load_bf16(
                (const uint8_t *)(keys->k_scale + first / GEODEC__KV_GROUP * GEODEC__KEYS + 16 * (group + j)));
        for (int64_t d = first; d < end; d++) {
            fvec key[4];
            if (keys->ahead) {
                UNROLL
                for (int64_t line = 0; line < row; line += 64) __builtin_prefetch(ahead + d * row + line);
            }
            UNROLL
            for (int j = 0; j < V; j++) {
                key[j] = load_elements(type, keys->k, d * GEODEC__KEYS + 16 * (group + j));
                if (type == GEODEC_KV_Q8_0) key[j] = f_mul(scale[j], key[j]);
            }
            UNROLL
            for (int r = 0; r < R; r++) {
                const fvec qd = f_set1(q[r][d]);
                UNROLL
                for (int j = 0; j < V; j++) sum[r][j] = f_fma(qd, key[j], sum[r][j]);
            }
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int j = 0; j < V; j++) f_store(query[r]->score + 16 * (group + j), sum[r][j]);
    }
}

typedef void (*score_fn)(geodec__attend_query *const *query, const geodec__attend_keys *keys, int64_t dim,
                         int64_t group);
#define SCORE(T, R, V)                                                                                                 \
    static void score_##T##_##R##_##V(geodec__attend_query *const *query, const geodec__attend_keys *keys,             \
                                      int64_t dim, int64_t group)                                                      \
    {                                                                                                                  \
        score_tile(GEODEC_KV_##T, R, V, query, keys, dim, group);                                                      \
    }
#define SCORE_ROW(R, T) SCORE(T, R, 1) SCORE(T, R, 2) SCORE(T, R, 4)
#define SCORE_NAMES(R, T) [R] = {score_##T##_##R##_1, score_##T##_##R##_2, score_##T##_##R##_4},
/* The functions of a cache type for 1 .. ATTEND_ROWS queries, and their table. */
#define ROWS_OF(X, T) UP_TO(ATTEND_ROWS, X, T)
ROWS_OF(SCORE_ROW, F32)
ROWS_OF(SCORE_ROW, F16)
ROWS_OF(SCORE_ROW, Q8_0)
static const score_fn score_table[3][ATTEND_ROWS + 1][3] = {
    {ROWS_OF(SCORE_NAMES, F32)}, {ROWS_OF(SCORE_NAMES, F16)}, {ROWS_OF(SCORE_NAMES, Q8_0)}};

/* The groups of keys that any of the queries sees. */
static void score_queries(geodec__attend_query *const *query, int64_t n, const geodec__attend_keys *keys, int64_t dim)
{
    int64_t lo = GEODEC__KEYS, hi = 0;
    for (int64_t r = 0; r < n; r++) {
        lo = query[r]->lo < lo ? query[r]->lo : lo;
        hi = query[r]->hi > hi ? query[r]->hi : hi;
    }
    const score_fn *table = score_table[keys->type][n];
    const int64_t end = (hi + 15) / 16;
    for (int64_t g = lo / 16; g < end;) {
        const int64_t left = end - g, step = left >= 4 && ATTEND_WIDE(n) >= 4 ? 4 : left >= 2 ? 2 : 1;
        table[step / 2](query, keys, dim, g);
        g += step;
    }
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

/* Scores of V groups of keys become exponentials, all in registers; the state is brought to the new largest score. V is
 * a constant after inlining. */
INLINE void weigh_groups(const int V, geodec__attend_query *query, int64_t width)
{
    const int64_t begin = query->lo / 16 * 16, first = query->lo - begin, last = query->hi - begin - 16 * (V - 1);
    float *s = query->score + begin, *state = query->state;
    fvec x[4];
    UNROLL
    for (int i = 0; i < V; i++) x[i] = f_load(s + 16 * i);
    const bool partly = first > 0 || last < 16;
    if (partly) {
        x[0] = f_within(x[0], first, 16, f_set1(-3e38f));
        x[V - 1] = f_within(x[V - 1], 0, last, f_set1(-3e38f));
    }
    fvec m = x[0];
    UNROLL
    for (int i = 1; i < V; i++) m = f_max(x[i], m);
    const float before = state[width + GEODEC__ATTEND_TOP], here = f_top(m), top = here > before ? here : before;
    if (before > -INFINITY) { /* otherwise nothing is summed yet; a factor of one is cheaper than a branch */
        const fvec shrink = f_exp(f_set1(before - top));
        for (int64_t i = 0; i < width + 16; i += 16) f_store(state + i, f_mul(f_load(state + i), shrink));
    }
    state[width + GEODEC__ATTEND_TOP] = top;
    UNROLL
    for (int i = 0; i < V; i++) x[i] = f_exp(f_sub(x[i], f_set1(top)));
    if (partly) {
        x[0] = f_within(x[0], first, 16, f_zero());
        x[V - 1] = f_within(x[V - 1], 0, last, f_zero());
    }
    fvec sum = f_load(state + width);
    UNROLL
    for (int i = 0; i < V; i++) {
        f_store(s + 16 * i, x[i]);
        sum = f_add(sum, x[i]);
    }
    f_store(state + width, sum);
}

/* Queries that see V groups; a function for each V, whose constants stay in registers from one query to the next. */
#define WEIGH(V)                                                                                                       \
    static __attribute__((noinline)) void weigh_##V(geodec__attend_query *const *query, int64_t n, int64_t width)      \
    {                                                                                                                  \
        for (int64_t r = 0; r < n; r++) weigh_groups(V, query[r], width);                                              \
    }
WEIGH(1)
WEIGH(2)
WEIGH(3)
WEIGH(4)

static int64_t groups_seen(const geodec__attend_query *query) { return (query->hi + 15) / 16 - query->lo / 16; }

static void weigh(geodec__attend_query *const *query, int64_t n, int64_t width, float cap)
{
    static void (*const table[])(geodec__attend_query *const *query, int64_t n, int64_t width) = {weigh_1, weigh_2,
                                                                                                  weigh_3, weigh_4};
    for (int64_t r = 0; cap > 0 && r < n; r++)
        softcap(query[r]->score + query[r]->lo / 16 * 16, 16 * groups_seen(query[r]), cap);
    for (int64_t r = 0; r < n; r++)
        for (int32_t j = query[r]->lo; query[r]->slope != 0 && j < query[r]->hi; j++)
            query[r]->score[j] += query[r]->slope * (float)(query[r]->before + j);
    for (int64_t r = 0, end; r < n; r = end) {
        const int64_t groups = groups_seen(query[r]);
        for (end = r + 1; end < n && groups_seen(query[end]) == groups; end++) {
        }
        table[groups - 1](query + r, end - r, width);
    }
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* Adds keys lo .. hi-1 (multiples of C) to D vectors of R queries' sums, C of them by position modulo C; R, D and C are
 * constants after inlining, as is type. */
INLINE void value_tile(const int type, const int R, const int D, const int C, geodec__attend_query *const *query,
                       const geodec__attend_keys *keys, int64_t dim, int64_t at, int64_t lo, int64_t hi)
{
    fvec sum[6][4];
    const float *e[6];
    float *acc[6];
    UNROLL
    for (int r = 0; r < R; r++) {
        e[r] = query[r]->score;
        acc[r] = query[r]->state + at;
        UNROLL
        for (int i = 0; i < C * D; i++) sum[r][i] = f_load(acc[r] + 16 * i);
    }
    float scale[2][GEODEC__KEYS]; /* D is even where there is more than one group; at is a multiple of 32 then */
    const int64_t group = at / GEODEC__KV_GROUP, groups = geodec__kv_groups(dim);
    for (int g = 0; g < 2 && type == GEODEC_KV_Q8_0 && group + g < groups; g++)
        for (int64_t p = lo; p < hi; p++) scale[g][p] = float_of_bf16(keys->v_scale[p * groups + group + g]);
    const uint8_t *ahead = (const uint8_t *)keys->v + keys->ahead;
    for (int64_t p = lo; p < hi; p += C) {
        UNROLL
        for (int j = 0; j < C; j++) {
            fvec x[4];
            if (keys->ahead) { /* prefetch of the next block: every line of this part of the row */
                UNROLL
                for (int64_t line = 0; line < 16 * D * element_size(type); line += 64)
                    __builtin_prefetch(ahead + ((p + j) * dim + at) * element_size(type) + line);
            }
            UNROLL
            for (int i = 0; i < D; i++) {
                x[i] = load_elements(type, keys->v, (p + j) * dim + at + 16 * i);
                if (type == GEODEC_KV_Q8_0) x[i] = f_mul(f_set1(scale[i / 2][p + j]), x[i]);
            }
            UNROLL
            for (int r = 0; r < R; r++) {
                const fvec w = f_set1(e[r][p + j]);
                UNROLL
                for (int i = 0; i < D; i++) sum[r][j * D + i] = f_fma(w, x[i], sum[r][j * D + i]);
            }
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int i = 0; i < C * D; i++) f_store(acc[r] + 16 * i, sum[r][i]);
    }
}

typedef void (*value_fn)(geodec__attend_query *const *query, const geodec__attend_keys *keys, int64_t dim, int64_t at,
                         int64_t lo, int64_t hi);
#define VALUE(T, R, D, C)                                                                                              \
    static void value_##T##_##R##_##D##_##C(geodec__attend_query *const *query, const geodec__attend_keys *keys,       \
                                            int64_t dim, int64_t at, int64_t lo, int64_t hi)                           \
    {                                                                                                                  \
        value_tile(GEODEC_KV_##T, R, D, C, query, keys, dim, at, lo, hi);                                              \
    }
/* one to four vectors; two vectors of two sums; one of four */
#define VALUE_ROW(R, T)                                                                                                \
    VALUE(T, R, 1, 1) VALUE(T, R, 2, 1) VALUE(T, R, 3, 1) VALUE(T, R, 4, 1) VALUE(T, R, 2, 2) VALUE(T, R, 1, 4)
#define VALUE_NAMES(R, T)                                                                                              \
    [R] = {value_##T##_##R##_1_1, value_##T##_##R##_2_1, value_##T##_##R##_3_1,                                        \
           value_##T##_##R##_4_1, value_##T##_##R##_2_2, value_##T##_##R##_1_4},
ROWS_OF(VALUE_ROW, F32)
ROWS_OF(VALUE_ROW, F16)
ROWS_OF(VALUE_ROW, Q8_0)
static const value_fn value_table[3][ATTEND_ROWS + 1][6] = {
    {ROWS_OF(VALUE_NAMES, F32)}, {ROWS_OF(VALUE_NAMES, F16)}, {ROWS_OF(VALUE_NAMES, Q8_0)}};

/* Sums of values for heads of eight dimensions: two keys share a vector, and with it the two sums they belong to. */
INLINE void value_pairs(const int type, const int R, geodec__attend_query *const *query,
                        const geodec__attend_keys *keys, int64_t lo, int64_t hi)
{
    fvec sum[6][2];
    const float *e[6];
    float *acc[6];
    UNROLL
    for (int r = 0; r < R; r++) {
        e[r] = query[r]->score;
        acc[r] = query[r]->state;
        UNROLL
        for (int i = 0; i < 2; i++) sum[r][i] = f_load_pair(acc[r] + 32 * i, acc[r] + 32 * i + 16);
    }
    const uint8_t *ahead = (const uint8_t *)keys->v + keys->ahead;
    for (int64_t p = lo; p < hi; p += 4) {
        if (keys->ahead) {
            UNROLL
            for (int64_t line = 0; line < 32 * element_size(type); line += 64)
                __builtin_prefetch(ahead + p * 8 * element_size(type) + line);
        }
        UNROLL
        for (int i = 0; i < 2; i++) {
            const int64_t at = p + 2 * i;
            fvec x = load_elements(type, keys->v, 8 * at);
            if (type == GEODEC_KV_Q8_0)
                x = f_mul(f_pair(float_of_bf16(keys->v_scale[at]), float_of_bf16(keys->v_scale[at + 1])), x);
            UNROLL
            for (int r = 0; r < R; r++) sum[r][i] = f_fma(f_pair(e[r][at], e[r][at + 1]), x, sum[r][i]);
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int i = 0; i < 2; i++) f_store_pair(acc[r] + 32 * i, acc[r] + 32 * i + 16, sum[r][i]);
    }
}

typedef void (*pair_fn)(geodec__attend_query *const *query, const geodec__attend_keys *keys, int64_t lo, int64_t hi);
#define PAIR(R, T)                                                                                                     \
    static void pair_##T##_##R(geodec__attend_query *const *query, const geodec__attend_keys *keys, int64_t lo,        \
                               int64_t hi)                                                                             \
    {                                                                                                                  \
        value_pairs(GEODEC_KV_##T, R, query, keys, lo, hi);                                                            \
    }
#define PAIR_NAME(R, T) [R] = pair_##T##_##R,
ROWS_OF(PAIR, F32)
ROWS_OF(PAIR, F16)
ROWS_OF(PAIR, Q8_0)
static const pair_fn pair_table[3][ATTEND_ROWS + 1] = {
    {ROWS_OF(PAIR_NAME, F32)}, {ROWS_OF(PAIR_NAME, F16)}, {ROWS_OF(PAIR_NAME, Q8_0)}};

/* One key of one query. */
static void value_key(const geodec__attend_query *query, const geodec__attend_keys *keys, int64_t dim, int64_t chains,
                      int64_t p)
{
    const int64_t padded = geodec__pad(dim);
    float *acc = query->state + p % chains * padded;
    const fvec w = f_set1(query->score[p]);
    for (int64_t i = 0; i < padded; i += 16) {
        fvec x = keys->type == GEODEC_KV_F32   ? load_elements(GEODEC_KV_F32, keys->v, p * dim + i)
                 : keys->type == GEODEC_KV_F16 ? load_elements(GEODEC_KV_F16, keys->v, p * dim + i)
                                               : load_elements(GEODEC_KV_Q8_0, keys->v, p * dim + i);
        if (keys->type == GEODEC_KV_Q8_0) x = f_mul(f_set1(float_of_bf16(keys->v_scale[p])), x); /* one group */
        f_store(acc + i, f_fma(w, x, f_load(acc + i)));
    }
}

/* Keys lo .. hi-1 of n queries. */
static void value_range(geodec__attend_query *const *query, int64_t n, const geodec__attend_keys *keys, int64_t dim,
                        int64_t lo, int64_t hi)
{
    if (lo >= hi) return;
    const int64_t padded = geodec__pad(dim), chains = geodec__attend_chains(dim), wide = ATTEND_WIDE(n);
    const value_fn *table = value_table[keys->type][n];
    if (chains == 1) {
        for (int64_t at = 0; at < padded;) {
            const int64_t left = (padded - at) / 16, step = left < wide ? left : wide;
            table[step - 1](query, keys, dim, at, lo, hi);
            at += 16 * step;
        }
        return;
    }
    const int64_t up = (lo + chains - 1) / chains * chains, begin = up < hi ? up : hi;
    const int64_t down = hi / chains * chains, end = down > begin ? down : begin;
    const int shape = chains == 2 ? 4 : 5;
    const bool pairs = dim == 8;
    for (int64_t r = 0; r < n; r++) {
        for (int64_t p = lo; p < begin; p++) value_key(query[r], keys, dim, chains, p);
        if (wide < 4 && !pairs) value_table[keys->type][1][shape](query + r, keys, dim, 0, begin, end);
    }
    if (pairs)
        pair_table[keys->type][n](query, keys, begin, end);
    else if (wide >= 4)
        table[shape](query, keys, dim, 0, begin, end);
    for (int64_t r = 0; r < n; r++)
        for (int64_t p = end; p < hi; p++) value_key(query[r], keys, dim, chains, p);
}

/* First the keys that all queries see together, then those before and after them, one query at a time. */
static void value_queries(geodec__attend_query *const *query, int64_t n, const geodec__attend_keys *keys, int64_t dim)
{
    int64_t lo = 0, hi = GEODEC__KEYS;
    for (int64_t r = 0; r < n; r++) {
        lo = query[r]->lo > lo ? query[r]->lo : lo;
        hi = query[r]->hi < hi ? query[r]->hi : hi;
    }
    if (n == 1 || lo >= hi) {
        for (int64_t r = 0; r < n; r++) value_range(query + r, 1, keys, dim, query[r]->lo, query[r]->hi);
        return;
    }
    for (int64_t r = 0; r < n; r++) value_range(query + r, 1, keys, dim, query[r]->lo, lo);
    value_range(query, n, keys, dim, lo, hi);
    for (int64_t r = 0; r < n; r++) value_range(query + r, 1, keys, dim, hi, query[r]->hi);
}

/* ---- the kernels ------------------------------------------------------------------------------------------------ */

static void attend_block(geodec__attend_query *const *query, int64_t n, const geodec__attend_keys *keys, int64_t dim,
                         int64_t v_dim, float cap)
{
    const int64_t width = geodec__attend_width(v_dim);
    /* tiles of nearly equal size; all scores before all values, so that keys and then values stay in the first-level
     * cache */
    const int64_t tiles = (n + ATTEND_ROWS - 1) / ATTEND_ROWS;
    geodec__attend_keys here = *keys;
    here.ahead = 0; /* the first tile prefetches the next block */
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t begin = n * t / tiles, end = n * (t + 1) / tiles;
        score_queries(query + begin, end - begin, t ? &here : keys, dim);
    }
    weigh(query, n, width, cap);
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t begin = n * t / tiles, end = n * (t + 1) / tiles;
        value_queries(query + begin, end - begin, t ? &here : keys, v_dim);
    }
}

static void attend_merge(float *into, const float *from, int64_t dim)
{
    const int64_t width = geodec__attend_width(dim);
    const float a = into[width + GEODEC__ATTEND_TOP], b = from[width + GEODEC__ATTEND_TOP], top = b > a ? b : a;
    const fvec ca = f_exp(f_set1(a - top)), cb = f_exp(f_set1(b - top));
    for (int64_t i = 0; i < width + 16; i += 16)
        f_store(into + i, f_fma(f_load(from + i), cb, f_mul(f_load(into + i), ca)));
    into[width + GEODEC__ATTEND_TOP] = top;
}

static void attend_sink(float *state, int64_t dim, float logit)
{
    const int64_t width = geodec__attend_width(dim);
    const float a = state[width + GEODEC__ATTEND_TOP], top = logit > a ? logit : a;
    const fvec ca = f_exp(f_set1(a - top));
    float one[16];
    for (int64_t i = 0; i < width + 16; i += 16) f_store(state + i, f_mul(f_load(state + i), ca));
    f_store(one, f_exp(f_set1(logit - top)));
    state[width] += one[0];
    state[width + GEODEC__ATTEND_TOP] = top;
}

static void attend_finish(float *state, int64_t dim)
{
    const int64_t width = geodec__attend_width(dim), padded = geodec__pad(dim), chains = geodec__attend_chains(dim);
    const fvec inverse = f_set1(1.0f / sum_lanes(f_load(state + width)));
    for (int64_t i = 0; i < padded; i += 16) {
        fvec x = f_load(state + i);
        if (chains > 1) x = f_add(x, f_load(state + padded + i));
        if (chains > 2) x = f_add(x, f_add(f_load(state + 2 * padded + i), f_load(state + 3 * padded + i)));
        f_store(state + i, f_mul(x, inverse));
    }
}

/* ---- element types of the cache --------------------------------------------------------------------------------- */

static void decode_f16(const uint16_t *h, int64_t n, float *x)
{
    const uint8_t *p = (const uint8_t *)h;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) f_store(x + i, load_f16(p + 2 * i));
    for (; i < n; i++) x[i] = geodec_f16_to_f32(h[i]);
}

static void decode_q8_keys(const int8_t *q, const uint16_t *scale, int64_t dim, float *k)
{
    for (int64_t d = 0; d < dim; d++)
        for (int64_t i = 0; i < GEODEC__KEYS; i += 16) {
            const fvec s = load_bf16((const uint8_t *)(scale + d / GEODEC__KV_GROUP * GEODEC__KEYS + i));
            f_store(k + d * GEODEC__KEYS + i, f_mul(s, load_i8((const uint8_t *)(q + d * GEODEC__KEYS + i))));
        }
}

static void decode_q8_values(const int8_t *q, const uint16_t *scale, int64_t dim, int64_t rows, float *v)
{
    const int64_t groups = geodec__kv_groups(dim);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t d = 0; d < dim; d += 16) /* past the end of a row: overwritten by the next row */
            f_store(v + r * dim + d, f_mul(f_set1(float_of_bf16(scale[r * groups + d / GEODEC__KV_GROUP])),
                                           load_i8((const uint8_t *)(q + r * dim + d))));
}

/* ---- caches of low rank ------------------------------------------------------------------------------------------ */

/* D rows of keys, V vectors at a time; D and V are constants after inlining. */
INLINE void low_rows(const int D, const int V, const float *b, int64_t rank, const float *x, float *k)
{
    for (int64_t lane = 0; lane < GEODEC__KEYS; lane += 16 * V) {
        fvec sum[4][4];
        UNROLL
        for (int i = 0; i < D * V; i++) sum[i / V][i % V] = f_zero();
        for (int64_t j = 0; j < rank; j++) {
            fvec c[4];
            UNROLL
            for (int i = 0; i < V; i++) c[i] = f_load(x + GEODEC__KEYS * j + lane + 16 * i);
            UNROLL
            for (int i = 0; i < D * V; i++)
                sum[i / V][i % V] = f_add(sum[i / V][i % V], f_mul(f_set1(b[i / V * rank + j]), c[i % V]));
        }
        UNROLL
        for (int i = 0; i < D * V; i++) f_store(k + GEODEC__KEYS * (i / V) + lane + 16 * (i % V), sum[i / V][i % V]);
    }
}

static void low_block(const float *b, int64_t dims, int64_t rank, const float *x, float *k)
{
    const int D = ATTEND_ROWS == 3 ? 2 : 4, V = ATTEND_WIDE(D);
    int64_t d = 0;
    for (; d + D <= dims; d += D) low_rows(D, V, b + d * rank, rank, x, k + GEODEC__KEYS * d);
    for (; d < dims; d++) low_rows(1, V, b + d * rank, rank, x, k + GEODEC__KEYS * d);
}
