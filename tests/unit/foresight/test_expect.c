/* What is expected of the tokens after the next: by its definition, from the map and from the rows of the run. */
#include "base/mem.h"
#include "base/rng.h"
#include "flowmap/route.h"
#include "foresight/foresight.h"
#include "foresight/memory_internal.h"
#include "foresight/world.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { LAYERS = 4, EXPERTS = 12, USED = 3, CELLS = LAYERS * EXPERTS, ROUTE = LAYERS * USED };

static void open_map(geodec_model **m, geodec_flowmap *map)
{
    *m = world_model(LAYERS, EXPERTS, USED);
    world_read(world_map(world_activations(*m, world_texts(2, 60, 40, 40), "expect.h5"), "expect-map.h5", 1), map);
}

/* Place of a node in the order of the texts, and the end of its text. */
static int64_t place_of(const geodec_flowmap *map, int64_t node, int64_t *begin, int64_t *end)
{
    int64_t at = 0, text = 0;
    while (map->order[at] != node) at++;
    while (map->sequence_start[text + 1] <= at) text++;
    *begin = map->sequence_start[text];
    *end = map->sequence_start[text + 1];
    return at;
}

static int32_t token_of(const geodec_flowmap *map, int64_t node)
{
    int32_t t = 0;
    while (map->bucket[t + 1] <= node) t++;
    return t;
}

Test(expect, later_nodes_of_the_texts_by_definition)
{
    geodec_model *m;
    geodec_flowmap map = {0};
    float weight[CELLS];
    double sum[CELLS];
    int32_t token = 0, mine[USED], ended = 0, same = 0;
    open_map(&m, &map);
    int32_t *scratch = geodec_mem_new(geodec_flowmap_room(&map), sizeof *scratch);
    while (map.bucket[token + 1] - map.bucket[token] < 20) token++;
    geodec_flowmap_hit hit[GEODEC_ROUTE_NEIGHBOURS];
    const int8_t *key = map.key + (map.bucket[token] + 3) * map.dims;
    const int32_t n = geodec_flowmap_nearest(&map, token, key, GEODEC_ROUTE_NEIGHBOURS, -1, scratch, hit);
    cr_assert_gt(n, 16);
    int64_t begin, end;
    const int64_t first = place_of(&map, hit[0].node, &begin, &end);
    const int32_t before = first > begin ? token_of(&map, map.order[first - 1]) : 1;
    const float scale = geodec_flowmap_route_beyond(&map, before, hit, n, weight);
    cr_assert_float_eq(scale, -0.5 / (0.24 * hit[15].distance + 1e-3), 1e-6);
    for (int i = 0; i < CELLS; i++) sum[i] = (double)map.routes.popular[i];
    for (int32_t i = 0; i < n; i++) {
        int64_t at = place_of(&map, hit[i].node, &begin, &end);
        const bool equal = (at > begin ? token_of(&map, map.order[at - 1]) : 1) == before;
        double w = exp((hit[i].distance - hit[0].distance) * (double)scale + (equal ? 0.5 : 0));
        same += equal;
        for (int step = 0; step < 12 && ++at < end; step++, w *= 0.75)
            for (int l = 0; l < LAYERS; l++)
                for (int32_t k = geodec_flowmap_route_of(&map, map.order[at], l, mine) - 1; k >= 0; k--)
                    sum[l * EXPERTS + mine[k]] += w;
        ended += at == end;
    }
    cr_assert(ended > 0 && same > 0 && same < n);
    for (int i = 0; i < CELLS; i++) cr_assert_float_eq(weight[i], sum[i], 1e-4 * (1 + sum[i]));
    cr_assert_float_eq(geodec_flowmap_route_beyond(&map, before, hit, 0, weight), 0, 0);
    for (int i = 0; i < CELLS; i++) cr_assert_float_eq(weight[i], map.routes.popular[i], 1e-6);
    geodec_mem_free(scratch);
    geodec_flowmap_clear(&map);
    geodec_model_close(m);
}

/* Rows of a run with more of them than are kept. */
enum { RUN = 20000, KEPT = 16384, TOKENS = 150, RARE = TOKENS };
typedef struct run {
    int32_t token[RUN], before[RUN], expert[RUN][ROUTE];
    int8_t key[RUN][GEODEC_FLOW_DIMS_MAX];
} run;

static void by_definition(const run *r, int32_t n, int32_t token, int32_t before, const int8_t *key, int64_t dims,
                          double scale, double nearest, double *sum)
{
    for (int32_t i = n - 1, found = 0; i >= 0 && i >= n - KEPT && found < 32; i--) {
        if (r->token[i] != token) continue;
        found++;
        double d = 0;
        for (int64_t k = 0; k < dims; k++) d += (key[k] - r->key[i][k]) * (key[k] - r->key[i][k]);
        double w = 2 * exp(fmin((d - nearest) * scale, 2) + (r->before[i] == before ? 0.5 : 0));
        for (int32_t j = i + 1; j <= i + 12 && j < n; j++, w *= 0.75)
            for (int k = 0; k < ROUTE; k++)
                if (r->expert[j][k] >= 0 && r->expert[j][k] < EXPERTS) sum[k / USED * EXPERTS + r->expert[j][k]] += w;
    }
}

Test(expect, rows_of_the_run_by_definition)
{
    geodec_err err = {0};
    geodec_model *m;
    geodec_flowmap map = {0};
    geodec__foresight_memory *memory = NULL;
    geodec_rng rng = geodec_rng_stream(5, geodec_rng_id("rows", 0));
    run *r = geodec_mem_new(1, sizeof *r);
    int compared = 0;
    open_map(&m, &map);
    test_ok(geodec__foresight_memory_create(&map, &memory, &err), &err);
    for (int32_t i = 0; i < RUN; i++) {
        r->token[i] = i == 10 ? RARE : (int32_t)geodec_rng_below(&rng, TOKENS);
        r->before[i] = i > 0 ? r->token[i - 1] : -1;
        for (int64_t k = 0; k < map.dims; k++) r->key[i][k] = (int8_t)((int)geodec_rng_below(&rng, 9) - 4);
        for (int k = 0; k < ROUTE; k++)
            r->expert[i][k] = (int32_t)geodec_rng_below(&rng, EXPERTS + 2) - 1; /* -1 and 12: none */
        if (i % 997 == 500 || i == 40 || i == RUN - 1) {
            const int32_t token = i == 40 || i == RUN - 1 ? RARE : r->token[i], before = r->before[i];
            const float scale = i % 2 ? -0.01F : 0, nearest = 20;
            float weight[CELLS];
            double sum[CELLS], all = 0;
            for (int k = 0; k < CELLS; k++) weight[k] = (float)(sum[k] = 0.125);
            geodec__foresight_memory_vote(memory, token, before, r->key[i], scale, nearest, weight);
            by_definition(r, i, token, before, r->key[i], map.dims, (double)scale, (double)nearest, sum);
            for (int k = 0; k < CELLS; k++) {
                cr_assert_float_eq(weight[k], sum[k], 1e-4 * sum[k], "row %d: %g, by definition %g", i,
                                   (double)weight[k], sum[k]);
                all += sum[k] - 0.125;
            }
            cr_assert_eq(all > 0, i != RUN - 1, "only the rare token is forgotten by then");
            compared++;
        }
        geodec__foresight_memory_add(memory, r->token[i], r->before[i], r->key[i], r->expert[i]);
    }
    cr_assert_gt(compared, 20);
    geodec__foresight_memory_add(memory, -1, -1, r->key[0], r->expert[0]); /* no token of the map: no harm */
    geodec__foresight_memory_add(memory, (int32_t)map.vocab, 3, r->key[0], r->expert[0]);
    geodec__foresight_memory_destroy(memory);
    geodec_mem_free(r);
    geodec_flowmap_clear(&map);
    geodec_model_close(m);
}

/* A text of states that the map does not know, twice: the second time, what followed is expected. */
Test(expect, a_text_that_comes_again_is_expected)
{
    geodec_err err = {0};
    geodec_model *m;
    geodec_flowmap map = {0};
    geodec_foresight *f[2] = {NULL, NULL};
    geodec_rng rng = geodec_rng_stream(6, geodec_rng_id("text", 0));
    enum { LENGTH = 30 };
    static float state[LENGTH][32];
    int32_t token[LENGTH], expert[LENGTH][ROUTE];
    double share[2] = {0, 0};
    open_map(&m, &map);
    for (int i = 0; i < LENGTH; i++) {
        token[i] = 20 + (int32_t)geodec_rng_below(&rng, 40);
        for (int k = 0; k < 32; k++) state[i][k] = (float)geodec_rng_normal(&rng);
        for (int k = 0; k < ROUTE; k++) expert[i][k] = (k % USED * 4 + (int32_t)geodec_rng_below(&rng, 4)) % EXPERTS;
    }
    for (int with = 0; with < 2; with++) {
        test_ok(geodec_foresight_create(&map, NULL, &f[with], &err), &err);
        for (int time = 0; time < 2; time++) {
            geodec_foresight_begin(f[with]);
            for (int i = 0; i < LENGTH; i++) {
                float of[CELLS], again[CELLS];
                geodec_foresight_expect(f[with], token[i], of);
                geodec_foresight_ask(f[with], 20 + i % 7, true, again);
                geodec_foresight_expect(f[with], token[i], again);
                cr_assert_eq(memcmp(of, again, sizeof of), 0, "asking changes nothing");
                for (int l = 0; l < LAYERS; l++) {
                    float sum = 0;
                    for (int e = 0; e < EXPERTS; e++) sum += of[l * EXPERTS + e];
                    cr_assert_float_eq(sum, USED, 1e-3);
                }
                for (int k = 0; time == 1 && i + 1 < LENGTH && k < ROUTE; k++)
                    share[with] += (double)of[k / USED * EXPERTS + expert[i + 1][k]] / (ROUTE * (LENGTH - 1));
                if (with) geodec_foresight_remember(f[with], token[i], expert[i]);
                geodec_foresight_observe(f[with], token[i], state[i]);
            }
        }
        geodec_foresight_destroy(f[with]);
    }
    cr_assert_gt(share[1], 1.25 * share[0], "%g, without the memory %g", share[1], share[0]);
    geodec_flowmap_clear(&map);
    geodec_model_close(m);
}
