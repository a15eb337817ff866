#include "flowmap/flow_world.h"

#include "base/mem.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Token of an angle: its sector. */
static int32_t token_of(double angle)
{
    double turns = angle / (2 * pi);
    turns -= floor(turns);
    const int32_t s = (int32_t)(turns * WORLD_SECTORS);
    return 3 + (s < WORLD_SECTORS ? s : 0);
}

world_text world_write(uint64_t seed, uint64_t i, int32_t n, double leaps)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("world", i));
    world_text t = {.n = n};
    t.token = geodec_mem_new(n, sizeof *t.token);
    t.argmax = geodec_mem_new(n, sizeof *t.argmax);
    t.state = geodec_mem_new((int64_t)n * WORLD_D, sizeof *t.state);
    cr_assert(t.token && t.argmax && t.state);
    const int kind = (int)geodec_rng_below(&r, WORLD_KINDS);
    const double turn = 0.9 + 0.35 * kind;
    double angle = 2 * pi * geodec_rng_uniform(&r);
    for (int32_t p = 0; p < n; p++) {
        t.token[p] = p == 0 ? 1 : token_of(angle);
        t.argmax[p] = token_of(angle + turn);
        float *h = t.state + (int64_t)p * WORLD_D;
        for (int c = 0; c < WORLD_D; c++) { /* correlated columns, a common scale without meaning */
            double v = 0.6 * cos(angle - 0.7 * c) + 0.4 * sin(2 * angle + c) + 0.8 * cos(1.3 * (kind + 1) * (c + 1));
            v += 0.01 * geodec_rng_normal(&r);
            h[c] = (float)(v * (2 + sin((double)p)));
        }
        angle += geodec_rng_uniform(&r) < leaps ? 2 * pi * geodec_rng_uniform(&r) : turn;
    }
    return t;
}

void world_free(world_text *t)
{
    geodec_mem_free(t->token);
    geodec_mem_free(t->argmax);
    geodec_mem_free(t->state);
    memset(t, 0, sizeof *t);
}

float world_logit(int32_t k) { return 5 - 0.5f * (float)k; }

const char *world_file(const char *name, uint64_t seed, int64_t texts, int32_t n)
{
    const char *path = test_tmp(name);
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = {
        .tool = "test", .command_line = "test", .model_fingerprint = "aa", .tokenizer_fingerprint = "bb"};
    const int32_t layers[2] = {1, 3};
    test_ok(geodec_artifact_create(&geodec_activations_kind, path, &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "L", 2, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "d", WORLD_D, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "M", WORLD_TOP, &err), &err);
    test_ok(geodec_artifact_write(a, "/layer", layers, &err), &err);
    float *state = geodec_mem_new((int64_t)n * 2 * WORLD_D, sizeof *state);
    int32_t *position = geodec_mem_new(n, sizeof *position), *sequence = geodec_mem_new(n, sizeof *sequence);
    int32_t *top = geodec_mem_new((int64_t)n * WORLD_TOP, sizeof *top);
    float *logit = geodec_mem_new((int64_t)n * WORLD_TOP, sizeof *logit);
    cr_assert(state && position && sequence && top && logit);
    for (int64_t i = 0; i < texts; i++) {
        world_text t = world_write(seed, (uint64_t)i, n, 0.2);
        for (int32_t q = 0; q < n; q++) {
            for (int32_t k = 0; k < WORLD_TOP; k++) {
                top[q * WORLD_TOP + k] = (t.argmax[q] + k) % WORLD_VOCAB;
                logit[q * WORLD_TOP + k] = world_logit(k);
            }
            position[q] = q;
            sequence[q] = (int32_t)i;
            memcpy(state + (2 * q + 1) * WORLD_D, t.state + q * WORLD_D, WORLD_D * sizeof *state);
        }
        test_ok(geodec_artifact_append(a, "/state", n, state, &err), &err);
        test_ok(geodec_artifact_append(a, "/token", n, t.token, &err), &err);
        test_ok(geodec_artifact_append(a, "/position", n, position, &err), &err);
        test_ok(geodec_artifact_append(a, "/sequence", n, sequence, &err), &err);
        test_ok(geodec_artifact_append(a, "/next_token", n, t.token, &err), &err);
        test_ok(geodec_artifact_append(a, "/argmax", n, t.argmax, &err), &err);
        test_ok(geodec_artifact_append(a, "/top_index", n, top, &err), &err);
        test_ok(geodec_artifact_append(a, "/top_logit", n, logit, &err), &err);
        world_free(&t);
    }
    test_ok(geodec_artifact_put_i64(a, "n_layer", 3, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "d_model", WORLD_D, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_vocab", WORLD_VOCAB, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_ctx", n, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    geodec_mem_free(state);
    geodec_mem_free(position);
    geodec_mem_free(sequence);
    geodec_mem_free(top);
    geodec_mem_free(logit);
    return path;
}

int32_t world_propose(geodec_flowmap_track *t, int32_t newest, int32_t n, int32_t skip, bool sampled,
                      bool (*forbid)(void *ctx, int32_t i, int32_t token), void *ctx, geodec_flow_draft *out)
{
    int32_t done = 0;
    if (n < 1 || !geodec_flowmap_track_root(t, newest, skip, sampled)) return 0;
    for (; done < n; done++) {
        if (geodec_flowmap_track_children(t, done, 1, forbid, ctx, &out[done]) == 0) break;
        if (done + 1 < n) geodec_flowmap_track_adopt(t, done, out[done].token);
    }
    return done;
}
