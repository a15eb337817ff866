/* Products of many rows of x with weights that are multiplied in floats; included by kernels_body.h. The including file
 * also gives
 *   GEMM_GROUP              rows of x that are multiplied by a panel together
 *   f_low(a), f_high(a)     the first and the last eight lanes as __m256
 *
 * As in the libraries of linear algebra (Goto and van de Geijn 2008) both sides are packed first: 16 weight rows as the
 * columns of a panel (columns_internal.h), a group of rows of x in the same order of columns. A register then holds a
 * column of weights, each number of x is broadcast to another, and every output has its own lane. The sixteen partial
 * sums of a dot product are computed one after the other and added as columns are, so the bits are those of a row
 * alone. */

/* B rows of x, one column after another in the order of a panel: [place of the column][B]. */
static void gemm_pack(const float *const *x, int64_t B, int64_t cols, float *out)
{
    const int64_t chunks = geodec__pad(cols) / 16;
    for (int64_t rank = 0; rank < 16; rank++) {
        const int64_t l = geodec__column_rank(rank);
        for (int64_t c = 0; c < chunks; c++)
            for (int64_t r = 0; r < B; r++) *out++ = x[r][16 * c + l];
    }
}

INLINE void transpose_8x8(__m256 r[8])
{
    __m256 t[8], u[8];
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 8; i += 4) {
        u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
}

/* Columns of a partial sum in a panel, and one of padding where their number is even: sixteen sums are written side by
 * side, and must not share a few sets of the first-level cache. */
INLINE int64_t gemm_stride(int64_t chunks) { return chunks | 1; }

/* Chunk c of 16 weight rows, of which `tail` columns exist (0: all), to a panel; eight rows of eight columns at a time
 * are what the registers hold. */
INLINE void gemm_chunk(const int type, const uint8_t *const data[16], int64_t c, int64_t tail, int64_t stride,
                       float *panel)
{
    ROLLED
    for (int64_t part = 0; part < 16; part += 8) UNROLL
    for (int high = 0; high < 2; high++) {
        __m256 v[8];
        UNROLL
        for (int i = 0; i < 8; i++) {
            const fvec x = tail ? load_tail(type, data[part + i], c, tail) : load_weights(type, data[part + i], c);
            v[i] = high ? f_high(x) : f_low(x);
        }
        transpose_8x8(v);
        UNROLL
        for (int l = 0; l < 8; l++)
            _mm256_storeu_ps(panel + (geodec__column_rank(8 * high + l) * stride + c) * 16 + part, v[l]);
    }
}

/* A panel of 16 weight rows from `row`, of which `rows` exist: [rank of the partial sum][gemm_stride(chunks)][16].
 * room: scratch of 16 rows. */
INLINE void gemm_panel(const int type, const geodec__matrix *w, int64_t row, int64_t rows, float *panel, float *room)
{
    const int64_t whole = w->cols / 16, stride = gemm_stride(geodec__pad(w->cols) / 16);
    const geodec_ggml_traits *traits = type < 0 ? geodec_ggml_traits_of(w->type) : NULL;
    const int loaded = type < 0 ? GEODEC_GGML_F32 : type;
    const uint8_t *data[16];
    for (int64_t i = 0; i < 16; i++) {
        const int64_t at = i < rows ? i : rows - 1; /* missing rows repeat the last one; their results are dropped */
        data[i] = w->data + (row + at) * w->row_bytes;
        if (!traits) continue;
        float *decoded = room + i * geodec__apart(w->cols);
        traits->decode(data[i], decoded, w->cols);
        data[i] = (const uint8_t *)decoded;
    }
    for (int64_t c = 0; c < whole; c++) gemm_chunk(loaded, data, c, 0, stride, panel);
    if (w->cols % 16) gemm_chunk(loaded, data, whole, w->cols % 16, stride, panel);
}

/* A panel against B rows of x. */
INLINE void gemm_tile(const int B, const float *w, int64_t chunks, const float *x, float *const *y, int64_t o,
                      int64_t rows)
{
    fvec waiting[5][GEMM_GROUP], sum[GEMM_GROUP]; /* sums of 1, 2, 4 and 8 partial sums, combined like a binary
                                                   * counter */
    ROLLED
    for (int64_t rank = 0; rank < 16; rank++) {
        const float *p = w + rank * gemm_stride(chunks) * 16;
        int level = 0;
        UNROLL
        for (int r = 0; r < B; r++) sum[r] = f_zero();
        ROLLED
        for (int64_t c = 0; c < chunks; c++, p += 16, x += B) {
            const fvec column = f_load(p);
            UNROLL
            for (int r = 0; r < B; r++) sum[r] = f_fma(f_set1(x[r]), column, sum[r]);
        }
        for (; rank >> level & 1; level++) {
            UNROLL
            for (int r = 0; r < B; r++) sum[r] = f_add(waiting[level][r], sum[r]);
        }
        UNROLL
        for (int r = 0; r < B; r++) waiting[level][r] = sum[r];
    }
    for (int r = 0; r < B; r++) {
        float out[16];
        f_store(out, waiting[4][r]);
        memcpy(y[r] + o, out, (size_t)rows * sizeof *out);
    }
}

typedef void (*gemm_fn)(const float *w, int64_t chunks, const float *x, float *const *y, int64_t o, int64_t rows);
#define GEMM(B_, ...)                                                                                                  \
    static __attribute__((noinline)) void gemm_##B_(const float *w, int64_t chunks, const float *x, float *const *y,   \
                                                    int64_t o, int64_t rows)                                           \
    {                                                                                                                  \
        gemm_tile(B_, w, chunks, x, y, o, rows);                                                                       \
    }
#define GEMM_NAME(B_, ...) gemm_##B_,
UP_TO(GEMM_GROUP, GEMM, )
static const gemm_fn gemm_tiles[] = {NULL, UP_TO(GEMM_GROUP, GEMM_NAME, )};

/* Prefetches share g of `groups` of the next panel's rows into the second-level cache. */
INLINE void gemm_ahead(const geodec__matrix *w, int64_t row, int64_t end, int64_t g, int64_t groups)
{
    const int64_t rows = end - row < 16 ? end - row : 16, bytes = rows * w->row_bytes;
    const uint8_t *next = w->data + row * w->row_bytes;
    for (int64_t at = bytes * g / groups; at < bytes * (g + 1) / groups; at += 64) __builtin_prefetch(next + at, 0, 2);
}

static void gemm(const geodec__matrix *w, int64_t begin, int64_t end, const float *packed, int64_t n, float *const *y,
                 float *scratch)
{
    const int64_t chunks = geodec__pad(w->cols) / 16, groups = (n + GEMM_GROUP - 1) / GEMM_GROUP;
    float *const room = scratch + 16 * 16 * gemm_stride(chunks);
    for (int64_t o = begin; o < end; o += 16) {
        const int64_t rows = end - o < 16 ? end - o : 16;
        switch (w->type) {
#define GEMM_PANEL(NAME, name)                                                                                         \
    case GEODEC_GGML_##NAME:                                                                                           \
        gemm_panel(GEODEC_GGML_##NAME, w, o, rows, scratch, room);                                                     \
        break;
            GEODEC__DIRECT_TYPES(GEMM_PANEL)
        default:
            gemm_panel(-1, w, o, rows, scratch, room);
            break;
        }
        for (int64_t g = 0; g < groups; g++) {
            const int64_t first = n * g / groups, last = n * (g + 1) / groups;
            gemm_ahead(w, o + 16, end, g, groups);
            gemm_tiles[last - first](scratch, chunks, packed + first * 16 * chunks, y + first, o, rows);
        }
    }
}
