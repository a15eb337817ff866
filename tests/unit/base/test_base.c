#include "base/clock.h"
#include "base/cpu_internal.h"
#include "base/f16.h"
#include "base/finite.h"
#include "base/mapped.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Test(base, philox_known_answers)
{
    /* Random123 kat_vectors, philox4x32-10: all-zero counter and key. */
    cr_assert_eq(geodec_rng_at(0, 0, 0), 0xe169c58d6627e8d5u, "%llx", (unsigned long long)geodec_rng_at(0, 0, 0));
    cr_assert_eq(geodec_rng_at(0, 0, 1), 0x9b00dbd8bc57ac4cu, "%llx", (unsigned long long)geodec_rng_at(0, 0, 1));
}

Test(base, rng_moments)
{
    geodec_rng r = geodec_rng_stream(7, geodec_rng_id("moments", 0));
    double m = 0, v = 0;
    const int n = 200000;
    for (int i = 0; i < n; i++) {
        double x = geodec_rng_normal(&r);
        m += x;
        v += x * x;
    }
    cr_assert_lt(fabs(m / n), 0.01);
    cr_assert_lt(fabs(v / n - 1), 0.02);
}

Test(base, sha256_known_answer)
{
    char hex[GEODEC_SHA256_HEX];
    geodec_sha256_of("abc", 3, hex);
    cr_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

Test(base, f16_every_value_round_trips)
{
    for (unsigned h = 0; h < 0x10000u; h++) {
        float f = geodec_f16_to_f32((uint16_t)h);
        if (isnan(f)) continue;
        cr_assert_eq(geodec_f32_to_f16(f), h, "%04x -> %g", h, (double)f);
        /* halfway to the next value rounds to even */
        if ((h & 0x7fffu) < 0x7bffu) {
            float next = geodec_f16_to_f32((uint16_t)(h + 1)), mid = f + (next - f) * 0.5f;
            cr_assert_eq(geodec_f32_to_f16(mid), (h & 1u) ? h + 1 : h, "%04x", h);
        }
    }
    cr_assert_eq(geodec_f32_to_f16(1e6f), 0x7c00);
    cr_assert_eq(geodec_f32_to_bf16(1.0f), 0x3f80);
    cr_assert_eq(geodec_bf16_to_f32(0xc000), -2.0f);
}

Test(base, memory_refuses_overflow_and_fails_on_demand)
{
    cr_assert_null(geodec_mem_new(-1, 8));
    cr_assert_null(geodec_mem_new(INT64_MAX, 16));
    geodec_mem_fail_after(2);
    void *a = geodec_mem_new(1, 1), *b = geodec_mem_new(1, 1), *c = geodec_mem_new(1, 1);
    cr_assert(a && !b && c);
    geodec_mem_free(a);
    geodec_mem_free(c);
}

static geodec_status inner(geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_THROW(GEODEC_FORMAT, "byte %d is bad\n", 7);
done:
    return st;
}

static geodec_status outer(geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY_MSG(inner(err), "file %s", "x.h5");
done:
    return st;
}

Test(base, error_chain_reads_outside_in_on_one_line)
{
    geodec_err err = {0};
    char line[200];
    cr_assert_eq(outer(&err), GEODEC_FORMAT);
    cr_assert_str_eq(geodec_err_line(&err, line, sizeof line), "file x.h5: byte 7 is bad?");
    cr_assert_eq(outer(NULL), GEODEC_FORMAT);
}

/* A long chain of calls keeps the first reason and the outermost names, such as that of the file. */
Test(base, error_chain_drops_frames_without_a_text_first)
{
    geodec_err err = {0};
    char line[512];
    (void)!geodec_err_set(&err, GEODEC_FORMAT, "f", 1, "reason");
    for (int i = 0; i < 2 * GEODEC_ERR_FRAMES; i++) (void)!geodec_err_add(&err, GEODEC_FORMAT, "g", i, "%s", "");
    (void)!geodec_err_add(&err, GEODEC_FORMAT, "h", 1, "tensor %d", 3);
    (void)!geodec_err_add(&err, GEODEC_FORMAT, "h", 2, "%s", "file");
    cr_assert_str_eq(geodec_err_line(&err, line, sizeof line), "file: tensor 3: reason");
    for (int i = 0; i < 2 * GEODEC_ERR_FRAMES; i++) (void)!geodec_err_add(&err, GEODEC_FORMAT, "h", i, "%d", i);
    cr_assert_str_eq(geodec_err_line(&err, line, sizeof line), "4: 3: 2: 1: 0: file: tensor 3: reason");
}

Test(base, f16_arrays_have_the_bits_of_single_values)
{
    enum { N = 1 << 16 };
    static float f[N + 7];
    static uint16_t h[N + 7];
    for (uint32_t round = 0; round < 8; round++) {
        for (uint32_t i = 0; i < N + 7; i++) { /* every exponent and NaN, low mantissa bits of all kinds */
            const uint32_t u = (i << 16) | (i * 40503u + round * 12289u) % 65536u;
            memcpy(&f[i], &u, sizeof u);
        }
        geodec_f32_to_f16_n(f, h, N + 7);
        for (uint32_t i = 0; i < N + 7; i++) cr_assert_eq(h[i], geodec_f32_to_f16(f[i]), "%a", (double)f[i]);
    }
}

Test(base, the_first_value_that_is_no_number_is_found)
{
    enum { N = 200 };
    float x[N];
    uint16_t h[N];
    for (int i = 0; i < N; i++) {
        x[i] = i % 2 ? -3.4e38f : 1e-45f * (float)i;
        h[i] = i % 2 ? 0xfbff : (uint16_t)i;
    }
    cr_assert_eq(geodec_finite_first_not_f32(x, N), -1);
    cr_assert_eq(geodec_finite_first_not_f16(h, N), -1);
    for (int i = 0; i < N; i++) {
        const float old = x[i];
        const uint16_t before = h[i];
        x[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
        h[i] = i % 3 == 0 ? 0x7e01 : i % 3 == 1 ? 0x7c00 : 0xfc00;
        cr_assert_eq(geodec_finite_first_not_f32(x, N), i);
        cr_assert_eq(geodec_finite_first_not_f16(h, N), i);
        cr_assert_eq(geodec_finite_first_not_f32(x, i), -1);
        x[i] = old;
        h[i] = before;
    }
}

/* ---- maps and partial outputs ----------------------------------------------------------------------------------- */

Test(base, maps_are_found_by_address)
{
    static const char a[100], b[10];
    size_t n = 0;
    geodec_mapped_add(a, sizeof a, "a.gguf");
    geodec_mapped_add(b, sizeof b, "b.gguf");
    cr_assert_str_eq(geodec_mapped_find(a, &n), "a.gguf");
    cr_assert_eq(n, sizeof a);
    cr_assert_str_eq(geodec_mapped_find(a + 99, &n), "a.gguf");
    cr_assert_str_eq(geodec_mapped_find(b + 9, &n), "b.gguf");
    cr_assert_eq(n, sizeof b);
    cr_assert_null(geodec_mapped_find(&n, &n));
    geodec_mapped_remove(a);
    cr_assert_null(geodec_mapped_find(a + 50, &n));
    cr_assert_str_eq(geodec_mapped_find(b, &n), "b.gguf");
    /* a full table omits entries, and has space again later */
    for (int i = 0; i < GEODEC_MAPPED_MAX; i++) geodec_mapped_add(a, 1, "c.gguf");
    geodec_mapped_add(a + 50, 1, "d.gguf");
    cr_assert_null(geodec_mapped_find(a + 50, &n));
    geodec_mapped_remove(a);
    geodec_mapped_add(a + 50, 1, "d.gguf");
    cr_assert_str_eq(geodec_mapped_find(a + 50, &n), "d.gguf");
}

Test(base, partial_outputs_are_removed_and_no_others)
{
    char kept[256], gone[256], longer[GEODEC_MAPPED_NAME + 8];
    (void)snprintf(kept, sizeof kept, "%s", test_tmp("kept"));
    (void)snprintf(gone, sizeof gone, "%s", test_tmp("gone"));
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    const char *const path[] = {kept, gone};
    int slot[2];
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(path[i], "w");
        cr_assert(f && fclose(f) == 0);
        slot[i] = geodec_mapped_partial_add(path[i]);
        cr_assert_geq(slot[i], 0);
    }
    cr_assert_eq(geodec_mapped_partial_add(longer), -1);
    geodec_mapped_partial_remove(-1);
    geodec_mapped_partial_remove(slot[0]);
    geodec_mapped_partial_unlink();
    cr_assert_eq(access(kept, F_OK), 0);
    cr_assert_neq(access(gone, F_OK), 0);
}

static double raw_thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time of the readings is not counted; that of the work is. */
Test(base, thread_clock_counts_work_alone)
{
    enum { READINGS = 20000 };
    double last = geodec_clock_thread_seconds(), first = last;
    double raw = raw_thread_seconds();
    for (int i = 0; i < READINGS; i++) {
        const double now = geodec_clock_thread_seconds();
        cr_assert_geq(now, last);
        last = now;
    }
    raw = raw_thread_seconds() - raw;
    cr_assert_lt(last - first, 0.6 * raw, "%g of %g s", last - first, raw);
    first = geodec_clock_thread_seconds();
    raw = raw_thread_seconds();
    volatile double sum = 0;
    while (raw_thread_seconds() - raw < 0.05)
        for (int i = 0; i < 100000; i++) sum = sum + i;
    raw = raw_thread_seconds() - raw;
    cr_assert_float_eq(geodec_clock_thread_seconds() - first, raw, 0.1 * raw);
}

/* A bit stands for all instructions that files with its flags use (mk/config-default.mk), and the wider sets have the
 * narrower ones. */
Test(base, the_mask_of_the_processor_is_what_it_has)
{
    const unsigned has = geodec__cpu(), wide = GEODEC__CPU_VNNI | GEODEC__CPU_IFMA | GEODEC__CPU_VBMI;
    cr_assert_eq(geodec__cpu(), has, "the same when asked again");
#if defined(__x86_64__)
    cr_assert_eq(!!(has & GEODEC__CPU_CRC32), !!__builtin_cpu_supports("sse4.2"));
    if (has & GEODEC__CPU_AVX2) cr_assert(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    if (has & GEODEC__CPU_AVX512)
        cr_assert(has & GEODEC__CPU_AVX2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"));
    if (has & (wide | GEODEC__CPU_POPCOUNT)) cr_assert(has & GEODEC__CPU_AVX512);
    cr_assert_eq(!!(has & GEODEC__CPU_VNNI), has & GEODEC__CPU_AVX512 && __builtin_cpu_supports("avx512vnni"));
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
    cr_assert(has & GEODEC__CPU_AVX2, "this program would not run without it");
#endif
#else
    (void)wide;
    cr_assert_eq(has, 0);
#endif
}
