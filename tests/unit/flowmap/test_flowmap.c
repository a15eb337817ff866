/* The flow map: kernels and search against brute force, baking on a world of known flow, the file, the calibration. */
#include "base/cpu_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "flowmap/flow_world.h"
#include "flowmap/flowmap_internal.h"
#include "flowmap/map.h"
#include "flowmap/track.h"
#include "io/file.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 80, LENGTH = 60 };

static geodec_status bake_with(const char *from, const char *to, const geodec_flowmap_options *o, int threads,
                               geodec_flowmap_summary *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *out = NULL;
    geodec_activations v;
    geodec_flowmap map = {0};
    geodec_pool *pool = NULL;
    const geodec_provenance p = {
        .tool = "test", .command_line = "test", .model_fingerprint = "aa", .tokenizer_fingerprint = "bb"};
    geodec_io_init();
    GEODEC_TRY(geodec_pool_create(threads, &pool, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, from, &in, err));
    GEODEC_TRY(geodec_activations_view(in, &v, err));
    GEODEC_TRY(geodec_flowmap_bake(&v, o, &map, s, pool, NULL, err));
    if (to) {
        GEODEC_TRY(geodec_artifact_create(&geodec_flowmap_kind, to, &p, &out, err));
        GEODEC_TRY(geodec_flowmap_write(&map, out, err));
        st = geodec_artifact_commit(out, err);
        out = NULL;
    }
done:
    geodec_flowmap_clear(&map);
    geodec_artifact_close(in);
    geodec_artifact_close(out);
    geodec_pool_destroy(pool);
    return st;
}

/* A baked world, read back from its file. */
static geodec_flowmap baked_so(const char *name, const geodec_flowmap_options *o, geodec_flowmap_summary *s)
{
    geodec_err err = {0};
    geodec_flowmap map;
    geodec_artifact *a = NULL;
    const char *path = test_tmp(name);
    geodec_io_init();
    test_ok(bake_with(world_file("world.h5", 5, TEXTS, LENGTH), path, o, 2, s, &err), &err);
    test_ok(geodec_artifact_open(&geodec_flowmap_kind, path, &a, &err), &err);
    test_ok(geodec_flowmap_read(a, &map, &err), &err);
    geodec_artifact_close(a);
    return map;
}

static geodec_flowmap baked(const char *name, geodec_flowmap_summary *s)
{
    const geodec_flowmap_options o = geodec_flowmap_defaults();
    return baked_so(name, &o, s);
}

Test(flowmap, kernels_of_all_instruction_sets_agree_bit_for_bit)
{
    const geodec__flowmap_scan_kernels *all[] = {&geodec__flowmap_scan_avx2, &geodec__flowmap_scan_avx512,
                                                 &geodec__flowmap_scan_vnni},
                                       *ref = &geodec__flowmap_scan_scalar;
    const unsigned needs[] = {GEODEC__CPU_AVX2, GEODEC__CPU_AVX512, GEODEC__CPU_VNNI};
    geodec_rng r = geodec_rng_stream(3, 0);
    enum { BLOCKS = 37, GROUPS = 8, ROWS = 129, COLUMNS = 36 };
    static _Alignas(64) uint8_t block[BLOCKS * (GROUPS + 2) * 64];
    static uint8_t box[BLOCKS * GEODEC__FLOW_BOX];
    int32_t which[BLOCKS], bound0[BLOCKS], bound1[BLOCKS];
    int32_t low0[GEODEC__FLOW_LOWS], low1[GEODEC__FLOW_LOWS], index0[BLOCKS * 16], index1[BLOCKS * 16];
    static int32_t d0[BLOCKS * 16], d1[BLOCKS * 16];
    static float a[ROWS * COLUMNS], x[ROWS], y0[32 * 32], y1[32 * 32];
    static float positive[ROWS], s0[32 * 32], s1[32 * 32], z0[32], z1[32];
    static int8_t b[ROWS * COLUMNS];
    uint8_t query[4 * GROUPS];
    for (size_t i = 0; i < sizeof block; i++) block[i] = (uint8_t)(geodec_rng_u64(&r) % 128);
    for (int i = 0; i < BLOCKS; i++) {
        which[i] = (7 * i + 3) % BLOCKS;
        for (int c = 0; c < GEODEC_FLOW_DIMS_MAX; c++) {
            const uint8_t one = (uint8_t)geodec_rng_below(&r, 128), two = (uint8_t)geodec_rng_below(&r, 128);
            box[i * GEODEC__FLOW_BOX + c] = one < two ? one : two;
            box[i * GEODEC__FLOW_BOX + GEODEC_FLOW_DIMS_MAX + c] = one < two ? two : one;
        }
    }
    for (size_t i = 0; i < sizeof query; i++) query[i] = (uint8_t)(i % 3 ? geodec_rng_u64(&r) % 128 : i % 2 * 127);
    memset(block, 0, 64); /* the widest differences too */
    memset(block + 64, 127, 64);
    for (size_t i = 0; i < sizeof b; i++) {
        a[i] = (float)geodec_rng_normal(&r);
        b[i] = (int8_t)(geodec_rng_u64(&r) % 256 - 128);
    }
    for (int i = 0; i < ROWS; i++) {
        x[i] = (float)geodec_rng_normal(&r);
        positive[i] = 0.1f + x[i] * x[i];
    }
    for (size_t v = 0; v < sizeof all / sizeof *all; v++) {
        const geodec__flowmap_scan_kernels *k = all[v];
        if (!(geodec__cpu() & needs[v]) || !k->name) {
            fprintf(stderr, "SKIP kernels %zu: the processor lacks them\n", v);
            continue;
        }
        for (int32_t groups = 1; groups <= GROUPS; groups++) {
            ref->distance(block, which, BLOCKS, groups, query, 7 * groups, d0, low0);
            k->distance(block, which, BLOCKS, groups, query, 7 * groups, d1, low1);
            cr_assert_eq(memcmp(d0, d1, sizeof d0), 0, "%s, %d groups", k->name, groups);
            cr_assert_eq(memcmp(low0, low1, sizeof low0), 0);
        }
        ref->boxes(box, BLOCKS, query, bound0);
        k->boxes(box, BLOCKS, query, bound1);
        cr_assert_eq(memcmp(bound0, bound1, sizeof bound0), 0);
        for (int i = 0; i < 5; i++) {
            const int64_t count = ref->collect(d0, BLOCKS * 16, d0[i], index0);
            cr_assert_eq(count, ref->below(d0, BLOCKS * 16, d0[i]));
            cr_assert_eq(count, k->collect(d0, BLOCKS * 16, d0[i], index1));
            cr_assert_eq(memcmp(index0, index1, (size_t)count * sizeof *index0), 0);
        }
        for (int i = 0; i < 5; i++) cr_assert_eq(ref->below(d0, BLOCKS * 16, d0[i]), k->below(d0, BLOCKS * 16, d0[i]));
        for (int64_t columns = 4; columns <= COLUMNS; columns += 4) {
            ref->apply_f32(a, ROWS, columns, x, y0);
            k->apply_f32(a, ROWS, columns, x, y1);
            cr_assert_eq(memcmp(y0, y1, (size_t)columns * sizeof *y0), 0, "%s, f32, %d", k->name, (int)columns);
            ref->apply_i8(b, ROWS, columns, x, y0);
            k->apply_i8(b, ROWS, columns, x, y1);
            cr_assert_eq(memcmp(y0, y1, (size_t)columns * sizeof *y0), 0, "%s, i8, %d", k->name, (int)columns);
            if (columns > 32) continue;
            ref->offset(b, b + 40, columns, y0);
            k->offset(b, b + 40, columns, y1);
            cr_assert_eq(memcmp(y0, y1, (size_t)columns * sizeof *y0), 0);
            for (int64_t c = 0; c < columns; c++) cr_assert_eq((int)y0[c], b[c] - b[c + 40]);
            memcpy(s0, a, sizeof s0);
            memcpy(s1, a, sizeof s1);
            ref->centre(s0, 20, columns, x);
            k->centre(s1, 20, columns, x);
            cr_assert_eq(memcmp(s0, s1, sizeof s0), 0);
            for (int64_t i = 0; i < 20 * columns; i++) cr_assert_eq(s0[i], a[i] - x[i % columns]);
            ref->scatter(a, x, ROWS, columns, y0);
            k->scatter(a, x, ROWS, columns, y1);
            cr_assert_eq(memcmp(y0, y1, (size_t)(columns * columns) * sizeof *y0), 0);
            ref->scatter(a, positive, ROWS, columns, s0);
            memcpy(s1, s0, sizeof s0);
            for (int64_t c = 0; c < columns; c++) z0[c] = z1[c] = x[c];
            ref->solve(columns, s0, z0);
            k->solve(columns, s1, z1);
            cr_assert_eq(memcmp(z0, z1, (size_t)columns * sizeof *z0), 0);
            ref->scatter(a, positive, ROWS, columns, s0);
            for (int64_t i = 0; i < columns; i++) {
                double sum = 0;
                for (int64_t c = 0; c < columns; c++) sum += (double)s0[i * columns + c] * (double)z0[c];
                cr_assert_float_eq(sum, x[i], 1e-3, "A A^-1 b = b: %g, %g", sum, (double)x[i]);
            }
        }
    }
    /* and the reference against sums written out here */
    ref->boxes(box, BLOCKS, query, bound0);
    for (int i = 0; i < BLOCKS; i++) {
        int32_t sum = 0;
        for (int c = 0; c < GEODEC_FLOW_DIMS_MAX; c++) {
            int32_t least = 127 * 127;
            const uint8_t *side = box + i * GEODEC__FLOW_BOX + c;
            for (int32_t v = side[0]; v <= side[GEODEC_FLOW_DIMS_MAX]; v++)
                if ((v - query[c]) * (v - query[c]) < least) least = (v - query[c]) * (v - query[c]);
            sum += least;
        }
        cr_assert_eq(bound0[i], sum);
    }
    int32_t norm = 0;
    for (int c = 0; c < 8; c++) norm += query[c] * query[c];
    for (int lane = 0; lane < 16; lane++) {
        int32_t own = 0;
        for (int c = 0; c < 8; c++) own += block[c / 4 * 64 + lane * 4 + c % 4] * block[c / 4 * 64 + lane * 4 + c % 4];
        memcpy(block + 128 + 4 * lane, &own, sizeof own);
    }
    which[0] = 0;
    ref->distance(block, which, 1, 2, query, norm, d0, low0);
    for (int lane = 0; lane < 16; lane++) {
        int32_t sum = 0;
        for (int c = 0; c < 8; c++) {
            const int32_t q = query[c], z = block[c / 4 * 64 + lane * 4 + c % 4];
            sum += (q - z) * (q - z);
        }
        cr_assert_eq(d0[lane], sum);
        cr_assert_eq(low0[lane], sum);
    }
    ref->apply_i8(b, 50, 20, x, y0);
    for (int c = 0; c < 20; c++) {
        double sum = 0;
        for (int i = 0; i < 50; i++) sum += (double)x[i] * b[i * 20 + c];
        cr_assert_float_eq(y0[c], sum, 1e-3);
    }
}

static int by_distance(const void *a, const void *b)
{
    const geodec_flowmap_hit *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

Test(flowmap, nearest_nodes_are_those_of_a_full_sort)
{
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("nearest.h5", &s);
    geodec_rng r = geodec_rng_stream(8, 0);
    geodec_flowmap_hit *all = geodec_mem_new(map.nodes, sizeof *all), hit[GEODEC_FLOW_NEAR_MAX];
    int32_t *scratch = geodec_mem_new(geodec_flowmap_room(&map), sizeof *scratch), full = 0, skipped = 0;
    for (int trial = 0; trial < 400; trial++) {
        const int32_t token = (int32_t)geodec_rng_below(&r, WORLD_VOCAB);
        const int32_t k = 1 + (int32_t)geodec_rng_below(&r, GEODEC_FLOW_NEAR_MAX);
        const int32_t skip = trial % 2 ? (int32_t)geodec_rng_below(&r, TEXTS) : -1;
        int8_t key[GEODEC_FLOW_DIMS_MAX];
        for (int64_t c = 0; c < map.dims; c++) /* coarse keys: many equal distances */
            key[c] =
                trial % 3 ? (int8_t)((int)geodec_rng_below(&r, 4) * 16 - 32) : (int8_t)(geodec_rng_u64(&r) % 128 - 64);
        int32_t n = 0;
        for (int64_t i = map.bucket[token]; i < map.bucket[token + 1]; i++) {
            int32_t text = 0, d = 0;
            for (int64_t p = 0; p < map.nodes; p++)
                if (map.order[p] == i)
                    while (map.sequence_start[text + 1] <= p) text++;
            if (text == skip) {
                skipped++;
                continue;
            }
            for (int64_t c = 0; c < map.dims; c++) {
                const int32_t diff = key[c] - map.key[i * map.dims + c];
                d += diff * diff;
            }
            all[n++] = (geodec_flowmap_hit){d, (int32_t)i};
        }
        qsort(all, (size_t)n, sizeof *all, by_distance);
        const int32_t got = geodec_flowmap_nearest(&map, token, key, k, skip, scratch, hit);
        cr_assert_eq(got, n < k ? n : k);
        cr_assert_eq(memcmp(hit, all, (size_t)got * sizeof *hit), 0, "trial %d", trial);
        full += got == k;
    }
    cr_assert_gt(full, 50);
    cr_assert_gt(skipped, 50);
    cr_assert_eq(geodec_flowmap_nearest(&map, -1, map.key, 4, -1, scratch, hit), 0);
    cr_assert_eq(geodec_flowmap_nearest(&map, WORLD_VOCAB, map.key, 4, -1, scratch, hit), 0);
    geodec_mem_free(all);
    geodec_mem_free(scratch);
    geodec_flowmap_clear(&map);
}

/* Few leaves: nodes of the bucket with their distances, in order, most of them the nearest. Enough leaves: the nearest.
 */
Test(flowmap, nearby_nodes_are_nearly_the_nearest)
{
    enum { K = 16, TRIALS = 300 };
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("nearby.h5", &s);
    geodec_rng r = geodec_rng_stream(9, 0);
    geodec_flowmap_hit near[K], about[K];
    int32_t *scratch = geodec_mem_new(geodec_flowmap_room(&map), sizeof *scratch), found = 0, wanted = 0, less = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        const int64_t from = (int64_t)geodec_rng_below(&r, (uint64_t)map.nodes);
        const int8_t *key = map.key + from * map.dims;
        int32_t token = 0;
        while (map.bucket[token + 1] <= from) token++;
        const int64_t size = map.bucket[token + 1] - map.bucket[token];
        const int32_t n = geodec_flowmap_nearest(&map, token, key, K, -1, scratch, near);
        cr_assert_eq(geodec_flowmap_nearby(&map, token, key, K, map.nodes, scratch, about), n);
        cr_assert_eq(memcmp(near, about, (size_t)n * sizeof *near), 0);
        if (size <= 8 * GEODEC_FLOW_LEAF_NODES) continue;
        const int32_t got = geodec_flowmap_nearby(&map, token, key, K, 4, scratch, about);
        cr_assert_eq(got, K);
        for (int32_t i = 0; i < got; i++) {
            int32_t d = 0;
            cr_assert(about[i].node >= map.bucket[token] && about[i].node < map.bucket[token + 1]);
            for (int64_t c = 0; c < map.dims; c++) {
                const int32_t diff = key[c] - map.key[about[i].node * map.dims + c];
                d += diff * diff;
            }
            cr_assert_eq(about[i].distance, d);
            cr_assert(i == 0 || by_distance(&about[i - 1], &about[i]) < 0);
            cr_assert_geq(by_distance(&about[i], &near[i]), 0, "none is nearer than the nearest");
            for (int32_t k = 0; k < n; k++) found += near[k].node == about[i].node;
        }
        wanted += n;
        less += memcmp(near, about, sizeof near) != 0;
    }
    cr_assert_gt(wanted, 50 * K);
    cr_assert_gt(found, wanted * 7 / 10, "%d of %d", found, wanted);
    cr_assert_gt(less, 0, "four leaves are not all");
    cr_assert_eq(geodec_flowmap_nearby(&map, WORLD_VOCAB, map.key, 4, 4, scratch, about), 0);
    geodec_mem_free(scratch);
    geodec_flowmap_clear(&map);
}

typedef struct outcome {
    int64_t asked, first, accepted, reached;
    double claimed;
    int64_t own;
} outcome;

/* Follows fresh texts that stay on the most probable path. */
static outcome follow(const geodec_flowmap *map, uint64_t seed, int64_t texts)
{
    geodec_err err = {0};
    outcome o = {0};
    geodec_flowmap_track *t = NULL;
    test_ok(geodec_flowmap_track_create(map, &t, &err), &err);
    for (int64_t i = 0; i < texts; i++) {
        world_text x = world_write(seed, (uint64_t)i, LENGTH, 0);
        test_ok(geodec_flowmap_track_begin(t, &err), &err);
        for (int32_t p = 0; p < x.n; p++) {
            geodec_flow_draft d[4];
            if (p > 1 && p + 4 < x.n) {
                const int32_t n = world_propose(t, x.token[p], 4, -1, false, NULL, NULL, d);
                o.asked++;
                for (int32_t k = 0; k < n; k++) {
                    o.reached++;
                    o.claimed += d[k].confidence;
                    o.own += d[k].own;
                    cr_assert(d[k].confidence >= 0 && d[k].confidence <= 1 && d[k].score >= 0 && d[k].score <= 1);
                    if (d[k].token != x.token[p + 1 + k]) break;
                    o.accepted++;
                    if (k == 0) o.first++;
                }
            }
            test_ok(geodec_flowmap_track_push(t, x.token[p], x.argmax[p], x.state + p * WORLD_D, &err), &err);
        }
        world_free(&x);
    }
    geodec_flowmap_track_destroy(t);
    return o;
}

Test(flowmap, a_known_flow_is_followed_beyond_the_token)
{
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("known.h5", &s);
    cr_assert_eq(s.nodes, TEXTS * (LENGTH - 1));
    cr_assert_eq(map.nodes, s.nodes);
    cr_assert_eq(s.charts, 1 + WORLD_SECTORS);
    map.vote.own = 0; /* only the store */
    const outcome o = follow(&map, 99, 20);
    const double first = (double)o.first / (double)o.asked, mean = (double)o.accepted / (double)o.asked;
    /* control: the most frequent label of a token */
    int64_t hits = 0, all = 0;
    for (int64_t t = 0; t < WORLD_VOCAB; t++) {
        int64_t count[WORLD_VOCAB] = {0}, top = 0;
        for (int64_t i = map.bucket[t]; i < map.bucket[t + 1]; i++) count[map.label[i]]++;
        for (int64_t l = 0; l < WORLD_VOCAB; l++) top = count[l] > top ? count[l] : top;
        hits += top;
        all += map.bucket[t + 1] - map.bucket[t];
    }
    const double bigram = (double)hits / (double)all;
    cr_assert_lt(bigram, 0.5);
    cr_assert_gt(first, 0.85, "first %.3f, bigram %.3f", first, bigram);
    cr_assert_gt(mean, 2.8, "accepted of 4: %.2f", mean);
    /* confidence: close to the acceptance on unseen texts */
    cr_assert_float_eq(o.claimed / (double)o.reached, (double)o.accepted / (double)o.reached, 0.08);
    geodec_flowmap_clear(&map);
}

Test(flowmap, learned_charts_beat_a_random_projection_of_their_rank)
{
    double first[GEODEC_FLOW_RANDOM + 1];
    for (int kind = 0; kind <= GEODEC_FLOW_RANDOM; kind++) {
        geodec_flowmap_options o = geodec_flowmap_defaults();
        geodec_flowmap_summary s;
        o.dims = 4;
        o.charts = (geodec_flowmap_charts)kind;
        geodec_flowmap map = baked_so("kind.h5", &o, &s);
        if (kind != GEODEC_FLOW_LEARNED) cr_assert_eq(s.charts, 1, "controls share one chart");
        map.vote.own = 0;
        const outcome x = follow(&map, 99, 20);
        first[kind] = (double)x.first / (double)x.asked;
        geodec_flowmap_clear(&map);
        cr_assert_gt(first[kind], 0.5, "charts %d: %.3f", kind, first[kind]); /* any metric is informative */
    }
    cr_assert_gt(first[GEODEC_FLOW_LEARNED], first[GEODEC_FLOW_RANDOM] + 0.01, "learned %.3f, random %.3f",
                 first[GEODEC_FLOW_LEARNED], first[GEODEC_FLOW_RANDOM]);
}

Test(flowmap, successors_are_the_text_or_the_nearest_node)
{
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("next.h5", &s);
    int64_t followed = 0;
    for (int64_t q = 0; q < map.sequences; q++)
        for (int64_t p = map.sequence_start[q]; p < map.sequence_start[q + 1]; p++) {
            const int32_t node = map.order[p], next = map.next[node];
            cr_assert_geq(next, 0);
            cr_assert(next >= map.bucket[map.label[node]] && next < map.bucket[map.label[node] + 1]);
            if (p + 1 == map.sequence_start[q + 1]) continue;
            const int32_t after = map.order[p + 1];
            if (after >= map.bucket[map.label[node]] && after < map.bucket[map.label[node] + 1]) {
                cr_assert_eq(next, after);
                followed++;
            }
        }
    cr_assert_eq(followed, s.followed);
    cr_assert_lt(s.followed, s.nodes * 9 / 10); /* the texts do leap */
    geodec_flowmap_clear(&map);
}

Test(flowmap, calibration_rises_and_is_honest)
{
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("calibration.h5", &s);
    for (int d = 0; d < GEODEC_FLOW_DEPTHS; d++)
        for (double x = 0; x < 1; x += 0.01)
            cr_assert_leq(geodec_flowmap_reliability(&map, d, x), geodec_flowmap_reliability(&map, d, x + 0.01));
    cr_assert_geq(s.calibrated, 1000);
    const outcome o = follow(&map, 1234, 20);
    cr_assert_gt(o.reached, 1000);
    cr_assert_float_eq(o.claimed / (double)o.reached, (double)o.accepted / (double)o.reached, 0.08);
    geodec_flowmap_clear(&map);
}

Test(flowmap, consistency_is_that_of_the_bake_and_above_shuffled_labels)
{
    geodec_flowmap_options o = geodec_flowmap_defaults();
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("consistency.h5", &s);
    cr_assert_eq(map.consistency, s.first); /* read back from the file: the very value */
    cr_assert_eq(map.consistency_shuffled, s.shuffled);
    cr_assert_gt(map.consistency, map.consistency_shuffled + 0.2, "%.3f, shuffled %.3f", map.consistency,
                 map.consistency_shuffled);
    cr_assert_gt(map.consistency_shuffled, 0);
    geodec_flowmap_clear(&map);
    o.calibration = 0; /* not measured: not there */
    map = baked_so("no-consistency.h5", &o, &s);
    cr_assert(isnan(map.consistency) && isnan(map.consistency_shuffled));
    geodec_flowmap_clear(&map);
}

Test(flowmap, the_current_text_is_learned)
{
    geodec_err err = {0};
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("own.h5", &s);
    geodec_flowmap_track *t = NULL;
    geodec_flow_draft d[8];
    test_ok(geodec_flowmap_track_create(&map, &t, &err), &err);
    cr_assert_eq(world_propose(t, 5, 4, -1, false, NULL, NULL, d), 0); /* no state yet */
    /* a phrase that is not in the store (token 2 is in no text), twice */
    const int32_t phrase[] = {1, 2, 5, 2, 9, 2, 7, 2, 5, 2, 9};
    float state[WORLD_D];
    for (size_t p = 0; p < sizeof phrase / sizeof *phrase; p++) {
        for (int c = 0; c < WORLD_D; c++)
            state[c] = (float)sin((double)(phrase[p] * 7 + c) + (p > 0 ? phrase[p - 1] : 0));
        test_ok(geodec_flowmap_track_push(t, phrase[p], -1, state, &err), &err);
    }
    const int32_t n = world_propose(t, 2, 2, -1, false, NULL, NULL, d);
    cr_assert_eq(n, 2);
    cr_assert_eq(d[0].token, 7);
    cr_assert(d[0].own);
    cr_assert_eq(d[1].token, 2);
    cr_assert_eq(geodec_flowmap_track_push(t, WORLD_VOCAB, -1, state, &err), GEODEC_RANGE);
    test_ok(geodec_flowmap_track_begin(t, &err), &err); /* forgotten */
    test_ok(geodec_flowmap_track_push(t, 1, -1, state, &err), &err);
    cr_assert_eq(world_propose(t, 2, 2, -1, false, NULL, NULL, d), 0);
    geodec_flowmap_track_destroy(t);
    geodec_flowmap_clear(&map);
}

static bool no_evens(void *ctx, int32_t i, int32_t token)
{
    ++*(int *)ctx;
    return i == 0 && token % 2 == 0;
}

Test(flowmap, a_forbidden_token_is_not_drafted)
{
    geodec_err err = {0};
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("forbid.h5", &s);
    geodec_flowmap_track *t = NULL;
    geodec_flow_draft d[2];
    int asked = 0, changed = 0;
    test_ok(geodec_flowmap_track_create(&map, &t, &err), &err);
    world_text x = world_write(77, 0, LENGTH, 0);
    for (int32_t p = 0; p < x.n; p++) {
        if (p > 1 && world_propose(t, x.token[p], 1, -1, false, NULL, NULL, d) == 1) {
            const int32_t free_choice = d[0].token;
            if (world_propose(t, x.token[p], 2, -1, false, no_evens, &asked, d) > 0) {
                cr_assert_eq(d[0].token % 2, 1);
                if (free_choice % 2) cr_assert_eq(d[0].token, free_choice);
                changed += d[0].token != free_choice;
            }
        }
        test_ok(geodec_flowmap_track_push(t, x.token[p], x.argmax[p], x.state + p * WORLD_D, &err), &err);
    }
    cr_assert_gt(asked, 10);
    world_free(&x);
    geodec_flowmap_track_destroy(t);
    geodec_flowmap_clear(&map);
    (void)changed;
}

Test(flowmap, file_is_the_same_for_any_number_of_threads_and_small)
{
    geodec_err err = {0};
    geodec_flowmap_summary s;
    const geodec_flowmap_options o = geodec_flowmap_defaults();
    const char *from = world_file("threads.h5", 6, TEXTS, LENGTH), *one = test_tmp("one.h5"), *three = test_tmp("3.h5");
    char a[GEODEC_SHA256_HEX], b[GEODEC_SHA256_HEX];
    test_ok(bake_with(from, one, &o, 1, &s, &err), &err);
    test_ok(bake_with(from, three, &o, 3, &s, &err), &err);
    test_ok(geodec_file_sha256(one, a, &err), &err);
    test_ok(geodec_file_sha256(three, b, &err), &err);
    cr_assert_str_eq(a, b);
    cr_assert_lt(s.bytes_per_node, 64); /* 16 of them are the choices */
    geodec_artifact *file = NULL;
    geodec_flowmap map;
    test_ok(geodec_artifact_open(&geodec_flowmap_kind, one, &file, &err), &err);
    test_ok(geodec_flowmap_read(file, &map, &err), &err);
    cr_assert_float_eq((double)geodec_flowmap_bytes(&map) / (double)map.nodes, s.bytes_per_node, 1e-12);
    /* the texts come back */
    const int64_t n = geodec_flowmap_positions(&map);
    cr_assert_eq(n, TEXTS * LENGTH);
    int32_t *token = geodec_mem_new(n, 4), *text = geodec_mem_new(n, 4), *argmax = geodec_mem_new(n, 4);
    geodec_flowmap_texts(&map, token, text, argmax);
    for (int64_t i = 0; i < TEXTS; i++) {
        world_text x = world_write(6, (uint64_t)i, LENGTH, 0.2);
        cr_assert_eq(memcmp(token + i * LENGTH, x.token, LENGTH * sizeof *token), 0);
        cr_assert_eq(memcmp(argmax + i * LENGTH, x.argmax, LENGTH * sizeof *token), 0);
        cr_assert_eq(text[i * LENGTH], i);
        world_free(&x);
    }
    test_ok(geodec_flowmap_match(&map, "aa", "bb", &err), &err);
    cr_assert_eq(geodec_flowmap_match(&map, "ab", "bb", &err), GEODEC_CHECKSUM);
    cr_assert_eq(geodec_flowmap_match(&map, "aa", "bc", &err), GEODEC_CHECKSUM);
    geodec_mem_free(token);
    geodec_mem_free(text);
    geodec_mem_free(argmax);
    geodec_flowmap_clear(&map);
    geodec_artifact_close(file);
}

Test(flowmap, indices_that_lead_astray_are_refused)
{
    geodec_err err = {0};
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("astray.h5", &s);
    test_ok(geodec__flowmap_finish(&map, "sound", &err), &err);
#define REFUSED(place, value)                                                                                          \
    do {                                                                                                               \
        unsigned char kept[sizeof(place)];                                                                             \
        memcpy(kept, &(place), sizeof kept);                                                                           \
        (place) = (value);                                                                                             \
        cr_assert_eq(geodec__flowmap_finish(&map, "bad", &err), GEODEC_FORMAT, #place);                                \
        memcpy(&(place), kept, sizeof kept);                                                                           \
    } while (0)
    REFUSED(map.next[7], (int32_t)map.nodes);
    REFUSED(map.next[7], -2);
    REFUSED(map.next[7], (int32_t)((map.next[7] + map.nodes / 2) % map.nodes));
    REFUSED(map.label[7], WORLD_VOCAB);
    REFUSED(map.label[7], -1);
    REFUSED(map.choice[7], WORLD_VOCAB);
    REFUSED(map.choice[7], -2);
    REFUSED(map.chart_of[3], (int32_t)map.charts);
    REFUSED(map.bucket[5], map.bucket[6] + 1);
    REFUSED(map.bucket[WORLD_VOCAB], map.nodes + 1);
    REFUSED(map.sequence_start[1], -1);
    REFUSED(map.order[0], map.order[1]);
    REFUSED(map.order[0], (int32_t)map.nodes);
    REFUSED(map.first_token[0], -1);
    REFUSED(map.key[11], (int8_t)64);
    REFUSED(map.reliability[2], NAN);
    REFUSED(map.reliability[2], 1.5f);
    REFUSED(map.basis[0], INFINITY);
    REFUSED(map.vote.neighbours, GEODEC_FLOW_NEAR_MAX);
    REFUSED(map.vote.bandwidth, 0);
    REFUSED(map.vote.rank, 0);
    REFUSED(map.dims, 18);
    geodec_flowmap_clear(&map);
}

/* The model's most probable tokens after its argmax: kept with the softmax of the exported logits, and used in votes
 * in sampled texts. */
Test(flowmap, nodes_vote_with_their_distribution_when_the_text_is_sampled)
{
    geodec_err err = {0};
    geodec_flowmap_summary s;
    geodec_flowmap map = baked("choices.h5", &s);
    geodec_flowmap_track *t = NULL;
    geodec_flow_draft draft[8];
    double total = 0, p[WORLD_TOP];
    for (int k = 0; k < WORLD_TOP; k++) total += exp((double)world_logit(k));
    for (int k = 0; k < WORLD_TOP; k++) p[k] = exp((double)world_logit(k)) / total;
    for (int64_t n = 0; n < map.nodes; n++) {
        cr_assert_float_eq(map.probability[4 * n] / 255.0, p[0], 0.5 / 255 + 1e-9);
        for (int k = 0; k < GEODEC_FLOW_CHOICES; k++) {
            cr_assert_eq(map.choice[n * GEODEC_FLOW_CHOICES + k], (map.label[n] + 1 + k) % WORLD_VOCAB);
            cr_assert_float_eq(map.probability[4 * n + 1 + k] / 255.0, p[k + 1], 0.5 / 255 + 1e-9);
        }
    }
    /* A text the map has not seen: its children have about the model's distribution; neighbours across the border of a
     * sector vote for the next one's. */
    world_text x = world_write(77, 0, 12, 0);
    test_ok(geodec_flowmap_track_create(&map, &t, &err), &err);
    test_ok(geodec_flowmap_track_begin(t, &err), &err);
    for (int32_t i = 0; i < 11; i++)
        test_ok(geodec_flowmap_track_push(t, x.token[i], -1, x.state + i * WORLD_D, &err), &err);
    cr_assert(geodec_flowmap_track_root(t, x.token[11], -1, true));
    const int32_t n = geodec_flowmap_track_children(t, 0, 8, NULL, NULL, draft);
    cr_assert_geq(n, 1 + GEODEC_FLOW_CHOICES);
    for (int k = 0; k <= GEODEC_FLOW_CHOICES; k++) {
        double got = 0;
        for (int i = 0; i < n; i++)
            if (draft[i].token == (x.argmax[11] + k) % WORLD_VOCAB) got = draft[i].confidence;
        cr_assert(got > 0.2 * p[k] && got < 3 * p[k], "token %d next to the argmax: %g, model %g", k, got, p[k]);
    }
    /* With greedy decoding only the argmax gets votes. */
    cr_assert(geodec_flowmap_track_root(t, x.token[11], -1, false));
    const int32_t greedy = geodec_flowmap_track_children(t, 0, 8, NULL, NULL, draft);
    cr_assert_lt(greedy, n);
    cr_assert_eq(draft[0].token, x.argmax[11]);
    geodec_flowmap_track_destroy(t);
    world_free(&x);
    /* A map without them still drafts for sampled texts. */
    geodec_mem_free(map.choice);
    geodec_mem_free(map.probability);
    map.choice = NULL;
    map.probability = NULL;
    geodec_artifact *a = NULL;
    const geodec_provenance provenance = {
        .tool = "test", .command_line = "test", .model_fingerprint = "aa", .tokenizer_fingerprint = "bb"};
    const char *path = test_tmp("without.h5");
    test_ok(geodec_artifact_create(&geodec_flowmap_kind, path, &provenance, &a, &err), &err);
    test_ok(geodec_flowmap_write(&map, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    geodec_flowmap_clear(&map);
    test_ok(geodec_artifact_open(&geodec_flowmap_kind, path, &a, &err), &err);
    test_ok(geodec_flowmap_read(a, &map, &err), &err);
    cr_assert(map.choice == NULL && map.probability == NULL);
    geodec_artifact_close(a);
    geodec_flowmap_clear(&map);
}

Test(flowmap, bad_requests_are_named)
{
    geodec_err err = {0};
    geodec_flowmap_summary s;
    const char *from = world_file("requests.h5", 7, 8, 20);
    const geodec_flowmap_options good = geodec_flowmap_defaults();
    geodec_flowmap_options o = good;
    test_ok(bake_with(from, NULL, &o, 1, &s, &err), &err);
    o.dims = 18;
    cr_assert_eq(bake_with(from, NULL, &o, 1, &s, &err), GEODEC_RANGE);
    o = good;
    o.decay[0] = 1;
    cr_assert_eq(bake_with(from, NULL, &o, 1, &s, &err), GEODEC_RANGE);
    o = good;
    o.vote.neighbours = GEODEC_FLOW_NEAR_MAX;
    cr_assert_eq(bake_with(from, NULL, &o, 1, &s, &err), GEODEC_RANGE);
    o = good;
    o.state_dims = 0;
    cr_assert_eq(bake_with(from, NULL, &o, 1, &s, &err), GEODEC_RANGE);
    cr_assert_eq(bake_with(world_file("few.h5", 7, 2, 5), NULL, &good, 1, &s, &err), GEODEC_SCARCE);
    o = good;
    o.calibration = 0; /* none: the raw score is used */
    test_ok(bake_with(from, NULL, &o, 1, &s, &err), &err);
    cr_assert_eq(s.calibrated, 0);
}

Test(flowmap, memory_that_runs_out_is_an_error_and_nothing_more)
{
    geodec_err err = {0};
    const char *from = world_file("memory.h5", 7, 8, 20);
    const geodec_flowmap_options o = geodec_flowmap_defaults();
    geodec_flowmap_summary s;
    int failed = 0;
    for (int64_t k = 1; k < 4000; k += 1 + k / 8) {
        geodec_mem_fail_after(k);
        const geodec_status st = bake_with(from, NULL, &o, 1, &s, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) break;
        cr_assert_eq(st, GEODEC_NOMEM);
        failed++;
    }
    cr_assert_gt(failed, 20);
}
