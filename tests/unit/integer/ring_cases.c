#include "integer/ring_cases.h"

#include "base/mem.h"
#include "lab/integer/ring/gemv_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

const ring_path ring_paths[RING_PATHS] = {
    {GEODEC_RING_PAIRS16, GEODEC_ISA_SCALAR}, {GEODEC_RING_PAIRS16, GEODEC_ISA_AVX2},
    {GEODEC_RING_PAIRS16, GEODEC_ISA_AVX512}, {GEODEC_RING_PAIRS64, GEODEC_ISA_SCALAR},
    {GEODEC_RING_PAIRS64, GEODEC_ISA_AVX2},   {GEODEC_RING_PAIRS64, GEODEC_ISA_AVX512},
    {GEODEC_RING_WIDE, GEODEC_ISA_SCALAR},
};

const char *ring_path_name(int path)
{
    static char text[40];
    (void)snprintf(text, sizeof text, "%s %s", geodec_ring_form_name(ring_paths[path].form),
                   geodec_kernels_isa_name(ring_paths[path].isa));
    return text;
}

bool ring_path_here(int path)
{
    const geodec_isa isa = ring_paths[path].isa;
    if (ring_paths[path].form != GEODEC_RING_PAIRS16) return geodec_kernels_isa_available(isa);
    const geodec__gemv16 *k = geodec__gemv16_for(isa);
    return k && k->isa == isa;
}

geodec_ring_element ring_element(const json_t *pair)
{
    cr_assert_eq(json_array_size(pair), 2);
    return (geodec_ring_element){(int64_t)test_json_word(json_array_get(pair, 0)),
                                 (int64_t)test_json_word(json_array_get(pair, 1))};
}

bool ring_fits(const json_t *value)
{
    char text[32];
    if (json_is_integer(value)) return true;
    (void)snprintf(text, sizeof text, "%lld", (long long)test_json_word(value));
    return strcmp(text, json_string_value(value)) == 0;
}

/* Whether W, u = (c, -41 d) and v = (d, c + d) are 16-bit numbers; with b = 0, whether W, c and d are. */
static bool suits16(const geodec_ring_element *w, int64_t values, const geodec_ring_element *x, int64_t n)
{
    bool zero = true, fits = true;
    for (int64_t i = 0; i < values; i++) {
        zero = zero && w[i].b == 0;
        fits = fits && w[i].a >= -32768 && w[i].a <= 32767 && w[i].b >= -32768 && w[i].b <= 32767;
    }
    for (int64_t k = 0; k < n && fits; k++) {
        fits = x[k].a >= -32768 && x[k].a <= 32767 && x[k].b >= -32768 && x[k].b <= 32767;
        if (fits && !zero) fits = llabs(x[k].b) <= 799 && x[k].a + x[k].b >= -32768 && x[k].a + x[k].b <= 32767;
    }
    return fits;
}

bool ring_path_check(int path, const geodec_ring_element *w, int64_t rows, int64_t cols, const geodec_ring_element *x,
                     const geodec_ring_element *y, const uint8_t *bad)
{
    const geodec_ring_gemv_options o = {ring_paths[path].isa, ring_paths[path].form};
    geodec_err err = {0};
    geodec_ring_matrix *m = NULL;
    geodec_ring_vector *v = NULL;
    geodec_ring_gemv_report r;
    geodec_ring_element *out = geodec_mem_new(rows, sizeof *out);
    uint8_t *flags = geodec_mem_new(rows, 1);
    test_ok(geodec_ring_matrix_create(w, rows, cols, true, &m, &err), &err);
    test_ok(geodec_ring_vector_create(x, cols, &v, &err), &err);
    const geodec_status st = geodec_ring_gemv(m, v, &o, out, flags, &r, &err);
    const bool suits = o.form != GEODEC_RING_PAIRS16 || suits16(w, rows * cols, x, cols);
    if (suits) {
        test_ok(st, &err);
        for (int64_t i = 0; i < rows; i++) {
            cr_assert(out[i].a == y[i].a && out[i].b == y[i].b, "%s, row %lld: %lld %lld, not %lld %lld",
                      ring_path_name(path), (long long)i, (long long)out[i].a, (long long)out[i].b, (long long)y[i].a,
                      (long long)y[i].b);
            const int wanted = o.form == GEODEC_RING_WIDE && bad && bad[i];
            cr_assert_eq(flags[i], wanted, "%s, row %lld: flag %d", ring_path_name(path), (long long)i, flags[i]);
            if (o.form == GEODEC_RING_PAIRS64 && bad && bad[i]) cr_assert_geq(r.unsafe, 1);
        }
        cr_assert_eq(o.form == GEODEC_RING_PAIRS16   ? r.rows16
                     : o.form == GEODEC_RING_PAIRS64 ? r.rows64
                                                     : r.wide,
                     rows);
        cr_assert_eq(r.isa16, o.form == GEODEC_RING_PAIRS16 ? o.isa : GEODEC_ISA_AUTO);
        cr_assert_eq(r.isa64, o.form == GEODEC_RING_PAIRS64 ? o.isa : GEODEC_ISA_AUTO);
        cr_assert_eq(r.zero_b, geodec_ring_matrix_zero_b(m));
    } else {
        cr_assert_eq(st, GEODEC_RANGE, "%s takes values that do not fit", ring_path_name(path));
    }
    geodec_ring_matrix_destroy(m);
    geodec_ring_vector_destroy(v);
    GEODEC_FREE(out, flags);
    return suits;
}
