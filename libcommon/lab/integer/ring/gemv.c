#include "lab/integer/ring/gemv_internal.h"

#include "base/mem.h"
#include "base/names_internal.h"
#include "kernels/isa_internal.h"
#include "lab/integer/ring/ring_internal.h"

struct geodec_ring_matrix {
    int64_t rows, cols;
    const geodec_ring_element *w;
    geodec_ring_bound all, *block; /* of each GEODEC__GEMV_BLOCK rows */
    bool zero_b;
    int16_t *pairs; /* [rows][stride]: pairs, or a alone with zero_b */
    int64_t stride, pairs_bytes;
};

struct geodec_ring_vector {
    int64_t n;
    geodec_ring_bound bound;
    int64_t cd;                       /* max |c + d|; -1: beyond int32 */
    geodec_ring_element *x, *swapped; /* padded */
    int16_t *u, *v, *c, *d;           /* padded; NULL where they do not fit */
};

/* ---- instruction sets ------------------------------------------------------------------------------------------- */

/* NULL where the processor lacks it. */
static const geodec__gemv64 *pairs_for(geodec_isa isa)
{
    if (!geodec_kernels_isa_available(isa)) return NULL;
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_AVX512) return &geodec__gemv64_avx512;
    if (has & GEODEC__CPU_AVX2) return &geodec__gemv64_avx2;
#endif
    return &geodec__gemv64_scalar;
}

const geodec__gemv16 *geodec__gemv16_for(geodec_isa isa)
{
    if (!geodec_kernels_isa_available(isa)) return NULL;
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_VNNI) return &geodec__gemv16_vnni;
    if (has & GEODEC__CPU_AVX2) return &geodec__gemv16_avx2;
#endif
    return &geodec__gemv16_scalar;
}

GEODEC__NAME(geodec_ring_form_name, geodec_ring_form, "auto", "pairs16", "pairs64", "wide")

/* ---- bounds ----------------------------------------------------------------------------------------------------- */

typedef struct range {
    int64_t least, most; /* with 0 */
} range;

static void include(range *r, int64_t v)
{
    if (v < r->least) r->least = v;
    if (v > r->most) r->most = v;
}

/* Largest magnitude, -1 for 2^63. */
static int64_t magnitude(range r)
{
    if (r.least == INT64_MIN) return -1;
    return -r.least > r.most ? -r.least : r.most;
}

static bool within(range r, int64_t least, int64_t most) { return r.least >= least && r.most <= most; }

geodec_ring_bound geodec_ring_bound_of(const geodec_ring_element *x, int64_t n)
{
    range a = {0}, b = {0};
    for (int64_t i = 0; i < n; i++) {
        include(&a, x[i].a);
        include(&b, x[i].b);
    }
    return (geodec_ring_bound){magnitude(a), magnitude(b),
                               within(a, INT32_MIN, INT32_MAX) && within(b, INT32_MIN, INT32_MAX)};
}

static bool sum_safe(int64_t k, geodec__ring_sum s)
{
    if (!geodec__ring_sum_fits(&s)) return false;
    geodec__ring_sum all = {{0}};
    geodec__ring_sum_add(&all, geodec__ring_sum_low(&s), k);
    return geodec__ring_sum_fits(&all);
}

bool geodec_ring_bound_safe(int64_t k, geodec_ring_bound w, geodec_ring_bound x)
{
    if (w.a < 0 || w.b < 0 || x.a < 0 || x.b < 0) return false;
    geodec__ring_sum real = {{0}}, imag = {{0}};
    geodec__ring_sum_add(&real, w.b, x.b);
    geodec__ring_sum_scale(&real, 41);
    geodec__ring_sum_add(&real, w.a, x.a);
    geodec__ring_sum_add(&imag, w.a, x.b);
    geodec__ring_sum_add(&imag, w.b, x.a);
    geodec__ring_sum_add(&imag, w.b, x.b);
    return sum_safe(k, real) && sum_safe(k, imag);
}

int64_t geodec_ring_bound_block(geodec_ring_bound w, geodec_ring_bound x, int64_t cd)
{
    const uint64_t wa = (uint64_t)w.a, wb = (uint64_t)w.b, c = (uint64_t)x.a, d = (uint64_t)x.b;
    const uint64_t real = wa * c + 41 * (wb * d), imag = wa * d + wb * (uint64_t)cd, most = real > imag ? real : imag;
    return INT32_MAX / (int64_t)(most ? most : 1);
}

/* A step of two codes a: a c + a' c', and the same with d. */
static int64_t block_of_reals(geodec_ring_bound w, geodec_ring_bound x)
{
    const int64_t most = 2 * w.a * (x.a > x.b ? x.a : x.b);
    return INT32_MAX / (most ? most : 1);
}

/* ---- matrix and vector ------------------------------------------------------------------------------------------ */

static int64_t padded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static geodec_status pack(geodec_ring_matrix *m, geodec_err *err)
{
    const int64_t of = m->zero_b ? 1 : 2;
    int64_t values, bytes;
    m->stride = padded(of * m->cols, GEODEC__GEMV_PAD16);
    if (geodec_mem_mul(m->rows, m->stride, &values) || geodec_mem_mul(values, 2, &bytes))
        GEODEC_FAIL(GEODEC_RANGE, "a matrix of %lld x %lld is too large", (long long)m->rows, (long long)m->cols);
    m->pairs = geodec_mem_map(bytes);
    if (!m->pairs) GEODEC_FAIL(GEODEC_NOMEM, "no memory for %lld bytes", (long long)bytes);
    m->pairs_bytes = bytes;
    for (int64_t i = 0; i < m->rows; i++) {
        const geodec_ring_element *row = m->w + i * m->cols;
        int16_t *to = m->pairs + i * m->stride;
        for (int64_t k = 0; k < m->cols; k++) {
            to[of * k] = (int16_t)row[k].a;
            if (of == 2) to[2 * k + 1] = (int16_t)row[k].b;
        }
    }
    return GEODEC_OK;
}

static int64_t larger(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : a > b ? a : b; }

geodec_status geodec_ring_matrix_create(const geodec_ring_element *w, int64_t rows, int64_t cols, bool int16,
                                        geodec_ring_matrix **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ring_matrix *m = NULL;
    int64_t values;
    if (rows < 1 || cols < 1 || geodec_mem_mul(rows, cols, &values) || values > INT64_MAX / 32)
        GEODEC_THROW(GEODEC_RANGE, "a matrix of %lld x %lld", (long long)rows, (long long)cols);
    GEODEC_NEW(m, 1);
    *m = (geodec_ring_matrix){.rows = rows, .cols = cols, .w = w, .all = {0, 0, true}};
    GEODEC_NEW(m->block, (rows + GEODEC__GEMV_BLOCK - 1) / GEODEC__GEMV_BLOCK);
    bool fits = int16;
    for (int64_t i = 0; i < rows; i += GEODEC__GEMV_BLOCK) {
        const int64_t count = rows - i < GEODEC__GEMV_BLOCK ? rows - i : GEODEC__GEMV_BLOCK;
        const geodec_ring_bound b = geodec_ring_bound_of(w + i * cols, count * cols);
        m->block[i / GEODEC__GEMV_BLOCK] = b;
        m->all.a = larger(m->all.a, b.a);
        m->all.b = larger(m->all.b, b.b);
        m->all.narrow = m->all.narrow && b.narrow;
    }
    m->zero_b = m->all.b == 0;
    for (int64_t i = 0; i < values && fits; i++) fits = w[i].a == (int16_t)w[i].a && w[i].b == (int16_t)w[i].b;
    if (fits) GEODEC_TRY(pack(m, err));
    *out = m;
    m = NULL;
done:
    geodec_ring_matrix_destroy(m);
    return st;
}

void geodec_ring_matrix_destroy(geodec_ring_matrix *m)
{
    if (!m) return;
    geodec_mem_unmap(m->pairs, m->pairs_bytes);
    GEODEC_FREE(m->block, m);
}

bool geodec_ring_matrix_zero_b(const geodec_ring_matrix *m) { return m->zero_b; }
int64_t geodec_ring_matrix_bytes16(const geodec_ring_matrix *m) { return 2 * m->rows * (m->pairs ? m->stride : 0); }

geodec_status geodec_ring_vector_create(const geodec_ring_element *x, int64_t n, geodec_ring_vector **out,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ring_vector *v = NULL;
    range c = {0}, d = {0}, cd = {0};
    if (n < 1 || n > INT64_MAX / 64) GEODEC_THROW(GEODEC_RANGE, "a vector of %lld", (long long)n);
    GEODEC_NEW(v, 1);
    v->n = n;
    v->bound = geodec_ring_bound_of(x, n);
    GEODEC_NEW_EACH(padded(n, GEODEC__GEMV_PAD64), v->x, v->swapped);
    for (int64_t k = 0; k < n; k++) {
        v->x[k] = x[k];
        v->swapped[k] = (geodec_ring_element){x[k].b, x[k].a};
        include(&c, x[k].a);
        include(&d, x[k].b);
        if (v->bound.narrow) include(&cd, x[k].a + x[k].b);
    }
    v->cd = v->bound.narrow ? magnitude(cd) : -1;
    if (within(c, INT16_MIN, INT16_MAX) && within(d, INT16_MIN, INT16_MAX)) {
        GEODEC_NEW_EACH(padded(n, GEODEC__GEMV_PAD16), v->c, v->d);
        for (int64_t k = 0; k < n; k++) {
            v->c[k] = (int16_t)x[k].a;
            v->d[k] = (int16_t)x[k].b;
        }
        if (within(d, INT16_MIN / 41, INT16_MAX / 41) && within(cd, INT16_MIN, INT16_MAX)) {
            GEODEC_NEW_EACH(padded(2 * n, GEODEC__GEMV_PAD16), v->u, v->v);
            for (int64_t k = 0; k < n; k++) {
                v->u[2 * k] = v->c[k];
                v->u[2 * k + 1] = (int16_t)(-41 * v->d[k]);
                v->v[2 * k] = v->d[k];
                v->v[2 * k + 1] = (int16_t)(v->c[k] + v->d[k]);
            }
        }
    }
    *out = v;
    v = NULL;
done:
    geodec_ring_vector_destroy(v);
    return st;
}

void geodec_ring_vector_destroy(geodec_ring_vector *v)
{
    if (v) GEODEC_FREE(v->x, v->swapped, v->u, v->v, v->c, v->d, v);
}

/* ---- product ---------------------------------------------------------------------------------------------------- */

/* 0: the 16-bit form does not suit these values. */
static int64_t block16(const geodec_ring_matrix *m, const geodec_ring_vector *x)
{
    if (!m->pairs) return 0;
    if (m->zero_b) return x->c ? block_of_reals(m->all, x->bound) : 0;
    return x->u ? geodec_ring_bound_block(m->all, x->bound, x->cd) : 0;
}

/* Returns whether y is the value. */
static bool wide_row(const geodec_ring_element *w, const geodec_ring_element *x, int64_t n, geodec_ring_element *y)
{
    geodec__ring_sum ac = {{0}}, bd = {{0}}, ad = {{0}}, bc = {{0}};
    for (int64_t k = 0; k < n; k++) {
        geodec__ring_sum_add(&ac, w[k].a, x[k].a);
        geodec__ring_sum_add(&bd, w[k].b, x[k].b);
        geodec__ring_sum_add(&ad, w[k].a, x[k].b);
        geodec__ring_sum_add(&bc, w[k].b, x[k].a);
    }
    geodec__ring_sum_combine(&ac, &bd, &ad, &bc);
    *y = (geodec_ring_element){geodec__ring_sum_low(&ac), geodec__ring_sum_low(&ad)};
    return geodec__ring_sum_fits(&ac) && geodec__ring_sum_fits(&ad);
}

static geodec_status wide_rows(const geodec_ring_matrix *m, const geodec_ring_vector *x, int64_t begin, int64_t count,
                               geodec_ring_element *y, uint8_t *overflow, geodec_ring_gemv_report *r, geodec_err *err)
{
    for (int64_t i = begin; i < begin + count; i++) {
        const bool fits = wide_row(m->w + i * m->cols, x->x, m->cols, &y[i]);
        if (!fits && !overflow) GEODEC_FAIL(GEODEC_NUMERIC, "row %lld does not fit in 64 bits", (long long)i);
        if (overflow) overflow[i] = !fits;
        r->overflows += !fits;
    }
    r->wide += count;
    return GEODEC_OK;
}

static geodec_status by_blocks(const geodec_ring_matrix *m, const geodec_ring_vector *x, const geodec__gemv64 *kernels,
                               geodec_ring_form form, geodec_ring_element *y, uint8_t *overflow,
                               geodec_ring_gemv_report *r, geodec_err *err)
{
    for (int64_t i = 0; i < m->rows; i += GEODEC__GEMV_BLOCK) {
        const int64_t count = m->rows - i < GEODEC__GEMV_BLOCK ? m->rows - i : GEODEC__GEMV_BLOCK;
        const geodec_ring_bound b = m->block[i / GEODEC__GEMV_BLOCK];
        const bool safe = geodec_ring_bound_safe(m->cols, b, x->bound);
        if (form == GEODEC_RING_WIDE || (form == GEODEC_RING_AUTO && !safe)) {
            GEODEC_PASS(wide_rows(m, x, i, count, y, overflow, r, err));
            continue;
        }
        const bool narrow = b.narrow && x->bound.narrow;
        const geodec__gemv64 *k = narrow ? kernels : &geodec__gemv64_scalar;
        k->rows(m->w + i * m->cols, count, m->cols, x->x, x->swapped, m->zero_b, y + i);
        r->isa64 = kernels->isa;
        r->rows64 += count;
        r->scalar64 += narrow ? 0 : count;
        r->unsafe += safe ? 0 : count;
    }
    return GEODEC_OK;
}

geodec_status geodec_ring_gemv(const geodec_ring_matrix *w, const geodec_ring_vector *x,
                               const geodec_ring_gemv_options *o, geodec_ring_element *y, uint8_t *overflow,
                               geodec_ring_gemv_report *report, geodec_err *err)
{
    const geodec_isa isa = o ? o->isa : GEODEC_ISA_AUTO;
    const geodec_ring_form form = o ? o->form : GEODEC_RING_AUTO;
    const geodec__gemv16 *const short_pairs = geodec__gemv16_for(isa);
    const geodec__gemv64 *const pairs = pairs_for(isa);
    geodec_ring_gemv_report r = {.zero_b = w->zero_b, .zero_d = w->zero_b && x->bound.b == 0};
    if (!short_pairs || !pairs)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "this processor has no %s", geodec_kernels_isa_name(isa));
    if ((unsigned)form > GEODEC_RING_WIDE) GEODEC_FAIL(GEODEC_RANGE, "form %d", (int)form);
    if (w->cols != x->n)
        GEODEC_FAIL(GEODEC_RANGE, "a matrix of %lld columns times a vector of %lld", (long long)w->cols,
                    (long long)x->n);
    const int64_t block = block16(w, x);
    if (overflow) memset(overflow, 0, (size_t)w->rows);
    if (form == GEODEC_RING_PAIRS16 && block < 1)
        GEODEC_FAIL(GEODEC_RANGE, "the matrix or the vector does not fit in pairs of 16 bits");
    if (block > 0 && (form == GEODEC_RING_AUTO || form == GEODEC_RING_PAIRS16)) {
        const int16_t *const u = w->zero_b ? x->c : x->u, *const v = w->zero_b ? x->d : x->v;
        short_pairs->rows(w->pairs, w->rows, w->stride, block, u, r.zero_d ? NULL : v, y);
        r.isa16 = short_pairs->isa;
        r.rows16 = w->rows;
        r.block = block;
    } else {
        GEODEC_PASS(by_blocks(w, x, pairs, form, y, overflow, &r, err));
    }
    if (report) *report = r;
    return GEODEC_OK;
}
