/* Weights in factors: the identity, the energies, the least errors, and the results of the model. */
#include "base/mem.h"
#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "lowrank/projection.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { ALL = (1 << GEODEC_SLOTS) - 1, QKV = 7, TOKENS = 48 };

static const char *small(void) { return test_golden("model/geodec-stories-f16.gguf"); }

static geodec_model *opened(const char *path)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_linalg_init();
    test_ok(geodec_model_open(path, &m, &err), &err);
    return m;
}

static int32_t token_at(const geodec_model *m, int i)
{
    return i == 0 ? 1 : 3 + (i * 37 + i * i * 11) % (geodec_model_configuration(m)->n_vocab - 3);
}

/* Logits [TOKENS][n_vocab] of a fixed text, or of it as a tree with `parent`. */
static float *logits_of(const geodec_model *m, geodec_arithmetic arithmetic, geodec_isa isa)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    int32_t token[TOKENS];
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    for (int i = 0; i < TOKENS; i++) token[i] = token_at(m, i);
    float *y = geodec_mem_new(TOKENS * v, sizeof *y);
    test_ok(geodec_session_create(m, &(geodec_session_options){.arithmetic = arithmetic, .isa = isa}, &s, &err), &err);
    test_ok(geodec_forward(s, &(geodec_batch){.n = TOKENS, .token = token}, y, NULL, &err), &err);
    geodec_session_destroy(s);
    return y;
}

static geodec_projection fitted(const geodec_model *m, const geodec_projection_options *o)
{
    geodec_err err = {0};
    geodec_projection p = {0};
    test_ok(geodec_projection_fit(m, o, &p, &err), &err);
    return p;
}

static geodec_input_moments moments_of(const geodec_model *m, unsigned slots)
{
    geodec_err err = {0};
    geodec_input_moments c = {0};
    int32_t token[300];
    for (int i = 0; i < 300; i++) token[i] = token_at(m, i);
    test_ok(geodec_input_moments_run(m, slots, 300, token, 100, NULL, NULL, &c, &err), &err);
    return c;
}

/* Largest difference of the logits with and without a projection, relative to the largest logit. */
static double difference(const char *path, const geodec_projection_options *o, geodec_arithmetic arithmetic)
{
    geodec_err err = {0};
    geodec_model *m = opened(path), *q = opened(path);
    const int64_t n = (int64_t)TOKENS * geodec_model_configuration(m)->n_vocab;
    geodec_projection p = fitted(m, o);
    test_ok(geodec_projection_apply(&p, q, &err), &err);
    cr_assert_eq(geodec_model_factored(q), p.parts);
    cr_assert_eq(geodec_model_pass_bytes(q), p.bytes_projected);
    cr_assert_eq(geodec_model_pass_bytes(m), p.bytes_full);
    float *a = logits_of(m, arithmetic, GEODEC_ISA_AUTO), *b = logits_of(q, arithmetic, GEODEC_ISA_AUTO);
    double top = 0;
    for (int64_t i = 0; i < n; i++) top = fabs((double)a[i]) > top ? fabs((double)a[i]) : top;
    const double d = memcmp(a, b, (size_t)n * sizeof *a) == 0 ? 0 : (double)test_max_abs_diff_f32(a, b, n) / top;
    geodec_mem_free(a);
    geodec_mem_free(b);
    geodec_projection_clear(&p);
    geodec_model_close(m);
    geodec_model_close(q);
    return d;
}

static void all_coordinates(const char *const *models, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *path = test_shared(models[i]);
        geodec_projection_options o = geodec_projection_defaults();
        o.basis = GEODEC_BASIS_COORDINATES;
        o.share = 1;
        o.slots = strstr(path, "moe") || strstr(path, "experts") ? QKV | 1u << GEODEC_SLOT_O : ALL;
        for (int shared = 0; shared < 2; shared++) {
            o.shared = shared;
            cr_assert_eq(difference(path, &o, GEODEC_EXACT), 0, "%s", path);
        }
    }
}

Test(projection, all_coordinates_are_the_model_bit_for_bit)
{
    static const char *const models[] = {"models/geodec-stories-f16.gguf", "models/geodec-stories-q8_0.gguf",
                                         "models/tiny-llama-linear.gguf", "models/tiny-llama-experts.gguf"};
    all_coordinates(models, sizeof models / sizeof *models);
}

Test(projection, all_coordinates_of_shared_models)
{
    static const char *const models[] = {"models/stories260K-f32.gguf", "models/stories260K-ff192-f32.gguf",
                                         "models/stories260K-rot256-q8_0.gguf", "models/stories-moe8x2-f32.gguf"};
    all_coordinates(models, sizeof models / sizeof *models);
}

Test(projection, a_whole_orthogonal_basis_changes_little)
{
    const char *path = small();
    geodec_projection_options o = geodec_projection_defaults();
    o.share = 1;
    o.slots = QKV;
    for (int shared = 0; shared < 2; shared++)
        for (int b = 0; b < 2; b++) {
            o.shared = shared;
            o.basis = b ? GEODEC_BASIS_RANDOM : GEODEC_BASIS_WEIGHTS;
            const double d = difference(path, &o, GEODEC_EXACT);
            cr_assert(d > 0 && d < 1e-5, "%g", d);
        }
    o.slots = ALL;
    o.share = 0.5;
    cr_assert_gt(difference(path, &o, GEODEC_EXACT), 1e-2); /* and half of one a lot: the factors are in use */
}

/* Rows of `in` of a group are orthonormal, with their largest entry positive. */
static void check_orthonormal(const geodec_projection *p, const geodec_projection_part *t)
{
    const float *v = p->data + t->in;
    for (int64_t a = 0; a < t->k; a++) {
        double top = 0;
        for (int64_t b = 0; b < t->k; b++) {
            double dot = 0;
            for (int64_t i = 0; i < t->cols; i++) dot += (double)v[a * t->cols + i] * (double)v[b * t->cols + i];
            cr_assert_lt(fabs(dot - (a == b)), 1e-6); /* float32 entries */
        }
        for (int64_t i = 0; i < t->cols; i++)
            if (fabs((double)v[a * t->cols + i]) > fabs(top)) top = (double)v[a * t->cols + i];
        cr_assert_gt(top, 0);
    }
}

/* sum_s |W_s|^2 error_s = trace - captured, for every group. */
static void check_energy(const geodec_model *m, const geodec_projection *p)
{
    geodec_err err = {0};
    for (int64_t g = 0; g < p->groups; g++) {
        double lost = 0, whole = 0;
        for (int64_t i = 0; i < p->parts; i++) {
            const geodec_projection_part *t = &p->part[i];
            if (t->group != g) continue;
            float *w = geodec_mem_new(t->rows * t->cols, sizeof *w);
            test_ok(geodec_model_weights(m, t->layer, t->slot, w, &err), &err);
            double n = 0;
            for (int64_t j = 0; j < t->rows * t->cols; j++) n += (double)w[j] * (double)w[j];
            lost += n * t->error;
            whole += n;
            geodec_mem_free(w);
        }
        cr_assert_lt(fabs(whole / p->group[g].trace - 1), 1e-12);
        cr_assert_lt(fabs(lost - (p->group[g].trace - p->group[g].captured)) / whole, 1e-6);
    }
}

Test(projection, errors_add_up_fall_and_are_bounded_by_the_svd)
{
    enum { STEPS = 6 };
    const char *path = small();
    geodec_model *m = opened(path);
    geodec_projection_options o = geodec_projection_defaults();
    o.slots = ALL;
    for (int shared = 0; shared < 2; shared++) {
        double before[200];
        for (int i = 0; i < 200; i++) before[i] = 2;
        o.shared = shared;
        for (int step = 0; step < STEPS; step++) {
            o.share = (double)(step + 1) / STEPS;
            geodec_projection p = fitted(m, &o);
            check_energy(m, &p);
            for (int64_t i = 0; i < p.parts; i++) {
                const geodec_projection_part *t = &p.part[i];
                if (t->layer == 1) check_orthonormal(&p, t);
                cr_assert_geq(t->error, t->best - 1e-7);
                if (!shared) cr_assert_lt(t->error - t->best, 1e-6); /* Eckart-Young, by an independent SVD */
                cr_assert_leq(t->error, before[i] + 1e-7);
                before[i] = t->error;
            }
            geodec_projection_clear(&p);
        }
        for (int i = 0; i < 7; i++) cr_assert_lt(before[i], 1e-6); /* all directions: no loss */
    }
    geodec_model_close(m);
}

/* Of all bases at a rank the whitened one gives the outputs the least error, and the weights' own the weights; a random
 * one is worse than either. */
Test(projection, each_basis_is_best_at_what_it_minimises)
{
    const char *path = small();
    geodec_model *m = opened(path);
    geodec_input_moments c = moments_of(m, ALL);
    double error[3] = {0}, output_error[3] = {0};
    for (int b = 0; b < 3; b++) {
        geodec_projection_options o = geodec_projection_defaults();
        o.slots = ALL;
        o.shared = false;
        o.moments = &c;
        o.basis = (geodec_projection_basis)b;
        o.ridge = 1e-9;
        geodec_projection p = fitted(m, &o);
        for (int64_t i = 0; i < p.parts; i++) {
            error[b] += p.part[i].error;
            output_error[b] += p.part[i].output_error;
        }
        if (b == GEODEC_BASIS_WHITENED) /* the trace is that of W C W^T, and the energy lost is the outputs' error */
            for (int64_t i = 0; i < p.parts; i++) {
                const geodec_projection_group *g = &p.group[p.part[i].group];
                cr_assert_lt(fabs(p.part[i].output_error - (1 - g->captured / g->trace)), 1e-5);
            }
        geodec_projection_clear(&p);
    }
    cr_assert_lt(output_error[GEODEC_BASIS_WHITENED], output_error[GEODEC_BASIS_WEIGHTS]);
    cr_assert_lt(output_error[GEODEC_BASIS_WEIGHTS], output_error[GEODEC_BASIS_RANDOM]);
    cr_assert_lt(error[GEODEC_BASIS_WEIGHTS], error[GEODEC_BASIS_WHITENED]);
    cr_assert_lt(error[GEODEC_BASIS_WEIGHTS], error[GEODEC_BASIS_RANDOM]);
    geodec_input_moments_clear(&c);
    geodec_model_close(m);
}

/* The first layer's stream is the normalised embedding: its moments from the tables alone. */
Test(projection, moments_are_those_of_the_inputs)
{
    const char *path = small();
    geodec_err err = {0};
    geodec_model *m = opened(path);
    const int64_t d = geodec_model_configuration(m)->d_model;
    geodec_input_moments c = moments_of(m, QKV);
    const geodec_gguf_tensor *e = geodec_gguf_find(geodec_model_gguf(m), "token_embd.weight"),
                             *g = geodec_gguf_find(geodec_model_gguf(m), "blk.0.attn_norm.weight");
    const int64_t n_vocab = geodec_model_configuration(m)->n_vocab;
    const float *scale = (const float *)(const void *)g->data;
    float *table = geodec_mem_new(n_vocab * d, sizeof *table);
    geodec_ggml_traits_of(e->type)->decode(e->data, table, n_vocab * d);
    double *want = geodec_mem_new(d * d, sizeof *want);
    int64_t n = 0;
    for (int i = 0; i < 300; i++) {
        const int times = i % 99 == 0 ? 2 : 1; /* BOS, token 1, begins every window of 99 more */
        for (int k = 0; k < times; k++, n++) {
            const float *x = table + (k == 0 ? token_at(m, i) : 1) * d;
            double sum = 0;
            for (int64_t j = 0; j < d; j++) sum += (double)x[j] * (double)x[j];
            const double r = 1 / (sum / (double)d + (double)geodec_model_configuration(m)->rms_eps);
            for (int64_t a = 0; a < d; a++)
                for (int64_t b = 0; b < d; b++)
                    want[a * d + b] += r * (double)x[a] * (double)x[b] * (double)scale[a] * (double)scale[b];
        }
    }
    cr_assert_eq(c.tokens, n);
    for (int64_t i = 0; i < d * d; i++) want[i] /= (double)n;
    cr_assert_lt(test_max_abs_diff(want, c.c[GEODEC_SIDE_STREAM], d * d) / test_max_abs(want, d * d), 1e-6);
    cr_assert_null(c.c[GEODEC_SIDE_HIDDEN]);
    geodec_mem_free(want);
    geodec_mem_free(table);
    geodec_input_moments_clear(&c);
    geodec_input_moments bad = {0};
    const int32_t one = 1;
    cr_assert_eq(geodec_input_moments_run(m, QKV, 0, &one, 10, NULL, NULL, &bad, &err), GEODEC_FORMAT);
    geodec_model_close(m);
}

/* A projected model is batch invariant too, and the same on every instruction set. */
Test(projection, instruction_sets_agree)
{
    const char *path = small();
    geodec_err err = {0};
    geodec_model *m = opened(path);
    geodec_projection_options o = geodec_projection_defaults();
    o.slots = ALL;
    o.rule = GEODEC_RANK_ENERGY;
    o.share = 0.9;
    o.half = true;
    geodec_projection p = fitted(m, &o);
    test_ok(geodec_projection_apply(&p, m, &err), &err);
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    float *want = logits_of(m, GEODEC_EXACT, GEODEC_ISA_SCALAR);
    for (geodec_isa isa = GEODEC_ISA_AVX2; isa <= GEODEC_ISA_AVX512; isa++) {
        if (!geodec_kernels_isa_available(isa)) continue;
        float *y = logits_of(m, GEODEC_EXACT, isa);
        cr_assert_eq(memcmp(y, want, (size_t)(TOKENS * v) * sizeof *y), 0);
        geodec_mem_free(y);
    }
    geodec_session *s = NULL; /* one row at a time */
    float *row = geodec_mem_new(v, sizeof *row);
    test_ok(geodec_session_create(m, NULL, &s, &err), &err);
    for (int i = 0; i < TOKENS; i++) {
        const int32_t t = token_at(m, i);
        test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = &t}, row, NULL, &err), &err);
        cr_assert_eq(memcmp(row, want + i * v, (size_t)v * sizeof *row), 0, "row %d", i);
    }
    geodec_session_destroy(s);
    geodec_mem_free(row);
    geodec_mem_free(want);
    geodec_projection_clear(&p);
    geodec_model_close(m);
}

Test(projection, ranks)
{
    geodec_projection_options o = geodec_projection_defaults();
    const double spectrum[8] = {4, 2, 1, 1, 0, 0, 0, 0};
    o.share = 0.4;
    cr_assert_eq(geodec_projection_rank(&o, 8, 8, spectrum, 8, 2, 2), 3);
    o.share = 0;
    cr_assert_eq(geodec_projection_rank(&o, 8, 8, spectrum, 8, 2, 2), 1);
    o.k = 100;
    cr_assert_eq(geodec_projection_rank(&o, 8, 5, spectrum, 8, 2, 2), 5);
    o.k = 0;
    o.rule = GEODEC_RANK_ENERGY;
    o.share = 0.75;
    cr_assert_eq(geodec_projection_rank(&o, 8, 8, spectrum, 8, 2, 2), 2);
    o.share = 0.76;
    cr_assert_eq(geodec_projection_rank(&o, 8, 8, spectrum, 8, 2, 2), 3);
    o.share = 1;
    cr_assert_eq(geodec_projection_rank(&o, 8, 8, spectrum, 8, 2, 2), 4);
    o.rule = GEODEC_RANK_LAYERS;
    o.share = 0.5;
    cr_assert_eq(geodec_projection_rank(&o, 8, 8, spectrum, 8, 3, 2), 6);
    cr_assert_eq(geodec_projection_rank(&o, 8, 8, spectrum, 8, 1, 2), 2);
    o.floor = 0.55;
    cr_assert_eq(geodec_projection_rank(&o, 8, 8, spectrum, 8, 1, 2), 5);
}

static void write_to(const char *path, const geodec_model *m, const geodec_projection *p)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance prov = {.tool = "test", .model_fingerprint = geodec_model_fingerprint(m)};
    test_ok(geodec_artifact_create(&geodec_projection_kind, path, &prov, &a, &err), &err);
    test_ok(geodec_projection_write(p, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
}

Test(projection, the_file_gives_the_same_model_and_is_refused_by_another)
{
    const char *path = small(), *other = test_golden("model/geodec-stories-q8_0.gguf");
    geodec_err err = {0};
    char line[512];
    const char *file = test_tmp("projection.h5");
    geodec_projection_options o = geodec_projection_defaults();
    o.slots = ALL;
    geodec_model *m = opened(path), *direct = opened(path), *loaded = opened(path), *wrong = opened(other);
    geodec_projection p = fitted(m, &o);
    write_to(file, m, &p);
    test_ok(geodec_projection_apply(&p, direct, &err), &err);
    test_ok(geodec_projection_load(file, loaded, &err), &err);
    float *a = logits_of(direct, GEODEC_EXACT, GEODEC_ISA_AUTO), *b = logits_of(loaded, GEODEC_EXACT, GEODEC_ISA_AUTO);
    cr_assert_eq(memcmp(a, b, sizeof *a * (size_t)(TOKENS * geodec_model_configuration(m)->n_vocab)), 0);
    cr_assert_eq(geodec_projection_load(file, wrong, &err), GEODEC_CHECKSUM);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "made for another model"));
    cr_assert_eq(geodec_model_factored(wrong), 0);
    cr_assert_eq(geodec_projection_load(file, loaded, NULL), GEODEC_INVAL); /* twice */
    /* entries that do not fit the model */
    static const struct {
        int what;
        int64_t value;
    } bad[] = {{0, 99}, {0, -1}, {1, 7}, {2, 0}, {2, 1 << 20}, {3, -1}, {3, INT64_MAX}, {4, INT64_MAX - 4}, {1, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        geodec_projection_part keep = p.part[0], *t = &p.part[0];
        if (bad[i].what == 0) t->layer = (int32_t)bad[i].value;
        if (bad[i].what == 1) t->slot = (geodec_slot)bad[i].value;
        if (bad[i].what == 2) t->k = bad[i].value;
        if (bad[i].what == 3) t->in = bad[i].value;
        if (bad[i].what == 4) t->out = bad[i].value;
        write_to(file, m, &p);
        geodec_model *fresh = opened(path);
        cr_assert_neq(geodec_projection_load(file, fresh, NULL), GEODEC_OK, "%d", (int)i);
        cr_assert_eq(geodec_model_factored(fresh), 0);
        geodec_model_close(fresh);
        p.part[0] = keep;
    }
    geodec_mem_free(a);
    geodec_mem_free(b);
    geodec_projection_clear(&p);
    geodec_model_close(m);
    geodec_model_close(direct);
    geodec_model_close(loaded);
    geodec_model_close(wrong);
}

Test(projection, refusals)
{
    const char *path = small(), *experts = test_golden("models/tiny-llama-experts.gguf");
    geodec_model *m = opened(path), *moe = opened(experts);
    geodec_projection p = {0};
    geodec_projection_options o = geodec_projection_defaults();
    o.slots = 1u << GEODEC_SLOT_DOWN;
    cr_assert_eq(geodec_projection_fit(moe, &o, &p, NULL), GEODEC_UNSUPPORTED);
    o.slots = 0;
    cr_assert_eq(geodec_projection_fit(m, &o, &p, NULL), GEODEC_RANGE);
    o = geodec_projection_defaults();
    o.basis = GEODEC_BASIS_WHITENED;
    cr_assert_eq(geodec_projection_fit(m, &o, &p, NULL), GEODEC_INVAL);
    o.share = 1.5;
    cr_assert_eq(geodec_projection_fit(m, &o, &p, NULL), GEODEC_RANGE);
    const float big[2] = {1e6f, INFINITY};
    geodec_factor f = {.layer = 0, .slot = GEODEC_SLOT_Q, .k = 1, .in = big, .out = big};
    cr_assert_eq(geodec_model_factor(m, 0, &f, false, NULL), GEODEC_RANGE);
    f.k = 1 << 20;
    cr_assert_eq(geodec_model_factor(m, 1, &f, false, NULL), GEODEC_RANGE);
    geodec_model_close(m);
    geodec_model_close(moe);
}
