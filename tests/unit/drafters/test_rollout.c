/* The geometric rollout: its connections, its readout, its drafters, its ablation, and the leak test on a real model.
 */
#include "base/mem.h"
#include "base/rng.h"
#include "decode/tiny.h"
#include "decode/toy.h"
#include "drafters/rollout_ablation.h"
#include "geometry/geodesic.h"
#include "io/h5.h"
#include "session/embeddings.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { K = TOY_STATE, DIMS = 2, SITES = 20 };

static float any(uint64_t stream, int64_t i) { return (float)(geodec_rng_uniform_at(4, stream, (uint64_t)i) - 0.5); }

/* A rollout with random contents for states of width d; token 5 was never seen. */
static void make(geodec_rollout *r, int64_t d, int64_t vocab)
{
    geodec_err err = {0};
    double norm = 0;
    *r = (geodec_rollout){.step = {.vocab = vocab, .d = d, .k = K}, .words = vocab, .covered = 0.9};
    r->sites = SITES;
    r->dims = DIMS;
    r->sigma = 0.5;
    geodec_step *const step[] = {&r->step, &r->blind};
    r->blind = r->step;
    for (int s = 0; s < 2; s++) {
        step[s]->basis = geodec_mem_new(K * d, sizeof(float));
        step[s]->mean = geodec_mem_new(d, sizeof(float));
        step[s]->map = geodec_mem_new(K * K, sizeof(float));
        step[s]->after = geodec_mem_new(vocab * K, sizeof(float));
        step[s]->seen = geodec_mem_new(vocab, sizeof(uint32_t));
        for (int i = 0; i < K; i++) step[s]->basis[i * d + i] = 1;
        for (int i = 0; i < K * K; i++) step[s]->map[i] = any(1 + (uint64_t)s, i);
        for (int i = 0; i < vocab * K; i++) step[s]->after[i] = any(3, s ? i % K : i);
        for (int i = 0; i < vocab; i++) step[s]->seen[i] = i != 5;
    }
    r->word = geodec_mem_new(vocab, sizeof(int32_t));
    r->weight = geodec_mem_new(vocab * K, sizeof(float));
    r->bias = geodec_mem_new(vocab, sizeof(float));
    for (int32_t i = 0; i < vocab; i++) r->word[i] = (int32_t)((i * 7 + 2) % vocab);
    for (int i = 0; i < vocab * K; i++) r->weight[i] = 4 * any(5, i);
    r->site = geodec_mem_new(SITES * DIMS, sizeof(double));
    r->log_g = geodec_mem_new(SITES * 3, sizeof(double));
    for (int i = 0; i < SITES * DIMS; i++) r->site[i] = (double)any(6, i);
    for (int i = 0; i < SITES * 3; i++) r->log_g[i] = (double)any(7, i);
    test_ok(geodec_rbf_create(SITES, DIMS, r->site, r->log_g, r->sigma, &r->field, &err), &err);
    r->tensor = geodec_mem_new(DIMS * DIMS * DIMS, sizeof(double));
    for (int i = 0; i < DIMS; i++)
        for (int j = 0; j < DIMS; j++)
            for (int k = 0; k < DIMS; k++) r->tensor[(i * DIMS + j) * DIMS + k] = (double)any(8, (i + j) * DIMS + k);
    for (int i = 0; i < DIMS * DIMS * DIMS; i++) norm += r->tensor[i] * r->tensor[i];
    for (int i = 0; i < DIMS * DIMS * DIMS; i++) r->tensor[i] /= sqrt(norm);
    for (int c = 0; c < GEODEC_ROLLOUT_CONNECTIONS; c++)
        for (int t = 0; t < GEODEC_ROLLOUT_DEPTHS; t++) r->trust[c].beta[t] = r->trust[c].shrink[t] = 1;
}

/* Straight is the regression; the fitted one is the geodesic of its metric in the leading coordinates and straight in
 * the others; the random one neither. */
Test(rollout, follows_its_velocity)
{
    geodec_err err = {0};
    geodec_rollout r;
    make(&r, TOY_STATE, TOY_VOCAB);
    double apart = 0;
    for (int32_t token = 6; token < TOY_VOCAB; token++) {
        const float z[K] = {any(9, token), any(10, token), any(11, token)}, before[K] = {0.1F, 0.2F, -0.1F};
        float straight[K], bent[K], other[K], want[K];
        double x[DIMS], v[DIMS], end[DIMS], speed[DIMS];
        const double t[] = {1};
        int64_t reached;
        cr_assert(geodec_step_advance(&r.step, z, token, want));
        cr_assert_eq(geodec_rollout_next(&r, GEODEC_ROLLOUT_TOKEN, GEODEC_ROLLOUT_FLAT, NULL, z, token, straight), 1);
        cr_assert_eq(memcmp(want, straight, sizeof want), 0);
        cr_assert_eq(geodec_rollout_next(&r, GEODEC_ROLLOUT_TOKEN, GEODEC_ROLLOUT_FITTED, NULL, z, token, bent), 1);
        for (int i = 0; i < DIMS; i++) {
            x[i] = (double)z[i];
            v[i] = (double)straight[i] - (double)z[i];
        }
        test_ok(geodec_geodesic_at(geodec_rbf_space(r.field), 1e-9, x, v, 1, t, end, speed, &reached, &err), &err);
        cr_assert_eq(reached, 1);
        for (int i = 0; i < DIMS; i++) cr_assert_float_eq((double)bent[i], end[i], 2e-3);
        cr_assert_eq(bent[DIMS], straight[DIMS]);
        cr_assert_gt(geodec_rollout_next(&r, GEODEC_ROLLOUT_TOKEN, GEODEC_ROLLOUT_RANDOM, NULL, z, token, other), 0);
        for (int i = 0; i < DIMS; i++) apart += fabs((double)other[i] - (double)bent[i]);
        cr_assert_eq(geodec_rollout_next(&r, GEODEC_ROLLOUT_PREVIOUS, GEODEC_ROLLOUT_FLAT, before, z, token, straight),
                     1);
        for (int i = 0; i < K; i++) cr_assert_float_eq(straight[i], 2 * z[i] - before[i], 1e-6F);
        cr_assert_eq(geodec_rollout_next(&r, GEODEC_ROLLOUT_PREVIOUS, GEODEC_ROLLOUT_FLAT, NULL, z, token, straight),
                     0);
        /* Blind: all tokens give the same. */
        cr_assert_eq(geodec_rollout_next(&r, GEODEC_ROLLOUT_BLIND, GEODEC_ROLLOUT_FLAT, NULL, z, token, want), 1);
        cr_assert_eq(geodec_rollout_next(&r, GEODEC_ROLLOUT_BLIND, GEODEC_ROLLOUT_FLAT, NULL, z, 7, straight), 1);
        cr_assert_eq(memcmp(want, straight, sizeof want), 0);
        cr_assert_eq(geodec_rollout_next(&r, GEODEC_ROLLOUT_TOKEN, GEODEC_ROLLOUT_FLAT, NULL, z, 5, straight), 0);
    }
    cr_assert_gt(apart, 0.01);
    geodec_rollout_clear(&r);
}

Test(rollout, output_equals_plain)
{
    geodec_err err = {0};
    geodec_rollout r;
    make(&r, TOY_STATE, TOY_VOCAB);
    for (int kind = 0; kind < 9; kind++) {
        geodec_drafter *d;
        int64_t proposed = 0, steps, broken;
        test_ok(geodec_rollout_drafter_create(&r, "rollout", (geodec_rollout_velocity)(kind / 3),
                                              (geodec_rollout_connection)(kind % 3), &r.trust[kind % 3], &d, &err),
                &err);
        for (int mode = 0; mode < 12; mode++) {
            static int32_t plain[4096];
            toy t;
            geodec_end end;
            geodec_decoded got;
            int32_t prompt[6], stop[] = {0};
            geodec_decode_options o = geodec_decode_options_default();
            const int64_t n = 1 + mode % 6;
            for (int i = 0; i < 6; i++)
                prompt[i] = (int32_t)(geodec_rng_at(8, (uint64_t)mode, (uint64_t)i) % TOY_VOCAB);
            o.gamma = 1 + mode;
            o.budget = mode % 3 ? 10 * (mode % 3) : 0;
            o.max_tokens = 60;
            o.stop = stop;
            o.n_stop = mode % 2;
            o.min_tokens = mode % 6 == 5 ? 40 : 0;
            o.sampling.temperature = mode % 5 == 4 ? 0.8 : 0;
            o.sampling.seed = (uint64_t)mode;
            const geodec_target target = toy_target(&t, mode % 2 ? TOY_HISTORY : TOY_MARKOV, (uint64_t)mode, 1000);
            const int64_t want = toy_plain(&t, prompt, n, &o, plain, &end);
            test_ok(geodec_decode(&target, prompt, n, d, &o, &got, &err), &err);
            cr_assert_eq(got.n, want);
            cr_assert_eq(got.end, end);
            cr_assert_eq(memcmp(got.token, plain, (size_t)want * sizeof *plain), 0, "kind %d mode %d", kind, mode);
            proposed += got.counters.total.proposed;
            geodec_decode_free(&got);
        }
        cr_assert_gt(proposed, 200);
        geodec_rollout_drafter_steps(d, &steps, &broken);
        cr_assert_gt(steps, 100);
        geodec_drafter_destroy(d);
    }
    geodec_rollout_clear(&r);
}

/* The whole state in the chart: the readout is the model's head, so logits differ only by rounding. */
Test(rollout, readout_equals_the_head)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    test_ok(geodec_model_open(tiny_model("rollout-head.gguf", 4), &m, &err), &err);
    const geodec_model_config *c = geodec_model_configuration(m);
    const geodec_session_options so = {0};
    test_ok(geodec_session_create(m, &so, &s, &err), &err);
    const int32_t token[] = {1, 7, 9, 30}, layer = c->n_layer;
    const geodec_batch b = {.n = 4, .token = token};
    float *logit = geodec_mem_new(4 * c->n_vocab, sizeof *logit),
          *state = geodec_mem_new(4 * c->d_model, sizeof *state),
          *w = geodec_mem_new((int64_t)c->n_vocab * c->d_model, sizeof *w);
    const geodec_capture capture = {.n_layers = 1, .layer = &layer, .state = state};
    test_ok(geodec_forward(s, &b, logit, &capture, &err), &err);
    test_ok(geodec_model_readout(m, 0, c->n_vocab, w, &err), &err);
    for (int i = 0; i < 4; i++) {
        double square = 0;
        for (int k = 0; k < c->d_model; k++) square += pow((double)state[i * c->d_model + k], 2);
        const double rms = sqrt(square / c->d_model + (double)c->rms_eps);
        for (int v = 0; v < c->n_vocab; v++) {
            double sum = 0;
            for (int k = 0; k < c->d_model; k++)
                sum += (double)w[v * c->d_model + k] * (double)state[i * c->d_model + k] / rms;
            cr_assert_float_eq(sum, (double)logit[i * c->n_vocab + v], 1e-3 * (1 + fabs(sum)));
        }
    }
    cr_assert_eq(geodec_model_readout(m, c->n_vocab, 1, w, &err), GEODEC_RANGE);
    test_ok(geodec_model_embeddings(m, 3, 1, w, &err), &err);
    geodec_mem_free(logit);
    geodec_mem_free(state);
    geodec_mem_free(w);
    geodec_session_destroy(s);
    geodec_model_close(m);
}

/* Leak test: two texts part after token 20. The whole texts go through the model; what is drafted at 20, from the
 * states before it, is the same to the bit, for every velocity and connection, and differs once the texts do. */
Test(rollout, later_tokens_change_nothing)
{
    enum { N = 40, AT = 20 };
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_rollout r;
    int32_t text[2][N];
    float *state[2];
    test_ok(geodec_model_open(tiny_model("rollout-leak.gguf", 5), &m, &err), &err);
    const geodec_model_config *c = geodec_model_configuration(m);
    make(&r, c->d_model, c->n_vocab);
    for (int i = 0; i < N; i++) {
        text[0][i] = 6 + (int32_t)(geodec_rng_at(1, 2, (uint64_t)i) % (TINY_VOCAB - 6));
        text[1][i] = i <= AT ? text[0][i] : 6 + (text[0][i] + 3) % (TINY_VOCAB - 6);
    }
    for (int t = 0; t < 2; t++) {
        geodec_session *s = NULL;
        const geodec_session_options so = {.max_batch = N};
        const int32_t layer = c->n_layer;
        test_ok(geodec_session_create(m, &so, &s, &err), &err);
        state[t] = geodec_mem_new((int64_t)N * c->d_model, sizeof(float));
        const geodec_batch b = {.n = N, .token = text[t]};
        const geodec_capture capture = {.n_layers = 1, .layer = &layer, .state = state[t]};
        test_ok(geodec_forward(s, &b, NULL, &capture, &err), &err);
        geodec_session_destroy(s);
    }
    for (int kind = 0; kind < 9; kind++) {
        geodec_drafter *d;
        geodec_draft out[2][8], later[2][8];
        int32_t n[2], k[2];
        test_ok(geodec_rollout_drafter_create(&r, "rollout", (geodec_rollout_velocity)(kind / 3),
                                              (geodec_rollout_connection)(kind % 3), &r.trust[0], &d, &err),
                &err);
        for (int t = 0; t < 2; t++) {
            test_ok(geodec_drafter_begin(d, &err), &err);
            geodec_draft_rows rows = {.n = AT, .token = text[t], .state = state[t]};
            geodec_draft_request q = {.context = text[t], .n_context = AT + 1, .gamma = 4, .budget = 8};
            memset(out[t], 0, sizeof out[t]);
            memset(later[t], 0, sizeof later[t]);
            test_ok(geodec_drafter_observe(d, &rows, &err), &err);
            test_ok(geodec_drafter_propose(d, &q, out[t], &n[t], &err), &err);
            rows = (geodec_draft_rows){.n = 4, .token = text[t] + AT, .state = state[t] + (int64_t)AT * c->d_model};
            q.n_context = AT + 5;
            test_ok(geodec_drafter_observe(d, &rows, &err), &err);
            test_ok(geodec_drafter_propose(d, &q, later[t], &k[t], &err), &err);
        }
        cr_assert_eq(n[0], 8);
        cr_assert_eq(n[0], n[1]);
        for (int i = 0; i < 8; i++) {
            cr_assert_eq(out[0][i].token, out[1][i].token);
            cr_assert_eq(out[0][i].confidence, out[1][i].confidence);
        }
        bool differ = false;
        for (int i = 0; i < 8; i++) differ |= later[0][i].confidence != later[1][i].confidence;
        cr_assert(differ, "the texts differ, the drafts do not");
        geodec_drafter_destroy(d);
    }
    geodec_mem_free(state[0]);
    geodec_mem_free(state[1]);
    geodec_rollout_clear(&r);
    geodec_model_close(m);
}

static geodec_status write_to(const char *path, const geodec_rollout *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    const geodec_provenance p = {
        .tool = "t", .command_line = "t", .model_fingerprint = "aa", .tokenizer_fingerprint = "bb"};
    const geodec_ablation_variant variant[] = {{"one", NULL, -1}, {"two", NULL, 0}};
    const geodec_ablation_figures f[2] = {{.places = 7}, {.places = 7}};
    const double broken[2] = {0, 0.5};
    geodec_io_init();
    GEODEC_TRY(geodec_artifact_create(&geodec_rollout_kind, path, &p, &a, err));
    GEODEC_TRY(geodec_rollout_ablation_write(r, variant, f, broken, 2, a, err));
    st = geodec_artifact_commit(a, err);
    a = NULL;
done:
    geodec_artifact_close(a);
    return st;
}

static geodec_status read_from(const char *path, geodec_rollout *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    GEODEC_TRY(geodec_artifact_open(&geodec_rollout_kind, path, &a, err));
    GEODEC_TRY(geodec_rollout_read(a, r, err));
done:
    geodec_artifact_close(a);
    return st;
}

/* What is read drafts like what was written; words that are no tokens or come twice, and betas out of range, are
 * refused. */
Test(rollout, file_round_trip_and_refusals)
{
    geodec_err err = {0};
    geodec_rollout r, back;
    const char *path = test_tmp("rollout.h5");
    make(&r, TOY_STATE, TOY_VOCAB);
    test_ok(write_to(path, &r, &err), &err);
    test_ok(read_from(path, &back, &err), &err);
    for (int32_t token = 6; token < TOY_VOCAB; token++) {
        const float z[K] = {any(9, token), any(10, token), any(11, token)};
        float a[K], b[K], la[TOY_VOCAB], lb[TOY_VOCAB];
        cr_assert_eq(geodec_rollout_next(&r, GEODEC_ROLLOUT_TOKEN, GEODEC_ROLLOUT_FITTED, NULL, z, token, a), 1);
        cr_assert_eq(geodec_rollout_next(&back, GEODEC_ROLLOUT_TOKEN, GEODEC_ROLLOUT_FITTED, NULL, z, token, b), 1);
        cr_assert_eq(memcmp(a, b, sizeof a), 0);
        geodec_rollout_logits(&r, a, la);
        geodec_rollout_logits(&back, b, lb);
        cr_assert_eq(memcmp(la, lb, sizeof la), 0);
    }
    geodec_drafter *d;
    cr_assert_eq(geodec_rollout_drafter_create(&back, "blind", GEODEC_ROLLOUT_BLIND, GEODEC_ROLLOUT_FLAT,
                                               &back.trust[0], &d, &err),
                 GEODEC_INVAL);
    geodec_rollout_clear(&back);
    const int32_t kept = r.word[3];
    r.word[3] = r.word[4];
    test_ok(write_to(path, &r, &err), &err);
    cr_assert_eq(read_from(path, &back, &err), GEODEC_FORMAT);
    r.word[3] = TOY_VOCAB;
    test_ok(write_to(path, &r, &err), &err);
    cr_assert_eq(read_from(path, &back, &err), GEODEC_FORMAT);
    r.word[3] = kept;
    r.trust[1].beta[2] = 0;
    test_ok(write_to(path, &r, &err), &err);
    cr_assert_eq(read_from(path, &back, &err), GEODEC_FORMAT);
    r.trust[1].beta[2] = 1;
    r.trust[1].shrink[2] = 1.5F;
    test_ok(write_to(path, &r, &err), &err);
    cr_assert_eq(read_from(path, &back, &err), GEODEC_FORMAT);
    geodec_rollout_clear(&r);
}
