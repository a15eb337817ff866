/* Products with columns (columns_internal.h), written over a vector of 16 floats; included by kernels_body.h. The
 * including file also gives
 *   COLUMN_GROUP   rows of x that are multiplied by a panel together, with three pending sums each */

INLINE fvec load_column(const int type, const uint8_t *p, fvec scale)
{
    return type == GEODEC_GGML_F32    ? f_load((const float *)(const void *)p)
           : type == GEODEC_GGML_F16  ? load_f16(p)
           : type == GEODEC_GGML_BF16 ? load_bf16(p)
                                      : f_mul(scale, load_i8(p));
}

/* A panel against B rows of x. Pairs of partial sums are computed in the order of their reduction: the sum of pair i is
 * added to the pending sums like a binary counter. type and B are constants after inlining. */
INLINE void column_tile(const int type, const int B, const uint8_t *w, int64_t chunks, const float *const *x,
                        float *const *y, int64_t o, int64_t rows)
{
    const int64_t size = 16 * geodec__column_size(type);
    const uint8_t *scales = w; /* of Q8_0, in front of the weights */
    if (type == GEODEC_GGML_Q8_0) w += chunks / 2 * 32;
    fvec waiting[3][COLUMN_GROUP], a[COLUMN_GROUP];
    UNROLL
    for (int i = 0; i < 8; i++) {
        const int l = (i & 1) << 2 | (i & 2) | (i & 4) >> 2; /* the pair is l and l + 8 */
        fvec b[COLUMN_GROUP];
        UNROLL
        for (int r = 0; r < B; r++) a[r] = b[r] = f_zero();
        for (int64_t c = 0; c < 16 * chunks; c += 16, w += 2 * size) {
            const fvec scale = type == GEODEC_GGML_Q8_0 ? load_f16(scales + c / 32 * 32) : f_zero();
            const fvec wa = load_column(type, w, scale), wb = load_column(type, w + size, scale);
            UNROLL
            for (int r = 0; r < B; r++) {
                a[r] = f_fma(f_set1(x[r][c + l]), wa, a[r]);
                b[r] = f_fma(f_set1(x[r][c + l + 8]), wb, b[r]);
            }
        }
        UNROLL
        for (int r = 0; r < B; r++) {
            a[r] = f_add(a[r], b[r]);
            if (i & 1) a[r] = f_add(waiting[0][r], a[r]);
            if ((i & 3) == 3) a[r] = f_add(waiting[1][r], a[r]);
            if (i == 7) a[r] = f_add(waiting[2][r], a[r]);
            if (!(i & 1)) waiting[0][r] = a[r];
            if ((i & 3) == 1) waiting[1][r] = a[r];
            if (i == 3) waiting[2][r] = a[r];
        }
    }
    UNROLL
    for (int r = 0; r < B; r++) {
        float out[16];
        if (rows == 16) {
            f_store(y[r] + o, a[r]);
        } else {
            f_store(out, a[r]);
            memcpy(y[r] + o, out, (size_t)rows * sizeof *out);
        }
    }
}

typedef void (*column_fn)(const uint8_t *w, int64_t chunks, const float *const *x, float *const *y, int64_t o,
                          int64_t rows);
#define COLUMN(B_, type)                                                                                               \
    static __attribute__((noinline)) void column_##type##_##B_(                                                        \
        const uint8_t *w, int64_t chunks, const float *const *x, float *const *y, int64_t o, int64_t rows)             \
    {                                                                                                                  \
        const float *xr[B_];                                                                                           \
        UNROLL                                                                                                         \
        for (int r = 0; r < B_; r++) xr[r] = x[r];                                                                     \
        column_tile(GEODEC_GGML_##type, B_, w, chunks, xr, y, o, rows);                                                \
    }
#define COLUMN_NAME(B_, type) column_##type##_##B_,
#define COLUMNS(type, name)                                                                                            \
    UP_TO(COLUMN_GROUP, COLUMN, type)                                                                                  \
    static const column_fn column_##type[] = {NULL, UP_TO(COLUMN_GROUP, COLUMN_NAME, type)};
GEODEC__DIRECT_TYPES(COLUMNS)

static const column_fn *column_group(int type)
{
    switch (type) {
#define COLUMN_GROUP_OF(NAME, name)                                                                                    \
    case GEODEC_GGML_##NAME:                                                                                           \
        return column_##NAME;
        GEODEC__DIRECT_TYPES(COLUMN_GROUP_OF)
    default:
        return NULL;
    }
}

/* A panel of Q8_0 as floats in the same order. */
static void decode_columns(const uint8_t *p, int64_t chunks, float *out)
{
    const uint8_t *q = p + chunks / 2 * 32;
    for (int pair = 0; pair < 8; pair++)
        for (int64_t c = 0; c < chunks; c++, q += 32, out += 32) {
            const fvec scale = load_f16(p + c / 2 * 32);
            f_store(out, f_mul(scale, load_i8(q)));
            f_store(out + 16, f_mul(scale, load_i8(q + 16)));
        }
}

/* Three or more groups of rows share one decoding. */
static void columns(const geodec__columns *w, int64_t begin, int64_t end, const float *const *x, int64_t n,
                    float *const *y, float *scratch)
{
    const int64_t bytes = geodec__column_panel(w->type, w->cols), chunks = geodec__pad(w->cols) / 16,
                  groups = (n + COLUMN_GROUP - 1) / COLUMN_GROUP;
    const bool decoded = w->type == GEODEC_GGML_Q8_0 && groups > 2;
    const column_fn *group = column_group(decoded ? GEODEC_GGML_F32 : w->type);
    for (int64_t o = begin; o < end; o += GEODEC__COLUMN_ROWS) {
        const uint8_t *panel = w->data + o / GEODEC__COLUMN_ROWS * bytes;
        const int64_t rows = end - o < GEODEC__COLUMN_ROWS ? end - o : GEODEC__COLUMN_ROWS;
        if (decoded) {
            decode_columns(panel, chunks, scratch);
            panel = (const uint8_t *)(const void *)scratch;
        }
        for (int64_t g = 0; g < groups; g++) {
            const int64_t first = n * g / groups, last = n * (g + 1) / groups;
            group[last - first](panel, chunks, x + first, y + first, o, rows);
        }
    }
}
