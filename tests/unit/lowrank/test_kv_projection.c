/* Bases for a cache of low rank: the identity at full rank, the best possible errors, and the artifact. */
#include "base/mem.h"
#include "linalg/lapack.h"
#include "lowrank/kv_projection.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TOKENS = 96 };

static geodec_model *opened(void)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_linalg_init();
    test_ok(geodec_model_open(test_golden("model/geodec-stories-f16.gguf"), &m, &err), &err);
    return m;
}

static int32_t token_at(const geodec_model *m, int i)
{
    return i == 0 ? 1 : 3 + (i * 37 + i * i * 11) % (geodec_model_configuration(m)->n_vocab - 3);
}

static float *logits_of(const geodec_model *m)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    int32_t token[TOKENS];
    for (int i = 0; i < TOKENS; i++) token[i] = token_at(m, i);
    float *y = geodec_mem_new(TOKENS * (int64_t)geodec_model_configuration(m)->n_vocab, sizeof *y);
    test_ok(geodec_session_create(m, &(geodec_session_options){.max_batch = TOKENS}, &s, &err), &err);
    test_ok(geodec_forward(s, &(geodec_batch){.n = TOKENS, .token = token}, y, NULL, &err), &err);
    geodec_session_destroy(s);
    return y;
}

static geodec_input_moments moments_of(const geodec_model *m)
{
    geodec_err err = {0};
    geodec_input_moments c = {0};
    int32_t token[300];
    for (int i = 0; i < 300; i++) token[i] = token_at(m, i);
    test_ok(geodec_input_moments_run(m, 1u << GEODEC_SLOT_K, 300, token, 100, NULL, NULL, &c, &err), &err);
    return c;
}

Test(kvprojection, full_rank_is_the_model)
{
    geodec_err err = {0};
    geodec_model *m = opened();
    geodec_input_moments c = moments_of(m);
    float *want = logits_of(m);
    const int64_t n = TOKENS * (int64_t)geodec_model_configuration(m)->n_vocab;
    for (int basis = GEODEC_BASIS_WEIGHTS; basis <= GEODEC_BASIS_WHITENED; basis++)
        for (int32_t group = 1; group <= 4; group *= 2) {
            geodec_kv_projection p = {0};
            geodec_model *low = opened();
            const geodec_kv_projection_options o = {.basis = (geodec_projection_basis)basis,
                                                    .group = group,
                                                    .k_share = 1,
                                                    .v_share = 1,
                                                    .ridge = 1e-6,
                                                    .moments = &c};
            test_ok(geodec_kv_projection_fit(m, &o, &p, &err), &err);
            cr_assert_eq(p.numbers_kept, p.numbers_full);
            test_ok(geodec_kv_projection_apply(&p, low, &err), &err);
            float *got = logits_of(low);
            double worst = 0, size = 0;
            for (int64_t i = 0; i < n; i++) {
                worst = fmax(worst, fabs((double)got[i] - (double)want[i]));
                size = fmax(size, fabs((double)want[i]));
            }
            cr_assert_lt(worst, 1e-5 * size, "basis %d group %d: %g of %g", basis, group, worst, size);
            geodec_mem_free(got);
            geodec_kv_projection_clear(&p);
            geodec_model_close(low);
        }
    geodec_mem_free(want);
    geodec_input_moments_clear(&c);
    geodec_model_close(m);
}

Test(kvprojection, each_basis_is_best_at_its_own_error)
{
    geodec_err err = {0};
    geodec_model *m = opened();
    geodec_input_moments c = moments_of(m);
    const double shares[] = {0.25, 0.5, 0.75};
    double last[3][2] = {{2, 2}, {2, 2}, {2, 2}};
    for (int i = 0; i < 3; i++) {
        geodec_kv_projection p[3] = {{0}};
        for (int basis = 0; basis < 3; basis++) {
            const geodec_kv_projection_options o = {.basis = (geodec_projection_basis)basis,
                                                    .k_share = shares[i],
                                                    .v_share = shares[i],
                                                    .ridge = 1e-6,
                                                    .seed = 3,
                                                    .moments = &c};
            test_ok(geodec_kv_projection_fit(m, &o, &p[basis], &err), &err);
            cr_assert_eq(p[basis].k.rank, (int64_t)(shares[i] * 64));
            cr_assert_float_eq((double)p[basis].numbers_kept, shares[i] * (double)p[basis].numbers_full, 1e-9);
        }
        for (int32_t l = 0; l < p[0].n_layer; l++)
            for (int side = 0; side < 2; side++) {
                const geodec_kv_side *a = side ? &p[0].v : &p[0].k, *b = side ? &p[1].v : &p[1].k,
                                     *r = side ? &p[2].v : &p[2].k;
                cr_assert_leq(a->error[l], b->error[l] * (1 + 1e-6));
                cr_assert_leq(b->output_error[l], a->output_error[l] * (1 + 1e-6));
                cr_assert_lt(a->error[l], r->error[l]);
            }
        for (int basis = 0; basis < 3; basis++) {
            cr_assert(p[basis].k.error[0] < last[basis][0] && p[basis].v.error[0] < last[basis][1]);
            last[basis][0] = p[basis].k.error[0];
            last[basis][1] = p[basis].v.error[0];
            geodec_kv_projection_clear(&p[basis]);
        }
    }
    geodec_input_moments_clear(&c);
    geodec_model_close(m);
}

Test(kvprojection, artifact_gives_the_same_model_and_refuses_others)
{
    geodec_err err = {0};
    geodec_model *m = opened();
    const char *path = test_tmp("kv.h5");
    for (int sides = 1; sides <= 3; sides++) {
        geodec_kv_projection p = {0};
        geodec_artifact *a = NULL;
        const geodec_kv_projection_options o = {.k_share = sides & 1 ? 0.5 : 0, .v_share = sides & 2 ? 0.3 : 0};
        test_ok(geodec_kv_projection_fit(m, &o, &p, &err), &err);
        const geodec_provenance prov = {.tool = "test", .model_fingerprint = geodec_model_fingerprint(m)};
        test_ok(geodec_artifact_create(&geodec_kv_projection_kind, path, &prov, &a, &err), &err);
        test_ok(geodec_kv_projection_write(&p, a, &err), &err);
        test_ok(geodec_artifact_commit(a, &err), &err);
        geodec_model *x = opened(), *y = opened();
        test_ok(geodec_kv_projection_apply(&p, x, &err), &err);
        test_ok(geodec_kv_projection_load(path, y, &err), &err);
        float *want = logits_of(x), *got = logits_of(y);
        cr_assert_eq(memcmp(got, want, TOKENS * (size_t)geodec_model_configuration(m)->n_vocab * sizeof *got), 0);
        geodec_mem_free(got);
        geodec_mem_free(want);
        geodec_model_close(x);
        geodec_model_close(y);
        geodec_kv_projection_clear(&p);
    }
    geodec_model *other = NULL;
    test_ok(geodec_model_open(test_golden("model/geodec-stories-q8_0.gguf"), &other, &err), &err);
    cr_assert_eq(geodec_kv_projection_load(path, other, &err), GEODEC_CHECKSUM);
    geodec_model_close(other);
    geodec_model_close(m);
}

Test(kvprojection, files_that_do_not_fit_the_model_are_refused)
{
    geodec_err err = {0};
    char line[512];
    geodec_model *m = opened();
    const char *path = test_tmp("kv.h5");
    const geodec_kv_projection_options o = {.k_share = 0.5, .v_share = 0.3};
    geodec_kv_projection p = {0};
    test_ok(geodec_kv_projection_fit(m, &o, &p, &err), &err);
    for (int i = 0; i < 7; i++) {
        geodec_kv_projection bad = p;
        geodec_artifact *a = NULL;
        if (i == 0) bad.n_layer--;
        if (i == 1) bad.head_dim--;
        if (i == 2) bad.d_model--;
        if (i == 3) bad.k.group = p.n_kv_head + 1;
        if (i == 4) bad.v.group = -1;
        if (i == 5) bad.k.rank = 0;
        if (i == 6) bad.v.in = NULL;
        const geodec_provenance prov = {.tool = "test", .model_fingerprint = geodec_model_fingerprint(m)};
        test_ok(geodec_artifact_create(&geodec_kv_projection_kind, path, &prov, &a, &err), &err);
        test_ok(geodec_kv_projection_write(&bad, a, &err), &err);
        test_ok(geodec_artifact_commit(a, &err), &err);
        memset(&err, 0, sizeof err);
        cr_assert_eq(geodec_kv_projection_load(path, m, &err), GEODEC_FORMAT, "%d", i);
        cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "kv.h5"), "%d: '%s'", i, line);
    }
    geodec_kv_projection_clear(&p);
    geodec_model_close(m);
}

Test(kvprojection, refusals)
{
    geodec_err err = {0};
    geodec_model *m = opened();
    geodec_kv_projection p = {0};
    const geodec_kv_projection_options bad[] = {
        {.k_share = 0}, {.k_share = 1.5}, {.k_share = 0.5, .group = 3}, {.k_share = 0.5, .ridge = -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(geodec_kv_projection_fit(m, &bad[i], &p, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_kv_projection_fit(
                     m, &(geodec_kv_projection_options){.basis = GEODEC_BASIS_WHITENED, .k_share = 0.5}, &p, &err),
                 GEODEC_INVAL);
    geodec_model_close(m);
}
