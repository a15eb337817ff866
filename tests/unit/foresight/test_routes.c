/* Routers, recorded routes, and the routes of a flow map, against the experts that a pass used. */
#include "base/mem.h"
#include "chain/activations.h"
#include "flowmap/route.h"
#include "foresight/foresight.h"
#include "foresight/world.h"
#include "io/file.h"
#include "session/router.h"
#include "session/synthetic.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* The k largest of a row of logits, lowest id first on ties. */
static void best(const float *logit, int32_t n, int32_t k, int32_t *id)
{
    float value[64];
    (void)geodec_largest(logit, n, k, id, value);
}

Test(routes, router_at_the_stream_of_the_choice_gives_the_experts_used)
{
    geodec_err err = {0};
    geodec_model *m = world_model(4, 12, 3);
    geodec_export_source source = world_source(m, world_texts(1, 6, 50, 40));
    geodec_routes_recorder *r = NULL;
    const geodec_routes *w;
    int32_t id[8], rows = 0, differ = 0;
    test_ok(geodec_routes_open(m, &source, WORLD_WINDOW, GEODEC_EXACT, GEODEC_KV_F32, NULL, &r, &err), &err);
    for (;;) {
        test_ok(geodec_routes_next(r, &w, &err), &err);
        if (!w) break;
        cr_assert_eq(w->token[0], 1, "every window begins with BOS");
        cr_assert_leq(w->n, WORLD_WINDOW);
        rows += w->n;
        for (int32_t i = 0; i < w->n * 4; i++) {
            best(w->logit[GEODEC_ROUTES_NOW] + i * 12, 12, 3, id);
            cr_assert_eq(memcmp(id, w->expert + i * 3, sizeof *id * 3), 0, "row %d of layer %d", i / 4, i % 4);
            best(w->logit[GEODEC_ROUTES_EARLIER] + i * 12, 12, 3, id);
            differ += memcmp(id, w->expert + i * 3, sizeof *id * 3) != 0;
        }
        for (int32_t i = 0; i < w->n; i++) /* in the first layer all earlier streams are the embedding */
            cr_assert_eq(memcmp(w->logit[GEODEC_ROUTES_EXPERTS] + i * 48, w->logit[GEODEC_ROUTES_BLOCK] + i * 48,
                                12 * sizeof(float)),
                         0);
    }
    /* 49 tokens and a BOS: windows of 24, 24 and 4 rows */
    cr_assert_eq(rows, 6 * (24 + 24 + 4));
    cr_assert_eq(w, NULL);
    cr_assert_gt(differ, rows, "earlier streams know less");
    geodec_routes_close(r);
    geodec_export_source_close(&source);
    geodec_model_close(m);
}

/* Experts on a torus, chosen before the recurrence: the choice is that of the stream before the block. */
Test(routes, experts_chosen_before_the_recurrence)
{
    enum { LAYERS = 5, EXPERTS = 12, CELLS = LAYERS * EXPERTS };
    geodec_err err = {0};
    geodec_model *m = NULL;
    const synthetic s = {.arch = "perspective",
                         .n_layer = LAYERS,
                         .d_model = 32,
                         .n_head = 2,
                         .n_kv_head = 1,
                         .d_ff = 16,
                         .d_ff_dense = 20,
                         .n_vocab = 300,
                         .n_ctx = 64,
                         .n_expert = EXPERTS,
                         .n_expert_used = 1,
                         .recur_rank = 8,
                         .recur_period = 4,
                         .route = "mod",
                         .route_at = "pre",
                         .window = 11,
                         .tied = true,
                         .seed = 12};
    const char *path = test_tmp("routes-before.gguf");
    geodec_routes_recorder *r = NULL;
    const geodec_routes *w;
    int32_t id[1], earlier = 0, further = 0, asked = 0;
    test_ok(synthetic_write(path, &s, &err), &err);
    test_ok(geodec_model_open(path, &m, &err), &err);
    geodec_export_source source = world_source(m, world_texts(4, 4, 30, 40));
    test_ok(geodec_routes_open(m, &source, WORLD_WINDOW, GEODEC_EXACT, GEODEC_KV_F32, NULL, &r, &err), &err);
    cr_assert(geodec_routes_layer(r, 2) && !geodec_routes_layer(r, 3));
    for (;;) {
        test_ok(geodec_routes_next(r, &w, &err), &err);
        if (!w) break;
        for (int32_t i = 0; i < w->n * LAYERS; i++) {
            const int32_t l = i % LAYERS;
            if (!geodec_routes_layer(r, l)) continue;
            best(w->logit[GEODEC_ROUTES_NOW] + i * EXPERTS, EXPERTS, 1, id);
            cr_assert_eq(id[0], w->expert[i], "row %d of layer %d", i / LAYERS, l);
            cr_assert_eq(memcmp(w->logit[GEODEC_ROUTES_NOW] + i * EXPERTS, w->logit[GEODEC_ROUTES_BLOCK] + i * EXPERTS,
                                EXPERTS * sizeof(float)),
                         0);
            /* one block before the second layer is as far as two */
            const bool same = memcmp(w->logit[GEODEC_ROUTES_FURTHER] + i * EXPERTS,
                                     w->logit[GEODEC_ROUTES_EARLIER] + i * EXPERTS, EXPERTS * sizeof(float)) == 0;
            cr_assert_eq(same, l <= 1);
            if (l < 2) continue;
            asked++;
            best(w->logit[GEODEC_ROUTES_EARLIER] + i * EXPERTS, EXPERTS, 1, id);
            earlier += id[0] == w->expert[i];
            best(w->logit[GEODEC_ROUTES_FURTHER] + i * EXPERTS, EXPERTS, 1, id);
            further += id[0] == w->expert[i];
        }
    }
    cr_assert(earlier < asked && further < asked, "earlier streams know less");
    geodec_routes_close(r);
    geodec_export_source_close(&source);
    geodec_model_close(m);
}

Test(routes, router_rows_do_not_depend_on_the_batch)
{
    geodec_err err = {0};
    geodec_model *m = world_model(2, 12, 3);
    geodec_session *s = NULL;
    geodec_router *r = NULL;
    float stream[5][32], all[5 * 12], one[12];
    const float *row[5];
    test_ok(geodec_session_create(m, NULL, &s, &err), &err);
    test_ok(geodec_router_create(s, 5, &r, &err), &err);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 32; j++) stream[i][j] = sinf((float)(31 * i + 7 * j));
        row[i] = stream[i];
    }
    geodec_router_logits(r, 1, row, 5, all);
    for (int i = 0; i < 5; i++) {
        geodec_router_logits(r, 1, row + i, 1, one);
        cr_assert_eq(memcmp(one, all + 12 * i, sizeof one), 0);
    }
    geodec_router_destroy(r);
    geodec_session_destroy(s);
    geodec_model_close(m);
}

/* Every stored expert was used; those missing are the lost ones. */
static void compare(const geodec_model *m, const char *activations, const geodec_flowmap *map)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    int32_t *expert = NULL, *position = NULL, *token = NULL, mine[64];
    int64_t rows, lost = 0, node_row = 0, *total;
    const geodec_model_config *c = geodec_model_configuration(m);
    const int64_t k = c->n_expert_used, per_row = c->n_layer * k;
    test_ok(geodec_artifact_open(&geodec_activations_kind, activations, &a, &err), &err);
    test_ok(geodec_artifact_read(a, "/expert", &expert, &err), &err);
    test_ok(geodec_artifact_read(a, "/position", &position, &err), &err);
    test_ok(geodec_artifact_read(a, "/token", &token, &err), &err);
    test_ok(geodec_artifact_dim(a, "R", &rows, &err), &err);
    total = geodec_mem_new(c->n_layer * c->n_expert, sizeof *total);
    for (int64_t i = 0; i < rows; i++) {
        if (position[i] == 0) continue;
        const int64_t node = map->order[node_row++];
        cr_assert(node >= map->bucket[token[i]] && node < map->bucket[token[i] + 1]);
        for (int64_t l = 0; l < c->n_layer; l++) {
            const int32_t n = geodec_flowmap_route_of(map, node, l, mine);
            int32_t found = 0;
            for (int64_t j = 0; j < k; j++) {
                const int32_t e = expert[i * per_row + l * k + j];
                total[l * c->n_expert + e]++;
                for (int32_t x = 0; x < n; x++) found += mine[x] == e;
            }
            cr_assert_eq(found, n);
            lost += k - n;
        }
    }
    cr_assert_eq(node_row, map->nodes);
    cr_assert_eq(lost, map->routes.lost);
    cr_assert_eq(memcmp(total, map->routes.total, (size_t)(c->n_layer * c->n_expert) * sizeof *total), 0);
    GEODEC_FREE(expert, position, token, total);
    geodec_artifact_close(a);
}

Test(routes, flow_map_keeps_the_experts_of_its_nodes)
{
    geodec_model *m = world_model(4, 12, 3);
    geodec_flowmap map = {0};
    char hex[2][GEODEC_SHA256_HEX];
    geodec_err err = {0};
    const char *states = world_activations(m, world_texts(2, 60, 40, 40), "routes.h5");
    const char *one = world_map(states, "map1.h5", 1), *three = world_map(states, "map3.h5", 3);
    test_ok(geodec_file_sha256(one, hex[0], &err), &err);
    test_ok(geodec_file_sha256(three, hex[1], &err), &err);
    cr_assert_str_eq(hex[0], hex[1]);
    world_read(one, &map);
    cr_assert(geodec_flowmap_route_known(&map));
    cr_assert_eq(map.routes.width, 12);
    cr_assert_eq(map.routes.bytes, 6);
    cr_assert_eq(map.routes.lost, 0);
    compare(m, states, &map);
    geodec_flowmap_clear(&map);
    geodec_model_close(m);
}

Test(routes, wide_routes_lose_rare_experts_and_say_how_many)
{
    geodec_model *m = world_model(24, 64, 4); /* 24 x 64 bits do not fit 96 bytes: 32 bits a layer */
    geodec_flowmap map = {0};
    const char *states = world_activations(m, world_texts(3, 80, 40, 6), "wide.h5");
    world_read(world_map(states, "wide-map.h5", 2), &map);
    cr_assert_eq(map.routes.width, 32);
    cr_assert_eq(map.routes.bytes, GEODEC_ROUTE_BYTES);
    cr_assert_gt(map.routes.lost, 0, "six tokens use more than 32 experts");
    compare(m, states, &map);
    geodec_flowmap_clear(&map);
    geodec_model_close(m);
}

Test(routes, votes_are_shares_of_the_experts_used)
{
    geodec_model *m = world_model(4, 12, 3);
    geodec_flowmap map = {0};
    float share[48], popular[48];
    world_read(world_map(world_activations(m, world_texts(2, 60, 40, 40), "votes.h5"), "votes-map.h5", 1), &map);
    int32_t *scratch = geodec_mem_new(geodec_flowmap_room(&map), sizeof *scratch), token = 0, mine[3];
    while (map.bucket[token + 1] - map.bucket[token] < 20) token++;
    const int64_t node = map.bucket[token] + 3;
    geodec_flowmap_hit hit[GEODEC_ROUTE_NEIGHBOURS];
    const int32_t n =
        geodec_flowmap_nearest(&map, token, map.key + node * map.dims, GEODEC_ROUTE_NEIGHBOURS, -1, scratch, hit);
    cr_assert_gt(n, 16);
    geodec_flowmap_route_vote(&map, -1, token, hit, 1, -1, share);
    for (int l = 0; l < 4; l++) {
        float sum = 0;
        const int32_t stored = geodec_flowmap_route_of(&map, hit[0].node, l, mine);
        cr_assert_eq(stored, 3);
        for (int e = 0; e < 12; e++) sum += share[12 * l + e];
        cr_assert_float_eq(sum, 3, 1e-4);
        for (int e = 0; e < 12; e++) { /* one neighbour: its experts come first */
            const bool used = e == mine[0] || e == mine[1] || e == mine[2];
            for (int o = 0; o < 3 && !used; o++) cr_assert_lt(share[12 * l + e], share[12 * l + mine[o]]);
        }
    }
    geodec_flowmap_route_probabilities(&map, GEODEC_ROUTE_STATE, share);
    for (int i = 0; i < 48; i++) cr_assert(share[i] >= 0 && share[i] <= 1);
    geodec_flowmap_route_vote(&map, -1, -1, NULL, 0, -1, popular);
    geodec_flowmap_route_vote(&map, -1, 299, NULL, 0, -1, share); /* a token that no text has */
    cr_assert_eq(map.bucket[300] - map.bucket[299], 0);
    for (int i = 0; i < 48; i++) {
        cr_assert_float_eq(share[i], popular[i], 1e-5);
        cr_assert_float_eq(popular[i], 3 * map.routes.popular[i], 1e-5);
    }
    geodec_mem_free(scratch);
    geodec_flowmap_clear(&map);
    geodec_model_close(m);
}

/* The vote as route.h defines it, from the routes of the nodes. */
static void vote_by_definition(const geodec_flowmap *map, int32_t before, int32_t token, const geodec_flowmap_hit *hit,
                               int32_t n, const int32_t *text_before, double *share)
{
    const geodec_flowmap_routes *r = &map->routes;
    int32_t expert[64];
    for (int64_t l = 0; l < r->layers; l++) {
        double *of = share + l * r->experts, counts = 2, sum = 0;
        int64_t at = r->start[token];
        for (int64_t k = 0; k < l; k++) at += r->length[token * r->layers + k];
        for (int64_t e = 0; e < r->experts; e++) of[e] = 0;
        for (int64_t i = 0; i < r->length[token * r->layers + l]; i++) {
            of[r->expert[at + i]] = r->count[at + i];
            counts += r->count[at + i];
        }
        for (int64_t e = 0; e < r->experts; e++)
            of[e] = 0.5 * (of[e] + 2 * (double)r->popular[l * r->experts + e]) / counts;
        for (int32_t i = 0; i < n; i++) {
            const double far = 0.24 * hit[n < 16 ? n - 1 : 15].distance + 1e-3;
            const double w = exp(-(hit[i].distance - hit[0].distance) / far + (text_before[hit[i].node] == before));
            const int32_t used = geodec_flowmap_route_of(map, hit[i].node, l, expert);
            for (int32_t k = 0; k < used; k++) of[expert[k]] += w;
        }
        for (int64_t e = 0; e < r->experts; e++) sum += of[e];
        for (int64_t e = 0; e < r->experts; e++) of[e] *= (double)r->used / sum;
    }
}

static void compare_votes(const geodec_flowmap *map)
{
    const int64_t cells = map->routes.layers * map->routes.experts, positions = geodec_flowmap_positions(map);
    int32_t *scratch = geodec_mem_new(geodec_flowmap_room(map), sizeof *scratch), many = 0;
    int32_t *token = geodec_mem_new(positions, sizeof *token), *argmax = geodec_mem_new(positions, sizeof *argmax);
    int32_t *before = geodec_mem_new(map->nodes, sizeof *before),
            *token_of = geodec_mem_new(map->nodes, sizeof *before);
    float *share = geodec_mem_new(cells, sizeof *share);
    double *wanted = geodec_mem_new(cells, sizeof *wanted);
    geodec_flowmap_texts(map, token, NULL, argmax);
    for (int64_t q = 0, at = 0; q < map->sequences; q++, at++)
        for (int64_t i = map->sequence_start[q]; i < map->sequence_start[q + 1]; i++, at++) {
            before[map->order[i]] = token[at];
            token_of[map->order[i]] = token[at + 1];
        }
    for (int64_t node = 0; node < map->nodes; node += 7) {
        geodec_flowmap_hit hit[GEODEC_ROUTE_NEIGHBOURS];
        const int32_t n = geodec_flowmap_nearest(map, token_of[node], map->key + node * map->dims,
                                                 1 + (int32_t)(node % GEODEC_ROUTE_NEIGHBOURS), -1, scratch, hit);
        geodec_flowmap_route_vote(map, before[node], token_of[node], hit, n, -1, share);
        vote_by_definition(map, before[node], token_of[node], hit, n, before, wanted);
        for (int64_t i = 0; i < cells; i++) cr_assert_float_eq((double)share[i], wanted[i], 1e-5);
        many += n > 16;
    }
    cr_assert_gt(many, 10);
    GEODEC_FREE(scratch, token, argmax, before, token_of, share, wanted);
}

Test(routes, votes_are_those_of_the_definition)
{
    static const int32_t shape[][3] = {{4, 12, 3}, {24, 64, 4}, {3, 7, 2}}; /* the codes of the second are cut */
    for (int i = 0; i < 3; i++) {
        geodec_model *m = world_model(shape[i][0], shape[i][1], shape[i][2]);
        geodec_flowmap map = {0};
        world_read(world_map(world_activations(m, world_texts(7, 60, 40, 20), "vote.h5"), "vote-map.h5", 1), &map);
        compare_votes(&map);
        geodec_flowmap_clear(&map);
        geodec_model_close(m);
    }
}

/* One share in a row of reliabilities, in scalar code. */
static float read_one(const float *reliability, float share)
{
    const float x = share > 0 ? sqrtf(share < 1 ? share : 1) * GEODEC_ROUTE_BINS - 0.5F : 0;
    if (!(x > 0)) return reliability[0];
    if (x >= GEODEC_ROUTE_BINS - 1) return reliability[GEODEC_ROUTE_BINS - 1];
    const int i = (int)x;
    return reliability[i] + (x - (float)i) * (reliability[i + 1] - reliability[i]);
}

Test(routes, probabilities_of_many_shares_are_those_of_each)
{
    float scale[GEODEC_ROUTE_BINS], share[37], all[37];
    for (int b = 0; b < GEODEC_ROUTE_BINS; b++) scale[b] = sqrtf((float)(b + 1) / 33);
    for (int round = 0; round < 200; round++) {
        const int n = 1 + round % 37;
        for (int i = 0; i < n; i++) share[i] = powf(fabsf(sinf((float)(round * 37 + i))), 5);
        if (round % 3 == 0) share[0] = round % 2 ? -1 : 2;
        if (round % 5 == 0) share[n - 1] = round % 2 ? NAN : 1;
        if (round % 7 == 0) share[n / 2] = 0;
        geodec_flowmap_route_scale(scale, n, share, all);
        for (int i = 0; i < n; i++) {
            const float one = read_one(scale, share[i]);
            cr_assert_eq(memcmp(&one, &all[i], sizeof one), 0, "%g: %g, not %g", (double)share[i], (double)all[i],
                         (double)one);
        }
    }
}

/* A text left out counts as if it had never been stored. */
Test(routes, a_text_that_is_left_out_of_the_table)
{
    geodec_model *m = world_model(2, 12, 3);
    geodec_flowmap all = {0}, rest = {0};
    const char *texts = world_texts(4, 30, 20, 12);
    float a[24], b[24];
    world_read(world_map(world_activations(m, texts, "all.h5"), "all-map.h5", 1), &all);
    world_read(world_map(world_activations(m, strchr(texts, '\n') + 1, "rest.h5"), "rest-map.h5", 1), &rest);
    for (int32_t t = 20; t < 32; t++) {
        geodec_flowmap_route_vote(&all, -1, t, NULL, 0, 0, a);
        geodec_flowmap_route_vote(&rest, -1, t, NULL, 0, -1, b);
        for (int i = 0; i < 24; i++) cr_assert_float_eq(a[i], b[i], 0.02, "popularity may differ a little");
    }
    geodec_flowmap_clear(&all);
    geodec_flowmap_clear(&rest);
    geodec_model_close(m);
}

/* Writes the map with one number changed and expects the reader to refuse it. */
static void refuse(const geodec_flowmap *map, const char *what)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    geodec_flowmap read = {0};
    const char *path = test_tmp("bad-map.h5");
    const geodec_provenance p = {.tool = "test",
                                 .command_line = "test",
                                 .model_fingerprint = map->model_fingerprint,
                                 .tokenizer_fingerprint = map->tokenizer_fingerprint};
    test_ok(geodec_artifact_create(&geodec_flowmap_kind, path, &p, &a, &err), &err);
    test_ok(geodec_flowmap_write(map, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_flowmap_kind, path, &a, &err), &err);
    cr_assert_eq(geodec_flowmap_read(a, &read, &err), GEODEC_FORMAT, "%s", what);
    geodec_artifact_close(a);
}

Test(routes, damaged_routes_are_refused)
{
    geodec_model *m = world_model(2, 12, 3);
    geodec_flowmap map = {0};
    world_read(world_map(world_activations(m, world_texts(5, 20, 20, 20), "good.h5"), "good-map.h5", 1), &map);
    geodec_flowmap_routes *r = &map.routes, keep = *r;
#define WITH(member, value)                                                                                            \
    do {                                                                                                               \
        const __typeof__(member) before = (member);                                                                    \
        (member) = (value);                                                                                            \
        refuse(&map, #member);                                                                                         \
        (member) = before;                                                                                             \
    } while (0)
    int32_t token = 0;
    while (r->length[2 * token] == 0) token++;
    WITH(r->expert[0], 12);
    WITH(r->expert[0], -1);
    WITH(r->count[0], 0);
    WITH(r->length[2 * token], 13);
    WITH(r->length[2 * token], -1);
    WITH(r->length[2 * token], (int16_t)(r->length[2 * token] - 1));
    WITH(r->total[0], -1);
    WITH(r->used, 13);
    WITH(r->width, 11);
    r->reliability[0] = 2;
    refuse(&map, "reliability");
    *r = keep;
    geodec_flowmap_clear(&map);
    geodec_model_close(m);
}

Test(routes, a_map_of_a_dense_model_has_none)
{
    geodec_err err = {0};
    geodec_model *m = world_model(2, 0, 0);
    geodec_flowmap map = {0};
    geodec_foresight *f = NULL;
    geodec_routes_recorder *r = NULL;
    const char *texts = world_texts(6, 20, 20, 20);
    geodec_export_source source = world_source(m, texts);
    world_read(world_map(world_activations(m, texts, "dense.h5"), "dense-map.h5", 1), &map);
    cr_assert(!geodec_flowmap_route_known(&map));
    cr_assert_eq(geodec_foresight_create(&map, NULL, &f, &err), GEODEC_UNSUPPORTED);
    cr_assert_eq(geodec_routes_open(m, &source, 8, GEODEC_EXACT, GEODEC_KV_F32, NULL, &r, &err), GEODEC_UNSUPPORTED);
    geodec_export_source_close(&source);
    geodec_flowmap_clear(&map);
    geodec_model_close(m);
}
