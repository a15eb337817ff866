#include "lab/integer/ntt/ntt_internal.h"

#include "base/cpu_internal.h"
#include "base/mem.h"
#include "base/names_internal.h"

struct geodec_ntt {
    const geodec__ntt_kernel *single, *many, *products; /* products: NULL: each its own */
    geodec__ntt_tables tables, batch;                   /* the same memory if the kernel is the same */
    int64_t *position;                                  /* of A[bitrev(i)] in the order of the single kernel; NULL: i */
};

/* Measured, moduli of 30 bits: IFMA is the fastest path of batches from the length of its blocks on, but not where
 * products of 32 bits are as fast (Zen 4: 1.1 to 1.5 times the time). */
static bool prefers_ifma(void) { return geodec__cpu() & GEODEC__CPU_IFMA && !(geodec__cpu() & GEODEC__CPU_AMD19H); }

/* By path, for words of 4 or 8 bytes; NULL: the processor or the library lacks it. */
static const geodec__ntt_kernel *kernel_for(geodec_ntt_path path, size_t word)
{
    const bool narrow = word == sizeof(uint32_t);
    switch (path) {
    case GEODEC_NTT_PORTABLE:
        return narrow ? NULL : &geodec__ntt_portable64;
    case GEODEC_NTT_SCALAR:
        return narrow ? &geodec__ntt_scalar32 : &geodec__ntt_scalar64;
#if defined(__x86_64__)
    case GEODEC_NTT_AVX2:
        return narrow && geodec__cpu() & GEODEC__CPU_AVX2 ? &geodec__ntt_narrow_avx2 : NULL;
    case GEODEC_NTT_AVX512:
        if (!(geodec__cpu() & GEODEC__CPU_AVX512)) return NULL;
        return narrow ? &geodec__ntt_narrow_avx512 : &geodec__ntt_wide_avx512;
    case GEODEC_NTT_IFMA:
        if (!(geodec__cpu() & GEODEC__CPU_IFMA)) return NULL;
        return narrow ? &geodec__ntt_narrow_ifma : &geodec__ntt_wide_ifma;
#endif
    default:
        return NULL;
    }
}

GEODEC__NAME(geodec_ntt_path_name, geodec_ntt_path, "auto", "portable", "scalar", "avx2", "avx512", "ifma")

static size_t word_of(const geodec_modulus *m) { return m->bits > 32 ? sizeof(uint64_t) : sizeof(uint32_t); }

bool geodec_ntt_path_available(geodec_ntt_path path, const geodec_modulus *m)
{
    return path == GEODEC_NTT_AUTO || kernel_for(path, word_of(m));
}

geodec_ntt_path geodec_ntt_path_of(geodec_isa isa)
{
    switch (isa) {
    case GEODEC_ISA_SCALAR:
        return GEODEC_NTT_SCALAR;
    case GEODEC_ISA_AVX2:
        return GEODEC_NTT_AVX2;
    default:
        return GEODEC_NTT_AUTO;
    }
}

/* The widest path, not wider than asked, whose lanes fit: the square of its lanes is at most `most`. */
static const geodec__ntt_kernel *choose(geodec_ntt_path path, size_t word, int64_t most)
{
    if (path == GEODEC_NTT_AUTO) path = word == sizeof(uint64_t) ? GEODEC_NTT_IFMA : GEODEC_NTT_AVX512;
    if (path == GEODEC_NTT_PORTABLE && word == sizeof(uint32_t)) path = GEODEC_NTT_SCALAR;
    for (; path > GEODEC_NTT_SCALAR; path--) {
        const geodec__ntt_kernel *k = kernel_for(path, word);
        if (k && (int64_t)k->lanes * k->lanes <= most) return k;
    }
    return kernel_for(path, word);
}

static int64_t reversed(int64_t i, int bits)
{
    int64_t r = 0;
    for (; bits; bits--, i >>= 1) r = r << 1 | (i & 1);
    return r;
}

static void write_word(void *p, size_t size, int64_t i, uint64_t v)
{
    if (size == sizeof(uint64_t))
        ((uint64_t *)p)[i] = v;
    else
        ((uint32_t *)p)[i] = (uint32_t)v;
}

/* table [n][parts] of root^bitrev(i); for inverses (scale != 0) entries 0 and 1 are scale and scale root^bitrev(1). */
static void fill(const geodec__ntt_kernel *k, const geodec__ntt_tables *t, uint64_t root, uint64_t scale, void *table)
{
    uint64_t power = 1;
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t at = reversed(i, t->levels);
        uint64_t parts[GEODEC__NTT_PARTS], w = power;
        if (scale && at < 2) w = geodec_mulmod_reduce(&t->barrett, geodec_mulmod_product(w, scale), NULL);
        k->twiddle(t->modulus->q, w, parts);
        for (int p = 0; p < k->parts; p++) write_word(table, k->table_word, at * k->parts + p, parts[p]);
        power = geodec_mulmod_reduce(&t->barrett, geodec_mulmod_product(power, root), NULL);
    }
}

static void fill_lanes(const geodec__ntt_kernel *k, const geodec__ntt_tables *t, const void *table, void *lanes)
{
    const int64_t size = (int64_t)k->table_word, blocks = t->n / k->lanes;
    char *to = lanes;
    for (int64_t block = 0; block < blocks; block += k->lanes)
        for (int64_t width = 1; width < k->lanes; width *= 2) /* 2^level */
            for (int64_t g = 0; g < width; g++)
                for (int p = 0; p < k->parts; p++)
                    for (int64_t b = block; b < block + k->lanes; b++, to += size)
                        memcpy(to, (const char *)table + (((blocks + b) * width + g) * k->parts + p) * size,
                               (size_t)size);
}

static geodec_status fill_tables(const geodec__ntt_kernel *k, const geodec_modulus *m, int64_t n, bool lanes,
                                 geodec__ntt_tables *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__ntt_tables t = {.modulus = m, .n = n, .barrett = geodec_mulmod_tight(m->q)};
    while ((int64_t)1 << t.levels < n) t.levels++;
    const uint64_t root = geodec_modulus_root(m, n);
    char *memory = NULL;
    const int64_t size = (int64_t)k->table_word, plain = k->parts * n * size,
                  within = lanes ? n / k->lanes * (k->lanes - 1) * k->parts * size : 0;
    GEODEC_NEW(memory, 2 * (plain + within) + 256);
    t.roots = memory;
    t.inverses = memory + plain;
    t.root_lanes = memory + 2 * plain;
    t.inverse_lanes = memory + 2 * plain + within;
    fill(k, &t, root, 0, t.roots);
    fill(k, &t, geodec_modulus_inverse(m->q, root), geodec_modulus_inverse(m->q, (uint64_t)n), t.inverses);
    if (lanes) {
        fill_lanes(k, &t, t.roots, t.root_lanes);
        fill_lanes(k, &t, t.inverses, t.inverse_lanes);
    }
    *out = t;
done:
    return st;
}

static geodec_status positions(geodec_ntt *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->tables.n, lanes = t->single->lanes;
    if (lanes == 1) return st;
    GEODEC_NEW(t->position, n);
    for (int64_t base = 0; base < n; base += lanes * lanes)
        for (int64_t b = 0; b < lanes; b++)
            for (int64_t r = 0; r < lanes; r++) t->position[base + b * lanes + r] = base + r * lanes + b;
done:
    return st;
}

geodec_status geodec_ntt_create(const geodec_modulus *m, int64_t n, geodec_ntt_path path, geodec_ntt **out,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ntt *t = NULL;
    if (n < 1 || n > m->most || (n & (n - 1)))
        GEODEC_THROW(GEODEC_INVAL, "%s: N = %lld is not a power of two from 1 to %lld", m->name, (long long)n,
                     (long long)m->most);
    GEODEC_NEW(t, 1);
    t->single = choose(path, word_of(m), n);
    t->many = choose(path, word_of(m), INT64_MAX);
    const geodec__ntt_kernel *ifma = kernel_for(GEODEC_NTT_IFMA, word_of(m));
    if (path == GEODEC_NTT_AUTO && ifma && n >= 256 && prefers_ifma()) {
        t->products = t->many;
        t->many = ifma;
    }
    GEODEC_TRY(fill_tables(t->single, m, n, true, &t->tables, err));
    if (t->many == t->single)
        t->batch = t->tables;
    else
        GEODEC_TRY(fill_tables(t->many, m, n, false, &t->batch, err));
    GEODEC_TRY(positions(t, err));
    GEODEC_MOVE(*out, t);
done:
    geodec_ntt_destroy(t);
    return st;
}

void geodec_ntt_destroy(geodec_ntt *t)
{
    if (!t) return;
    if (t->batch.roots != t->tables.roots) geodec_mem_free(t->batch.roots);
    GEODEC_FREE(t->tables.roots, t->position, t);
}

const geodec_modulus *geodec_ntt_modulus(const geodec_ntt *t) { return t->tables.modulus; }
int64_t geodec_ntt_length(const geodec_ntt *t) { return t->tables.n; }
size_t geodec_ntt_word(const geodec_ntt *t) { return t->single->word; }
geodec_ntt_path geodec_ntt_path_single(const geodec_ntt *t) { return t->single->path; }
geodec_ntt_path geodec_ntt_path_batch(const geodec_ntt *t) { return t->many->path; }

/* A transform of one value is that value. */
static bool trivial(const geodec_ntt *t, const void *in, void *out, int64_t many)
{
    if (t->tables.levels) return false;
    memmove(out, in, (size_t)many * t->single->word);
    return true;
}

void geodec_ntt_forward(const geodec_ntt *t, const void *in, void *out)
{
    if (!trivial(t, in, out, 1)) t->single->forward(&t->tables, in, out);
}
void geodec_ntt_inverse(const geodec_ntt *t, const void *in, void *out)
{
    if (!trivial(t, in, out, 1)) t->single->inverse(&t->tables, in, out);
}
void geodec_ntt_forward_batch(const geodec_ntt *t, const void *in, void *out)
{
    if (!trivial(t, in, out, GEODEC_NTT_BATCH)) t->many->forward_batch(&t->batch, in, out);
}
void geodec_ntt_inverse_batch(const geodec_ntt *t, const void *in, void *out)
{
    if (!trivial(t, in, out, GEODEC_NTT_BATCH)) t->many->inverse_batch(&t->batch, in, out);
}
void geodec_ntt_multiply(const geodec_ntt *t, const void *a, const void *b, void *out)
{
    t->single->multiply(&t->tables, a, b, out, t->tables.n);
}
void geodec_ntt_multiply_batch(const geodec_ntt *t, const void *a, const void *b, void *out)
{
    (t->products ? t->products : t->many)->multiply(&t->batch, a, b, out, t->tables.n * GEODEC_NTT_BATCH);
}

uint64_t geodec_ntt_dot(const geodec_ntt *t, const void *a, const void *b)
{
    const int64_t n = t->tables.n;
    const geodec_mulmod_barrett *c = &t->tables.barrett;
    uint64_t sum = 0;
    if (t->single->word == sizeof(uint32_t)) {
        const uint32_t *x = a, *y = b;
        for (int64_t i = 0; i < n;) { /* 15 products and a reduced sum are below 2^64 */
            for (const int64_t end = i + 15 < n ? i + 15 : n; i < end; i++) sum += (uint64_t)x[i] * y[i];
            sum %= c->q;
        }
    } else {
        const uint64_t *x = a, *y = b;
        for (int64_t i = 0; i < n; i++) {
            sum += geodec_mulmod_reduce(c, geodec_mulmod_product(x[i], y[i]), NULL);
            sum = geodec_mulmod_once(sum, c->q);
        }
    }
    return geodec_mulmod_reduce(c, geodec_mulmod_product(sum, geodec_modulus_inverse(c->q, (uint64_t)n)), NULL);
}

int64_t geodec_ntt_position(const geodec_ntt *t, int64_t k)
{
    const int64_t i = reversed(k, t->tables.levels);
    return t->position ? t->position[i] : i;
}

void geodec_ntt_to_natural(const geodec_ntt *t, const void *in, void *out)
{
    for (int64_t k = 0; k < t->tables.n; k++)
        geodec_ntt_set(t, out, k, geodec_ntt_get(t, in, geodec_ntt_position(t, k)));
}
void geodec_ntt_from_natural(const geodec_ntt *t, const void *in, void *out)
{
    for (int64_t k = 0; k < t->tables.n; k++)
        geodec_ntt_set(t, out, geodec_ntt_position(t, k), geodec_ntt_get(t, in, k));
}

void geodec_ntt_to_reversed(const geodec_ntt *t, const void *in, void *out)
{
    const int64_t n = t->tables.n, *p = t->position;
    if (!p)
        memcpy(out, in, (size_t)n * t->single->word);
    else if (t->single->word == sizeof(uint64_t))
        for (int64_t i = 0; i < n; i++) ((uint64_t *)out)[i] = ((const uint64_t *)in)[p[i]];
    else
        for (int64_t i = 0; i < n; i++) ((uint32_t *)out)[i] = ((const uint32_t *)in)[p[i]];
}

/* Without a division where |x| < q, or |x| < 2^58 with q of 30 bits: x + floor(q / 2) q is below q^2. */
static inline uint64_t residue(const geodec_modulus *m, const geodec_mulmod_barrett *c, int64_t x)
{
    const int64_t q = (int64_t)m->q, most = (int64_t)1 << 58;
    if (x > -q && x < q) return (uint64_t)(x < 0 ? x + q : x);
    if (m->bits > 32 || x <= -most || x >= most) return geodec_modulus_residue(m, x);
    const uint64_t u = (uint64_t)(x + q / 2 * q), r = u - (((u >> c->first) * c->mu) >> c->second) * c->q;
    return geodec_mulmod_once(r, c->q);
}

void geodec_ntt_words(const geodec_ntt *t, const int64_t *x, int64_t n, void *out)
{
    const geodec_modulus m = *t->tables.modulus;
    const geodec_mulmod_barrett c = t->tables.barrett;
    uint32_t *narrow = out;
    uint64_t *wide = out;
    if (t->single->word == sizeof *wide)
        for (int64_t i = 0; i < n; i++) wide[i] = residue(&m, &c, x[i]);
    else
        for (int64_t i = 0; i < n; i++) narrow[i] = (uint32_t)residue(&m, &c, x[i]);
}
void geodec_ntt_centred(const geodec_ntt *t, const void *words, int64_t n, int64_t *out)
{
    const int64_t q = (int64_t)t->tables.modulus->q, half = q / 2;
    const uint32_t *narrow = words;
    const uint64_t *wide = words;
    if (t->single->word == sizeof *wide)
        for (int64_t i = 0; i < n; i++) out[i] = (int64_t)wide[i] - ((int64_t)wide[i] > half ? q : 0);
    else
        for (int64_t i = 0; i < n; i++) out[i] = (int64_t)narrow[i] - ((int64_t)narrow[i] > half ? q : 0);
}

uint64_t geodec_ntt_get(const geodec_ntt *t, const void *words, int64_t i)
{
    return t->single->word == sizeof(uint64_t) ? ((const uint64_t *)words)[i] : ((const uint32_t *)words)[i];
}
void geodec_ntt_set(const geodec_ntt *t, void *words, int64_t i, uint64_t value)
{
    write_word(words, t->single->word, i, value);
}
