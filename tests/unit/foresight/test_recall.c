/* Predictors and recall against direct counts; mixtures; the artifact. */
#include "base/mem.h"
#include "flowmap/route.h"
#include "foresight/recall.h"
#include "foresight/world.h"
#include "io/file.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { LAYERS = 4, EXPERTS = 12, USED = 3, CELLS = LAYERS * EXPERTS, MANY = 128 };

static geodec_routes_recorder *recorder(const geodec_model *m, geodec_export_source *source, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_routes_recorder *r = NULL;
    test_ok(geodec_routes_open(m, source, WORLD_WINDOW, GEODEC_EXACT, GEODEC_KV_F32, pool, &r, &err), &err);
    return r;
}

static geodec_history *history_of(const geodec_model *m, const char *texts)
{
    geodec_err err = {0};
    geodec_export_source source = world_source(m, texts);
    geodec_routes_recorder *r = recorder(m, &source, NULL);
    const geodec_history_options o = {.maps = 64, .every = 3, .ridge = 1};
    geodec_history *h = NULL;
    test_ok(geodec_history_read(r, geodec_model_configuration(m), &o, NULL, &h, &err), &err);
    geodec_routes_close(r);
    geodec_export_source_close(&source);
    return h;
}

Test(recall, tables_are_counts)
{
    geodec_err err = {0};
    geodec_model *m = world_model(LAYERS, EXPERTS, USED);
    const char *texts = world_texts(1, 20, 30, 10);
    geodec_history *h = history_of(m, texts);
    geodec_export_source source = world_source(m, texts);
    geodec_routes_recorder *r = recorder(m, &source, NULL);
    const geodec_routes *w;
    double popular[CELLS] = {0}, token[CELLS] = {0}, pair[CELLS] = {0}, n = 0, of_token = 0, of_pair = 0;
    const int32_t x = 23, before = 27;
    float score[CELLS], of[CELLS];
    for (;;) {
        test_ok(geodec_routes_next(r, &w, &err), &err);
        if (!w) break;
        for (int32_t i = 1; i < w->n; i++) {
            n++;
            of_token += w->token[i] == x;
            of_pair += w->token[i] == x && w->token[i - 1] == before;
            for (int32_t k = 0; k < LAYERS * USED; k++) {
                const int32_t cell = k / USED * EXPERTS + w->expert[i * LAYERS * USED + k];
                popular[cell]++;
                token[cell] += w->token[i] == x;
                pair[cell] += w->token[i] == x && w->token[i - 1] == before;
            }
        }
    }
    cr_assert_eq(geodec_history_positions(h), (int64_t)n);
    cr_assert(of_token > 5 && of_pair > 1 && of_pair < of_token);
    geodec_history_popular(h, score);
    for (int i = 0; i < CELLS; i++) cr_assert_float_eq(score[i], popular[i] / (USED * n), 1e-6);
    geodec_history_token(h, x, of);
    for (int i = 0; i < CELLS; i++)
        cr_assert_float_eq(of[i], (token[i] + 2 * popular[i] / (USED * n)) / (USED * of_token + 2), 1e-6);
    geodec_history_pair(h, before, x, score);
    for (int i = 0; i < CELLS; i++) cr_assert_float_eq(score[i], pair[i] + 2 * (double)of[i], 1e-5);
    geodec_routes_close(r);
    geodec_export_source_close(&source);
    geodec_history_free(h);
    geodec_model_close(m);
}

/* A map that is asked about its own row finds the row after it first. */
Test(recall, linear_map_and_stored_maps_know_their_own_rows)
{
    geodec_err err = {0};
    geodec_model *m = world_model(LAYERS, EXPERTS, USED);
    const char *texts = world_texts(2, 8, 24, 60);
    geodec_history *h = history_of(m, texts);
    geodec_export_source source = world_source(m, texts);
    geodec_routes_recorder *r = recorder(m, &source, NULL);
    const geodec_routes *w;
    double error = 0, spread = 0;
    float score[CELLS], gate[CELLS];
    int64_t position = 0, found = 0, asked = 0;
    for (;;) {
        test_ok(geodec_routes_next(r, &w, &err), &err);
        if (!w) break;
        for (int32_t i = 1; i < w->n; i++, position++) {
            geodec_history_linear(h, w->state + (i - 1) * 32, w->embedding + i * 32, score);
            for (int c = 0; c < CELLS; c++) {
                const double y = (double)w->logit[GEODEC_ROUTES_NOW][i * CELLS + c];
                error += pow((double)score[c] - y, 2);
                spread += y * y;
            }
            if (position % 3 != 0 || asked == 60) continue;
            for (int l = 0; l < LAYERS; l++) { /* softmax */
                float sum = 0;
                for (int e = 0; e < EXPERTS; e++)
                    sum += gate[l * EXPERTS + e] = expf(w->logit[GEODEC_ROUTES_NOW][(i - 1) * CELLS + l * EXPERTS + e]);
                for (int e = 0; e < EXPERTS; e++) gate[l * EXPERTS + e] /= sum;
            }
            geodec_history_maps(h, gate, score);
            asked++;
            for (int k = 0; k < USED; k++) found += score[w->expert[i * LAYERS * USED + k]] > 0.9F;
        }
    }
    cr_assert_lt(error, 0.5 * spread, "the map explains %.2f", 1 - error / spread);
    cr_assert_eq(asked, 60);
    cr_assert_eq(found, asked * USED);
    geodec_routes_close(r);
    geodec_export_source_close(&source);
    geodec_history_free(h);
    geodec_model_close(m);
}

Test(recall, shares_of_a_mixture_sum_to_the_experts_used)
{
    float early[EXPERTS], logit[EXPERTS], share[EXPERTS];
    for (int round = 0; round < 50; round++) {
        const float weight = round % 2 ? 0.5F : 6;
        double sum = 0;
        for (int e = 0; e < EXPERTS; e++) {
            early[e] = 0.5F + 0.5F * sinf((float)(round * 31 + e * 7));
            logit[e] = 5 * cosf((float)(round * 17 + e * 3)) * (float)(round % 7 == 0 ? 100 : 1);
        }
        geodec_mixture_shares(EXPERTS, USED, weight, early, logit, share);
        for (int e = 0; e < EXPERTS; e++) {
            cr_assert(share[e] >= 0 && share[e] <= 1);
            sum += (double)share[e];
            for (int o = 0; o < EXPERTS; o++)
                if (logit[o] >= logit[e] && early[o] >= early[e]) cr_assert_geq(share[o], share[e]);
        }
        cr_assert_float_eq(sum, USED, 0.02);
    }
    geodec_mixture_shares(EXPERTS, EXPERTS, 1, early, logit, early); /* in place */
    for (int e = 0; e < EXPERTS; e++) cr_assert_eq(early[e], 1);
}

/* The shares by bisection in double. */
static void shares_by_definition(int n, int used, double weight, const float *early, const float *logit, double *share)
{
    double most = -INFINITY, low = -200, high = 200, x[MANY];
    for (int e = 0; e < n; e++) most = fmax(most, (double)logit[e]);
    for (int e = 0; e < n; e++) {
        const double p = fmin(fmax((double)early[e], 0), 1);
        x[e] = exp(fmax(weight * ((double)logit[e] - most), -60)) * (p + 0.01) / (1.01 - p);
    }
    for (int step = 0; step < 200; step++) {
        const double middle = (low + high) / 2;
        double sum = 0;
        for (int e = 0; e < n; e++) sum += x[e] / (x[e] + exp(middle));
        *(sum > used ? &low : &high) = middle;
    }
    for (int e = 0; e < n; e++) share[e] = x[e] / (x[e] + exp(low));
}

Test(recall, shares_of_a_mixture_are_those_of_the_definition)
{
    static const int sizes[] = {2, 3, 4, 5, 8, 31, 32, 33, 60, MANY};
    float early[MANY], logit[MANY], share[MANY];
    double wanted[MANY];
    for (int round = 0; round < 2000; round++) {
        const int n = sizes[round % 10], used = 1 + round / 10 % (n < 9 ? n - 1 : 8);
        const float weight = (float)(1 + round % 12) / 2, spread = powf(10, (float)(round % 7) - 2);
        for (int e = 0; e < n; e++) {
            early[e] = fabsf(sinf((float)(round * 31 + e * 7)));
            logit[e] = spread * cosf((float)(round * 17 + e * 3));
        }
        if (round % 11 == 0) /* all alike, a gap, all but one beyond the smallest */
            for (int e = 0; e < n; e++) early[e] = 0.5F, logit[e] = round % 2 ? 1 : e < used ? 50 : 0;
        if (round % 13 == 0)
            for (int e = 1; e < n; e++) logit[e] = -1000;
        shares_by_definition(n, used, (double)weight, early, logit, wanted);
        geodec_mixture_shares(n, used, weight, early, logit, share);
        for (int e = 0; e < n; e++)
            cr_assert_float_eq((double)share[e], wanted[e], 2e-5, "round %d expert %d: %g, not %g", round, e,
                               (double)share[e], wanted[e]);
        geodec_mixture_shares(n, used, weight, early, logit, early); /* in place */
        cr_assert_eq(memcmp(early, share, (size_t)n * sizeof *share), 0);
    }
    /* what is not a number ends */
    for (int e = 0; e < 8; e++) logit[e] = early[e] = NAN;
    geodec_mixture_shares(8, 2, 1, early, logit, share);
    for (int e = 0; e < 8; e++) logit[e] = INFINITY;
    geodec_mixture_shares(8, 2, 1, early, logit, share);
}

typedef struct world {
    geodec_model *m;
    geodec_flowmap map;
    geodec_history *history;
    geodec_mixture mixture;
} world;

static world open_world(void)
{
    geodec_err err = {0};
    world w = {.m = world_model(LAYERS, EXPERTS, USED)};
    const char *texts = world_texts(1, 120, 40, 30);
    world_read(world_map(world_activations(w.m, texts, "recall.h5"), "recall-map.h5", 1), &w.map);
    w.history = history_of(w.m, texts);
    geodec_export_source source = world_source(w.m, world_texts(8, 40, 40, 30));
    geodec_routes_recorder *r = recorder(w.m, &source, NULL);
    test_ok(geodec_mixture_fit(r, geodec_model_configuration(w.m), &w.map, NULL, &w.mixture, &err), &err);
    geodec_routes_close(r);
    geodec_export_source_close(&source);
    return w;
}

static void close_world(world *w)
{
    geodec_mixture_clear(&w->mixture);
    geodec_history_free(w->history);
    geodec_flowmap_clear(&w->map);
    geodec_model_close(w->m);
}

static const char *measure(const world *w, const char *name, int threads, geodec_recall *out)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_export_source source = world_source(w->m, world_texts(9, 12, 40, 30));
    geodec_recall_options o = geodec_recall_defaults();
    geodec_artifact *a = NULL;
    const geodec_provenance p = {.tool = "test", .command_line = "test"};
    const char *path = test_tmp(name);
    o.replicates = 50;
    o.seed = 1;
    test_ok(geodec_pool_create(threads, &pool, &err), &err);
    geodec_routes_recorder *r = recorder(w->m, &source, pool);
    test_ok(geodec_recall_measure(r, geodec_model_configuration(w->m), w->history, &w->map, &w->mixture, &o, NULL, out,
                                  &err),
            &err);
    test_ok(geodec_artifact_create(&geodec_foresight_kind, path, &p, &a, &err), &err);
    test_ok(geodec_recall_write(out, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    geodec_routes_close(r);
    geodec_export_source_close(&source);
    geodec_pool_destroy(pool);
    return path;
}

static int64_t number_of(const char *name)
{
    int i = 0;
    while (i < geodec_predictors_count && strcmp(geodec_predictors[i].name, name) != 0) i++;
    cr_assert_lt(i, geodec_predictors_count, "%s", name);
    return i;
}

Test(recall, figures_are_those_of_a_direct_count)
{
    geodec_err err = {0};
    world w = open_world();
    geodec_recall r = {0};
    (void)measure(&w, "figures.h5", 1, &r);
    geodec_export_source source = world_source(w.m, world_texts(9, 12, 40, 30));
    geodec_routes_recorder *rec = recorder(w.m, &source, NULL);
    const geodec_routes *rows;
    double hits = 0, all = 0, now = 0;
    for (;;) { /* last: the experts of the token before, which are its first three */
        test_ok(geodec_routes_next(rec, &rows, &err), &err);
        if (!rows) break;
        for (int32_t i = 1; i < rows->n; i++)
            for (int32_t k = 0; k < LAYERS * USED; k++, all++)
                for (int32_t j = 0; j < USED; j++)
                    hits += rows->expert[i * LAYERS * USED + k] ==
                            rows->expert[(i - 1) * LAYERS * USED + k / USED * USED + j];
        now += rows->n - 1;
    }
    cr_assert_eq(r.positions, (int64_t)now);
    cr_assert_eq(r.documents, 12);
    cr_assert_eq(r.predictors, geodec_predictors_count);
    cr_assert_float_eq(r.mean[number_of("last") * 3], hits / all, 1e-12);
    /* all 12 experts: everything is found; 4 x 3 = 12 */
    cr_assert_eq(r.budget[2], EXPERTS);
    cr_assert_float_eq(r.mean[number_of("popular") * 3 + 2], 1, 1e-12);
    cr_assert_eq(r.mean[number_of("none") * 3 + 2], 0);
    for (int64_t p = 0; p < r.predictors; p++)
        for (int64_t l = 0; l < LAYERS; l++)
            for (int b = 0; b < 3; b++) {
                const int64_t at = (p * LAYERS + l) * 3 + b;
                cr_assert_eq(isnan(r.value[at]), l < geodec_predictors[p].first_layer);
                if (isnan(r.value[at])) continue;
                cr_assert(r.low[at] <= r.value[at] + 1e-12 && r.value[at] <= r.high[at] + 1e-12);
                cr_assert(b == 0 || r.value[at] >= r.value[at - 1]);
            }
    /* in the first layer the experts depend on attention to little else than the token */
    cr_assert_gt(r.value[number_of("token") * LAYERS * 3], r.value[number_of("popular") * LAYERS * 3] + 0.1);
    cr_assert_gt(r.value[number_of("flowmap") * LAYERS * 3], r.value[number_of("popular") * LAYERS * 3] + 0.1);
    cr_assert_gt(r.mean[number_of("mix1") * 3], r.mean[number_of("flowmap") * 3]);
    for (int i = 0; i < GEODEC_RECALL_RUNS; i++)
        cr_assert(r.distinct[i] >= USED && r.distinct[i] <= EXPERTS && r.distinct_random[i] >= r.distinct[i] - 0.5);
    for (int s = 0; s < GEODEC_RECALL_SCALES; s++) cr_assert_lt(r.scale_error[s], 0.05);
    geodec_routes_close(rec);
    geodec_export_source_close(&source);
    geodec_recall_clear(&r);
    close_world(&w);
}

Test(recall, artifact_has_the_same_bytes_with_any_threads_and_gives_the_mixture)
{
    geodec_err err = {0};
    world w = open_world();
    geodec_recall a = {0}, b = {0};
    char hex[2][GEODEC_SHA256_HEX];
    const char *one = measure(&w, "one.h5", 1, &a), *three = measure(&w, "three.h5", 3, &b);
    test_ok(geodec_file_sha256(one, hex[0], &err), &err);
    test_ok(geodec_file_sha256(three, hex[1], &err), &err);
    cr_assert_str_eq(hex[0], hex[1]);
    geodec_artifact *file = NULL;
    geodec_mixture read = {0};
    test_ok(geodec_artifact_open(&geodec_foresight_kind, one, &file, &err), &err);
    cr_assert_eq(geodec_recall_read_mixture(file, LAYERS + 1, &read, &err), GEODEC_INVAL);
    test_ok(geodec_recall_read_mixture(file, LAYERS, &read, &err), &err);
    cr_assert_eq(memcmp(read.weight, w.mixture.weight, sizeof(float) * 3 * LAYERS), 0);
    cr_assert_eq(memcmp(read.reliability, w.mixture.reliability, sizeof(float) * 3 * LAYERS * GEODEC_ROUTE_BINS), 0);
    geodec_artifact_close(file);
    geodec_mixture_clear(&read);
    geodec_recall_clear(&a);
    geodec_recall_clear(&b);
    close_world(&w);
}

Test(recall, asking_changes_nothing_and_states_help)
{
    geodec_err err = {0};
    world w = open_world();
    geodec_foresight *f = NULL;
    float a[CELLS], b[CELLS], table[CELLS];
    geodec_export_source source = world_source(w.m, world_texts(9, 12, 40, 30));
    geodec_routes_recorder *r = recorder(w.m, &source, NULL);
    const geodec_routes *rows;
    test_ok(geodec_foresight_create(&w.map, &w.mixture, &f, &err), &err);
    test_ok(geodec_routes_next(r, &rows, &err), &err);
    geodec_foresight_begin(f);
    geodec_foresight_ask(f, rows->token[1], true, a); /* no state yet: the table */
    geodec_foresight_ask(f, rows->token[1], false, table);
    cr_assert_eq(memcmp(a, table, sizeof a), 0);
    for (int i = 0; i < 8; i++) geodec_foresight_observe(f, rows->token[i], rows->state + i * 32);
    geodec_foresight_ask(f, rows->token[8], true, a);
    geodec_foresight_ask(f, 25, true, b);
    geodec_foresight_further(f, rows->token[8], b);
    geodec_foresight_ask(f, -1, true, b);
    geodec_foresight_ask(f, rows->token[8], true, b);
    cr_assert_eq(memcmp(a, b, sizeof a), 0);
    geodec_foresight_ask(f, rows->token[8], false, table);
    cr_assert_neq(memcmp(a, table, sizeof a), 0);
    for (int i = 0; i < CELLS; i++) cr_assert(a[i] >= 0 && a[i] <= 1);
    geodec_foresight_mix(f, GEODEC_ROUTES_BLOCK, 1, a + EXPERTS, rows->logit[GEODEC_ROUTES_BLOCK] + 8 * CELLS + EXPERTS,
                         b);
    for (int e = 0; e < EXPERTS; e++) cr_assert(b[e] >= 0 && b[e] <= 1);
    geodec_foresight_destroy(f);
    geodec_routes_close(r);
    geodec_export_source_close(&source);
    close_world(&w);
}
