/* Experts of a GGUF in TQ1_0 and TQ2_0 and back: the same bytes, and what is refused. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "gguf/opened.h"
#include "gguf/quantize.h"
#include "io/file.h"
#include "support/support.h"
#include "ternary/retype.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { F16 = GEODEC_GGML_F16, TQ1 = GEODEC_GGML_TQ1_0, TQ2 = GEODEC_GGML_TQ2_0, ROWS = 5, EXPERTS = 3 };

typedef struct form {
    int type;      /* of the experts */
    float scale;   /* of expert 0; others have 1.5 and 2 times as much */
    int64_t cols;  /* of the matrices gate and up */
    bool by_row;   /* rows have other scales */
    bool single;   /* a tensor for each expert */
    bool ordinary; /* one weight of the last expert is not ternary */
} form;

static void put(geodec_gguf_writer *w, const form *f, const char *name, int64_t cols, int64_t count)
{
    geodec_err err = {0};
    const int64_t dim[3] = {cols, ROWS, count}, n = cols * ROWS * count;
    const uint64_t stream = geodec_rng_id(name, 0);
    float *x = geodec_mem_new(n, sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = i / cols;
        const float s = f->scale * (1 + 0.5F * (float)(row / ROWS)) * (f->by_row && row % 2 ? 4 : 1);
        /* block 1 is zeros */
        x[i] = i / 256 == 1 ? 0 : s * (float)((int)(geodec_rng_at(7, stream, (uint64_t)i) % 3) - 1);
    }
    if (f->ordinary) x[n - 3] = 0.7F * f->scale;
    test_ok(geodec_gguf_put_tensor(w, name, f->type, count > 1 ? 3 : 2, dim, x, &err), &err);
    geodec_mem_free(x);
}

static const char *write_model(const char *name, const form *f)
{
    static const char *const part[] = {"gate", "up", "down"};
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    const char *path = test_tmp(name);
    char text[64];
    test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
    test_ok(geodec_gguf_put_str(w, "general.architecture", "perspective", &err), &err);
    test_ok(geodec_gguf_put_u32(w, "general.file_type", 1, &err), &err);
    put(w, &(form){.type = F16, .scale = 0.1F}, "token_embd.weight", 64, 1);
    for (int i = 0; i < 2; i++) {
        put(w, &(form){.type = GEODEC_GGML_F32, .scale = 0.3F}, i ? "blk.1.ffn_gate_inp.weight" : "blk.0.ffn_up.weight",
            64, 1);
        for (int k = 0; k < 3; k++)
            for (int e = 0; e < (f->single ? EXPERTS : 1); e++) {
                if (f->single)
                    (void)snprintf(text, sizeof text, "blk.%d.ffn_%s.%d.weight", i, part[k], e);
                else
                    (void)snprintf(text, sizeof text, "blk.%d.ffn_%s_exps.weight", i, part[k]);
                put(w, f, text, k < 2 ? f->cols : 768, f->single ? 1 : EXPERTS);
            }
    }
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
    return path;
}

static const char *retyped(const char *from, const char *name, int type, bool lossy, geodec_ternary_retyped *r)
{
    geodec_err err = {0};
    const char *path = test_tmp(name);
    geodec_gguf *in = opened_gguf(from);
    test_ok(geodec_ternary_retype(in, path, type, lossy, NULL, NULL, r, &err), &err);
    geodec_gguf_close(in);
    return path;
}

/* Names, types, sizes and bytes of all tensors. */
static void assert_same_tensors(const char *a, const char *b)
{
    char of_a[GEODEC_SHA256_HEX], of_b[GEODEC_SHA256_HEX];
    geodec_gguf *g = opened_gguf(a), *h = opened_gguf(b);
    geodec_gguf_tensor_digest(g, of_a);
    geodec_gguf_tensor_digest(h, of_b);
    cr_assert_str_eq(of_a, of_b, "%s and %s", a, b);
    geodec_gguf_close(g);
    geodec_gguf_close(h);
}

static float *values(const geodec_gguf_tensor *t, int64_t *n)
{
    *n = t->dim[0] * t->dim[1] * t->dim[2];
    float *x = geodec_mem_new(*n, sizeof *x);
    geodec_ggml_traits_of(t->type)->decode(t->data, x, *n);
    return x;
}

/* Experts have the new type and the same values, other tensors the same bytes. */
static void assert_same_values(const char *a, const char *b, int type)
{
    geodec_gguf *g = opened_gguf(a), *h = opened_gguf(b);
    cr_assert_eq(geodec_gguf_n_tensors(g), geodec_gguf_n_tensors(h));
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *s = geodec_gguf_tensor_at(g, i), *t = geodec_gguf_tensor_at(h, i);
        int64_t n;
        cr_assert_str_eq(s->name, t->name);
        if (!strstr(s->name, "_exps") && !strstr(s->name, ".0.weight") && !strstr(s->name, ".1.weight") &&
            !strstr(s->name, ".2.weight")) {
            cr_assert(s->type == t->type && s->bytes == t->bytes && memcmp(s->data, t->data, s->bytes) == 0);
            continue;
        }
        cr_assert_eq(t->type, type, "%s", t->name);
        float *x = values(s, &n), *y = values(t, &n);
        for (int64_t k = 0; k < n; k++) cr_assert_eq(x[k], y[k], "%s: weight %lld", s->name, (long long)k);
        geodec_mem_free(x);
        geodec_mem_free(y);
    }
    geodec_gguf_close(g);
    geodec_gguf_close(h);
}

/* 0.1000366211 is a binary16 value that no other type of few bits holds. */
Test(perspective_ternary_retype, there_and_back_bit_for_bit)
{
    static const int types[] = {TQ1, TQ2};
    const form forms[] = {{.type = F16, .scale = 0.1000366211F, .cols = 256},
                          {.type = F16, .scale = 0x1p-16F /* subnormal */, .cols = 512, .by_row = true},
                          {.type = GEODEC_GGML_F32, .scale = 12.25F, .cols = 256, .by_row = true, .single = true},
                          {.type = GEODEC_GGML_BF16, .scale = 0.375F, .cols = 1024}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        const char *from = write_model("from.gguf", &forms[k]);
        for (int i = 0; i < 2; i++) {
            geodec_ternary_retyped r;
            const char *to = retyped(from, "to.gguf", types[i], false, &r);
            const int64_t weights = 2 * EXPERTS * ROWS * (2 * forms[k].cols + 768);
            cr_assert(r.error == 0 && r.weights == weights && r.tensors == (forms[k].single ? 18 : 6));
            cr_assert_eq(r.before, weights * (forms[k].type == GEODEC_GGML_F32 ? 4 : 2));
            cr_assert_eq(r.after, weights / 256 * (types[i] == TQ1 ? 54 : 66));
            cr_assert(r.zeros > weights / 4 && r.zeros < weights);
            assert_same_values(from, to, types[i]);
            assert_same_tensors(from, retyped(to, "back.gguf", forms[k].type, false, &r));
            cr_assert_eq(r.error, 0);
            /* through the other ternary type, and through floats that hold the scales */
            const char *other = retyped(to, "other.gguf", types[1 - i], false, &r);
            assert_same_values(from, other, types[1 - i]);
            assert_same_tensors(to, retyped(other, "back.gguf", types[i], false, &r));
            assert_same_tensors(to, retyped(retyped(to, "f16.gguf", F16, false, &r), "back.gguf", types[i], false, &r));
        }
    }
}

/* The kept key that names the type of most weights follows; others are copied. */
Test(perspective_ternary_retype, the_file_type_follows)
{
    geodec_ternary_retyped r;
    int64_t kind;
    geodec_err err = {0};
    const char *from = write_model("from.gguf", &(form){.type = F16, .scale = 0.25F, .cols = 256});
    const char *to = retyped(from, "to.gguf", TQ1, false, &r);
    geodec_gguf *g = opened_gguf(to);
    test_ok(geodec_gguf_get_i64(g, "general.file_type", &kind, &err), &err);
    cr_assert_eq(kind, 36);
    geodec_gguf_close(g);
    g = opened_gguf(retyped(to, "back.gguf", F16, false, &r));
    test_ok(geodec_gguf_get_i64(g, "general.file_type", &kind, &err), &err);
    cr_assert_eq(kind, 1);
    cr_assert(geodec_gguf_has(g, "general.architecture"));
    geodec_gguf_close(g);
}

/* 0.1 becomes 0.0999755859375 in binary16: a relative error of 2.44e-4; 1.5 and 2 times as much 2.44e-4 or less. */
Test(perspective_ternary_retype, a_scale_that_would_be_rounded_is_refused_unless_a_loss_is_allowed)
{
    geodec_err err = {0};
    geodec_ternary_retyped r;
    char line[512];
    int64_t n;
    const char *from = write_model("from.gguf", &(form){.type = GEODEC_GGML_F32, .scale = 0.1F, .cols = 256});
    geodec_gguf *in = opened_gguf(from);
    const char *to = test_tmp("lossy.gguf");
    for (int type = 0; type < 3; type++) {
        const int all[] = {TQ1, TQ2, F16};
        cr_assert_eq(geodec_ternary_retype(in, to, all[type], false, NULL, NULL, &r, &err), GEODEC_UNSUPPORTED);
        (void)geodec_err_line(&err, line, sizeof line);
        cr_assert(strstr(line, "0.100000001 becomes 0.0999755859") && strstr(line, "(0.00024)") && r.refused, "%s",
                  line);
        cr_assert(access(to, F_OK) != 0);
        geodec_err_clear(&err);
    }
    test_ok(geodec_ternary_retype(in, to, TQ2, true, NULL, NULL, &r, &err), &err);
    const double expected = fabs((double)geodec_f16_to_f32(geodec_f32_to_f16(0.1F)) - (double)0.1F) / (double)0.1F;
    cr_assert(r.error == expected && !r.refused, "%g", r.error);
    /* the same trits */
    geodec_gguf *g = opened_gguf(to);
    const char *name = "blk.1.ffn_down_exps.weight";
    float *x = values(geodec_gguf_find(in, name), &n), *y = values(geodec_gguf_find(g, name), &n);
    for (int64_t i = 0; i < n; i++) cr_assert((x[i] > 0) == (y[i] > 0) && (x[i] < 0) == (y[i] < 0));
    geodec_mem_free(x);
    geodec_mem_free(y);
    geodec_gguf_close(g);
    geodec_gguf_close(in);
}

static void assert_refused(const form *f, int type, geodec_status want, const char *what)
{
    geodec_err err = {0};
    geodec_ternary_retyped r;
    char line[512];
    geodec_gguf *in = opened_gguf(write_model("refused.gguf", f));
    cr_assert_eq(geodec_ternary_retype(in, test_tmp("refused-to.gguf"), type, true, NULL, NULL, &r, &err), want);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert(strstr(line, what), "%s", line);
    cr_assert(access(test_tmp("refused-to.gguf"), F_OK) != 0);
    geodec_gguf_close(in);
}

Test(perspective_ternary_retype, what_cannot_be_written_is_refused)
{
    assert_refused(&(form){.type = F16, .scale = 1, .cols = 96}, TQ2, GEODEC_UNSUPPORTED,
                   "tensor 'blk.0.ffn_gate_exps.weight': rows of 96 weights are no whole blocks of 256 (TQ2_0)");
    assert_refused(&(form){.type = F16, .scale = 1, .cols = 256, .ordinary = true}, TQ1, GEODEC_UNSUPPORTED,
                   "tensor 'blk.0.ffn_gate_exps.weight' is not ternary: row 14, column 253 is 0.7");
    assert_refused(&(form){.type = GEODEC_GGML_F32, .scale = 1e6F, .cols = 256}, TQ1, GEODEC_UNSUPPORTED,
                   "the scale 1e+06 is beyond the type TQ1_0");
    assert_refused(&(form){.type = GEODEC_GGML_F32, .scale = 1e-9F, .cols = 256}, TQ1, GEODEC_UNSUPPORTED,
                   "the scale 1e-09 is beyond the type TQ1_0");
    assert_refused(&(form){.type = F16, .scale = 1, .cols = 256}, GEODEC_GGML_Q4_0, GEODEC_INVAL, "Q4_0");
    /* rows of other lengths become floats */
    geodec_ternary_retyped r;
    const char *odd = write_model("odd.gguf", &(form){.type = F16, .scale = 0.5F, .cols = 300});
    assert_same_tensors(odd, retyped(retyped(odd, "a.gguf", GEODEC_GGML_F32, false, &r), "b.gguf", F16, false, &r));
}

static int64_t read_all(const char *path, uint8_t *to, int64_t room)
{
    FILE *f = fopen(path, "rb");
    cr_assert(f);
    const size_t n = fread(to, 1, (size_t)room, f);
    cr_assert_eq(fclose(f), 0);
    return (int64_t)n;
}

static void write_all(const char *path, const uint8_t *from, int64_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert(f && fwrite(from, 1, (size_t)n, f) == (size_t)n && fclose(f) == 0);
}

/* A changed bit of a GGUF, which has no checksum, either ends with an error and no file, or gives a file that can be
 * read and converted back. A shorter file is refused. Codes beyond the three of TQ2_0 are found. */
Test(perspective_ternary_retype, damaged_files, .timeout = 120)
{
    static uint8_t all[1 << 17];
    geodec_err err = {0};
    geodec_ternary_retyped r;
    geodec_gguf *in = NULL;
    int64_t refused = 0, read = 0;
    const char *f16 = write_model("from.gguf", &(form){.type = F16, .scale = 0.25F, .cols = 256});
    const char *from = retyped(f16, "tq2.gguf", TQ2, false, &r), *bad = test_tmp("bad.gguf"),
               *to = test_tmp("out.gguf");
    const int64_t size = read_all(from, all, sizeof all);
    cr_assert_lt(size, (int64_t)sizeof all);
    for (int k = 0; k < 400; k++) {
        const int64_t bit = (int64_t)(geodec_rng_at(11, 3, (uint64_t)k) % (8 * (uint64_t)(k % 2 ? size : 2000)));
        all[bit / 8] ^= (uint8_t)(1U << bit % 8);
        write_all(bad, all, size);
        all[bit / 8] ^= (uint8_t)(1U << bit % 8);
        geodec_status st = geodec_gguf_open(bad, &in, &err);
        if (st == GEODEC_OK) {
            st = geodec_ternary_retype(in, to, F16, false, NULL, NULL, &r, &err);
            geodec_gguf_close(in);
        }
        cr_assert((access(to, F_OK) == 0) == (st == GEODEC_OK), "bit %lld", (long long)bit);
        refused += st != GEODEC_OK;
        read += st == GEODEC_OK;
        if (st == GEODEC_OK) {
            geodec_gguf_close(opened_gguf(to));
            cr_assert_eq(unlink(to), 0);
        }
        geodec_err_clear(&err);
    }
    cr_assert(refused > 50 && read > 50, "%lld refused, %lld read", (long long)refused, (long long)read);
    for (int64_t n = 0; n < size; n += n < 600 ? 7 : 997) {
        write_all(bad, all, n);
        cr_assert(geodec_gguf_open(bad, &in, &err) != GEODEC_OK, "%lld bytes", (long long)n);
        geodec_err_clear(&err);
    }
}
