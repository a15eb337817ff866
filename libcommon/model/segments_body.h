/* Products of many rows of x with floats or Q8_0; included by kernels_body.h.
 *
 * A strip of weight rows is decoded a segment of columns at a time, so that it stays in the first-level cache while all
 * rows of x go by it in groups. The sixteen partial sums of every dot product wait in memory from one segment to the
 * next: each still takes its columns in ascending order, so the bits are those of a row alone. */

enum {
    SEGMENT_CHUNKS =
        16, /* of a segment at most: the strip's and those of a group of x are half of a small first-level cache */
    SEGMENT_STRIDE = 16 * SEGMENT_CHUNKS + 16,
    PASSING = GEODEC__PASSING_ROWS
};

/* R weight rows of a segment against B rows of x; held: their partial sums, [16] each. */
INLINE void segment_sums(const int R, const int B, const float *w, int64_t chunks, const float *const *x, bool first,
                         float *const *held)
{
#if PARTS_FROM <= STRIP_GROUP
    for (int lane = 0; lane < 16; lane += 8) {
        vec8 s[MAX_TILE];
        UNROLL
        for (int i = 0; i < R * B; i++) s[i] = first ? p_zero() : p_load(held[i / R] + 16 * (i % R) + lane);
        for (int64_t c = 0; c < chunks; c++) {
            vec8 few[MAX_TILE]; /* the smaller set stays in registers, the other passes by */
            UNROLL
            for (int i = 0; i < (B <= R ? B : R); i++)
                few[i] = p_keep(p_load((B <= R ? x[i] : w + i * SEGMENT_STRIDE) + 16 * c + lane));
            UNROLL
            for (int i = 0; i < (B <= R ? R : B); i++) {
                const vec8 v = p_keep(p_load((B <= R ? w + i * SEGMENT_STRIDE : x[i]) + 16 * c + lane));
                UNROLL
                for (int k = 0; k < (B <= R ? B : R); k++) {
                    const int at = B <= R ? k * R + i : i * R + k;
                    s[at] = p_fma(few[k], v, s[at]);
                }
            }
        }
        UNROLL
        for (int i = 0; i < R * B; i++) p_store(held[i / R] + 16 * (i % R) + lane, s[i]);
    }
#else
    vec s[MAX_TILE];
    UNROLL
    for (int i = 0; i < R * B; i++) s[i] = first ? v_zero() : v_load(held[i / R] + 16 * (i % R));
    for (int64_t c = 0; c < chunks; c++) {
        vec few[MAX_TILE];
        UNROLL
        for (int i = 0; i < (B <= R ? B : R); i++)
            few[i] = v_keep(v_load((B <= R ? x[i] : w + i * SEGMENT_STRIDE) + 16 * c));
        UNROLL
        for (int i = 0; i < (B <= R ? R : B); i++) {
            const vec v = v_keep(v_load((B <= R ? w + i * SEGMENT_STRIDE : x[i]) + 16 * c));
            UNROLL
            for (int k = 0; k < (B <= R ? B : R); k++) {
                const int at = B <= R ? k * R + i : i * R + k;
                s[at] = v_fma(few[k], v, s[at]);
            }
        }
    }
    UNROLL
    for (int i = 0; i < R * B; i++) v_store(held[i / R] + 16 * (i % R), s[i]);
#endif
}

/* The dot products of partial sums held for R weight rows. */
INLINE void segment_finish(const int R, const float *held, float *y)
{
    UNROLL
    for (int j = 0; j < R; j += 4) {
        const vec none = v_zero();
        v_sum4(v_load(held + 16 * j), R - j > 1 ? v_load(held + 16 * (j + 1)) : none,
               R - j > 2 ? v_load(held + 16 * (j + 2)) : none, R - j > 3 ? v_load(held + 16 * (j + 3)) : none, y + j,
               R - j < 4 ? R - j : 4);
    }
}

/* rows weight rows of a segment against B rows of x, o: where their results go. One function for each B. */
typedef struct segment {
    const float *w; /* [rows][SEGMENT_STRIDE] */
    int64_t rows, chunks, from;
    bool first, last;
} segment;
typedef void (*segment_fn)(const segment *g, const float *const *x, float (*held)[GEODEC__STRIP][16], float *const *y,
                           int64_t o);

INLINE void segment_group(const int B, const segment *g, const float *const *x, float (*held)[GEODEC__STRIP][16],
                          float *const *y, int64_t o)
{
    const int R = TILE_ROWS(B);
    const float *xr[STRIP_GROUP];
    UNROLL
    for (int r = 0; r < B; r++) xr[r] = x[r] + 16 * g->from;
    for (int64_t j = 0, step; j < g->rows; j += step) {
        float *at[STRIP_GROUP];
        step = g->rows - j >= R ? R : 1;
        UNROLL
        for (int r = 0; r < B; r++) at[r] = held[r][j];
        if (step == R)
            segment_sums(R, B, g->w + j * SEGMENT_STRIDE, g->chunks, xr, g->first, at);
        else
            segment_sums(1, B, g->w + j * SEGMENT_STRIDE, g->chunks, xr, g->first, at);
        if (!g->last) continue;
        UNROLL
        for (int r = 0; r < B; r++) {
            if (step == R)
                segment_finish(R, at[r], y[r] + o + j);
            else
                segment_finish(1, at[r], y[r] + o + j);
        }
    }
}

#define SEGMENT_GROUP(B_)                                                                                              \
    static __attribute__((noinline)) void segment_##B_(const segment *g, const float *const *x,                        \
                                                       float(*held)[GEODEC__STRIP][16], float *const *y, int64_t o)    \
    {                                                                                                                  \
        segment_group(B_, g, x, held, y, o);                                                                           \
    }
SEGMENT_GROUP(1)
#if STRIP_GROUP >= 4
SEGMENT_GROUP(2)
SEGMENT_GROUP(3)
SEGMENT_GROUP(4)
#endif
#if STRIP_GROUP >= 6
SEGMENT_GROUP(5)
SEGMENT_GROUP(6)
#endif
static const segment_fn segment_groups[] = {
    NULL,      segment_1,
#if STRIP_GROUP >= 4
    segment_2, segment_3, segment_4,
#endif
#if STRIP_GROUP >= 6
    segment_5, segment_6,
#endif
};

/* Asks for share g of `groups` of the columns that follow, into the second-level cache. */
INLINE void segment_ahead(const uint8_t *next, int64_t row_bytes, int64_t rows, int64_t bytes, int64_t g,
                          int64_t groups)
{
    const int64_t lines = bytes / 64 + 1;
    for (int64_t i = rows * lines * g / groups; i < rows * lines * (g + 1) / groups; i++)
        __builtin_prefetch(next + i / lines * row_bytes + i % lines * 64, 0, 2);
}

INLINE void matmul_segments(const int type, const geodec__matrix *w, int64_t begin, int64_t end, const float *const *x,
                            int64_t n, float *const *y, float *scratch)
{
    float(*held)[GEODEC__STRIP][16] = (float(*)[GEODEC__STRIP][16])(void *)scratch; /* [PASSING] */
    float *decoded = scratch + PASSING * GEODEC__STRIP * 16;
    const int64_t chunks = (w->cols + 15) / 16, segments = (chunks + SEGMENT_CHUNKS - 1) / SEGMENT_CHUNKS;
    for (int64_t o = begin; o < end; o += GEODEC__STRIP) {
        const int64_t rows = end - o < GEODEC__STRIP ? end - o : GEODEC__STRIP;
        const uint8_t *data = w->data + o * w->row_bytes;
        for (int64_t at = 0; at < n; at += PASSING) {
            const int64_t passing = n - at < PASSING ? n - at : PASSING;
            const int64_t groups = (passing + STRIP_GROUP - 1) / STRIP_GROUP;
            for (int64_t k = 0; k < segments; k++) {
                const int64_t from = chunks * k / segments, to = chunks * (k + 1) / segments;
                for (int64_t j = 0; j < rows; j++)
                    decode_chunks(type, data + j * w->row_bytes, w->cols, from, to, decoded + j * SEGMENT_STRIDE);
                const segment s = {decoded, rows, to - from, from, k == 0, k == segments - 1};
                /* behind the last segment come the first columns of the next strip */
                const uint8_t *next = s.last ? data + rows * w->row_bytes : data + w->row_bytes * to / chunks;
                for (int64_t g = 0; g < groups; g++) {
                    const int64_t first = passing * g / groups, last = passing * (g + 1) / groups;
                    segment_ahead(next, w->row_bytes, rows, w->row_bytes / segments, g, groups);
                    segment_groups[last - first](&s, x + at + first, held + first, y + at + first, o);
                }
            }
        }
    }
}
