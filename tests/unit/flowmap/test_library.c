/* The library that grows with a flow map: its ring against a plain list, its file against cuts, flips and other
 * models, and what it learns. */
#include "base/mem.h"
#include "base/rng.h"
#include "flowmap/flow_world.h"
#include "flowmap/flowmap_internal.h"
#include "flowmap/library.h"
#include "flowmap/track.h"
#include "io/file.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS = 40, LENGTH = 60, SMALL = 70000 };
/* Layout of the file: flowmap/library.h. */
enum { HEAD = 256 };
static int64_t slot_bytes(int64_t dims) { return (48 + dims + 7) / 8 * 8; }
static const char *const MAP = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";

static geodec_flowmap small_map(void)
{
    geodec_err err = {0};
    geodec_artifact *in = NULL;
    geodec_activations v;
    geodec_flowmap map;
    const geodec_flowmap_options o = geodec_flowmap_defaults();
    geodec_io_init();
    test_ok(geodec_artifact_open(&geodec_activations_kind, world_file("world.h5", 5, TEXTS, LENGTH), &in, &err), &err);
    test_ok(geodec_activations_view(in, &v, &err), &err);
    test_ok(geodec_flowmap_bake(&v, &o, &map, NULL, NULL, NULL, &err), &err);
    geodec_artifact_close(in);
    return map;
}

static geodec_flowmap_library_record random_record(const geodec_flowmap *map, geodec_rng *r)
{
    geodec_flowmap_library_record x = {.token = (int32_t)geodec_rng_below(r, 4),
                                       .label = (int32_t)geodec_rng_below(r, WORLD_VOCAB),
                                       .text = (int32_t)geodec_rng_below(r, WORLD_VOCAB + 1) - 1,
                                       .next = GEODEC_GROWN_NODE(geodec_rng_below(r, (uint64_t)map->nodes))};
    for (int64_t c = 0; c < map->dims; c++) x.key[c] = (int8_t)((int)geodec_rng_below(r, 4) * 20 - 30);
    for (int i = 0; i < GEODEC_GROWN_CONTEXT; i++)
        x.context[i] = geodec_flowmap_library_mark((int32_t)geodec_rng_below(r, 9));
    return x;
}

static bool same(const geodec_flowmap_library_record *a, const geodec_flowmap_library_record *b, int64_t dims)
{
    return a->token == b->token && a->label == b->label && a->text == b->text && a->next == b->next &&
           memcmp(a->context, b->context, sizeof a->context) == 0 && memcmp(a->key, b->key, (size_t)dims) == 0;
}

static geodec_flowmap_library *opened(const geodec_flowmap *map, const char *path)
{
    geodec_err err = {0};
    geodec_flowmap_library *g = NULL;
    test_ok(geodec_flowmap_library_open(map, MAP, path, SMALL, NULL, &g, &err), &err);
    return g;
}

static char *bytes_of(const char *path, size_t *n)
{
    geodec_err err = {0};
    char *text = NULL;
    test_ok(geodec_file_read(path, 1 << 20, &text, n, &err), &err);
    return text;
}

static void write_file(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

Test(flowgrown, ring_and_search_are_those_of_a_plain_list)
{
    geodec_err err = {0};
    geodec_flowmap map = small_map();
    geodec_flowmap_library *g = NULL;
    geodec_rng r = geodec_rng_stream(4, 0);
    cr_assert_eq(geodec_flowmap_library_create(&map, 1000, &g, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_flowmap_library_create(&map, GEODEC_GROWN_BYTES_MAX + 1, &g, &err), GEODEC_RANGE);
    test_ok(geodec_flowmap_library_create(&map, SMALL, &g, &err), &err);
    const int64_t room = geodec_flowmap_library_summary(g).room, total = 3 * room + 17;
    cr_assert_gt(room, 300);
    geodec_flowmap_library_record *all = geodec_mem_new(total, sizeof *all);
    for (int64_t i = 0; i < total; i++) {
        all[i] = random_record(&map, &r);
        cr_assert_eq(geodec_flowmap_library_end(g), i);
        test_ok(geodec_flowmap_library_add(g, &all[i], &err), &err);
        cr_assert_eq(geodec_flowmap_library_summary(g).records, i < room ? i + 1 : room);
        if (i % 37 != 0) continue;
        const int64_t gone = i - room;
        cr_assert_null(geodec_flowmap_library_get(g, gone));
        cr_assert_null(geodec_flowmap_library_get(g, i + 1));
        cr_assert(
            same(geodec_flowmap_library_get(g, gone < 0 ? 0 : gone + 1), &all[gone < 0 ? 0 : gone + 1], map.dims));
        /* the 5 nearest of the newest records of a token, older than `before` */
        const geodec_flowmap_library_record q = random_record(&map, &r);
        const int64_t before = i - (int64_t)geodec_rng_below(&r, 20);
        geodec_flowmap_library_hit hit[5], best[5];
        int32_t n = 0, seen = 0;
        for (int64_t j = before - 1; j >= 0 && j > gone && seen < GEODEC_GROWN_SCAN; j--) {
            if (all[j].token != q.token) continue;
            int32_t d = 0;
            seen++;
            for (int64_t c = 0; c < map.dims; c++) d += (all[j].key[c] - q.key[c]) * (all[j].key[c] - q.key[c]);
            if (n == 5 && d >= best[4].distance) continue;
            int32_t at = n < 5 ? n++ : 4;
            for (; at > 0 && best[at - 1].distance > d; at--) best[at] = best[at - 1];
            best[at] = (geodec_flowmap_library_hit){d, j};
        }
        cr_assert_eq(geodec_flowmap_library_nearest(g, q.token, q.key, before, 5, hit), n);
        for (int32_t k = 0; k < n; k++)
            cr_assert(hit[k].serial == best[k].serial && hit[k].distance == best[k].distance, "record %d", (int)i);
    }
    cr_assert_leq(geodec_flowmap_library_summary(g).bytes, SMALL);
    geodec_flowmap_library_record bad = all[0];
    bad.label = WORLD_VOCAB;
    cr_assert_eq(geodec_flowmap_library_add(g, &bad, &err), GEODEC_RANGE);
    bad = all[0];
    bad.next = GEODEC_GROWN_NODE(map.nodes);
    cr_assert_eq(geodec_flowmap_library_add(g, &bad, &err), GEODEC_RANGE);
    cr_assert_eq(
        geodec_flowmap_library_nearest(g, WORLD_VOCAB, bad.key, total, 5, (geodec_flowmap_library_hit[5]){{0}}), 0);
    geodec_mem_free(all);
    geodec_flowmap_library_close(g);
    geodec_flowmap_clear(&map);
}

Test(flowgrown, the_file_holds_what_memory_held_and_goes_on_where_it_was)
{
    geodec_err err = {0};
    geodec_flowmap map = small_map();
    const char *once = test_tmp("once.grown"), *often = test_tmp("often.grown");
    geodec_flowmap_library *a = opened(&map, once), *b = NULL;
    const int64_t room = geodec_flowmap_library_summary(a).room, total = 2 * room + 5;
    geodec_rng r = geodec_rng_stream(9, 0);
    for (int64_t i = 0; i < total; i++) {
        const geodec_flowmap_library_record x = random_record(&map, &r);
        if (i % 97 == 0) {
            geodec_flowmap_library_close(b);
            b = opened(&map, often);
            cr_assert_eq(geodec_flowmap_library_end(b), i);
            cr_assert_eq(geodec_flowmap_library_summary(b).dropped, 0);
        }
        test_ok(geodec_flowmap_library_add(a, &x, &err), &err);
        test_ok(geodec_flowmap_library_add(b, &x, &err), &err);
    }
    cr_assert(geodec_flowmap_library_summary(a).writing && geodec_flowmap_library_summary(b).writing);
    geodec_flowmap_library_close(b);
    b = opened(&map, often);
    for (int64_t s = total - room; s < total; s++) {
        cr_assert(same(geodec_flowmap_library_get(a, s), geodec_flowmap_library_get(b, s), map.dims));
        geodec_flowmap_library_hit x[8], y[8];
        const geodec_flowmap_library_record *q = geodec_flowmap_library_get(a, s);
        const int32_t n = geodec_flowmap_library_nearest(a, q->token, q->key, total, 8, x);
        cr_assert_eq(geodec_flowmap_library_nearest(b, q->token, q->key, total, 8, y), n);
        for (int32_t k = 0; k < n; k++) cr_assert_eq(x[k].serial, y[k].serial);
    }
    geodec_flowmap_library_close(a);
    geodec_flowmap_library_close(b);
    size_t n_once, n_often;
    char *x = bytes_of(once, &n_once), *y = bytes_of(often, &n_often);
    cr_assert_eq(n_once, n_often);
    cr_assert_eq(memcmp(x, y, n_once), 0);
    cr_assert_leq(n_once, SMALL);
    geodec_mem_free(x);
    geodec_mem_free(y);
    geodec_flowmap_clear(&map);
}

static void count_warning(void *ctx, geodec_log_level level, const char *line)
{
    (void)line;
    cr_assert_eq(level, GEODEC_LOG_WARN);
    ++*(int *)ctx;
}

Test(flowgrown, a_cut_or_torn_file_loses_the_records_that_were_hit_and_a_damaged_head_is_refused)
{
    geodec_err err = {0};
    geodec_flowmap map = small_map();
    const char *path = test_tmp("torn.grown");
    geodec_flowmap_library *g = opened(&map, path);
    const int64_t slot = slot_bytes(map.dims), records = 9;
    geodec_rng r = geodec_rng_stream(2, 0);
    for (int64_t i = 0; i < records; i++) {
        const geodec_flowmap_library_record x = random_record(&map, &r);
        test_ok(geodec_flowmap_library_add(g, &x, &err), &err);
    }
    geodec_flowmap_library_close(g);
    size_t n;
    char *good = bytes_of(path, &n);
    cr_assert_eq(n, (size_t)(HEAD + records * slot));
    for (size_t cut = 1; cut <= n; cut++) {
        int warnings = 0;
        const geodec_hooks hooks = {.ctx = &warnings, .log = count_warning};
        write_file(path, good, cut);
        const geodec_status st = geodec_flowmap_library_open(&map, MAP, path, SMALL, &hooks, &g, &err);
        if (cut < HEAD) {
            cr_assert_eq(st, GEODEC_FORMAT);
            continue;
        }
        test_ok(st, &err);
        const int64_t left = (int64_t)(cut - HEAD) / slot, over = (int64_t)(cut - HEAD) % slot;
        cr_assert_eq(geodec_flowmap_library_summary(g).records, left);
        cr_assert_eq(geodec_flowmap_library_end(g), left);
        cr_assert_eq(warnings, over > 0);
        geodec_flowmap_library_close(g);
    }
    for (size_t at = 0; at < n; at++) {
        char *bad = geodec_mem_new((int64_t)n, 1);
        memcpy(bad, good, n);
        bad[at] ^= (char)(1 << at % 8);
        write_file(path, bad, n);
        const geodec_status st = geodec_flowmap_library_open(&map, MAP, path, SMALL, NULL, &g, &err);
        if (at < HEAD) {
            cr_assert_eq(st, GEODEC_FORMAT, "byte %zu: %s", at, geodec_status_name(st));
        } else {
            test_ok(st, &err);
            const bool padding = (int64_t)(at - HEAD) % slot >= 48 + map.dims;
            cr_assert_eq(geodec_flowmap_library_summary(g).records, records - !padding);
            geodec_flowmap_library_close(g);
        }
        geodec_mem_free(bad);
    }
    write_file(path, good, n);
    FILE *f = fopen(path, "ab");
    cr_assert_not_null(f);
    for (int i = 0; i < SMALL; i++) cr_assert_neq(fputc(i, f), EOF);
    (void)fclose(f);
    cr_assert_eq(geodec_flowmap_library_open(&map, MAP, path, SMALL, NULL, &g, &err), GEODEC_FORMAT);
    geodec_mem_free(good);
    geodec_flowmap_clear(&map);
}

Test(flowgrown, another_model_map_or_bound_and_a_second_writer_are_refused)
{
    geodec_err err = {0};
    geodec_flowmap map = small_map(), other = map;
    const char *path = test_tmp("whose.grown");
    geodec_flowmap_library *g = opened(&map, path), *second = NULL;
    cr_assert_eq(geodec_flowmap_library_open(&map, MAP, path, SMALL, NULL, &second, &err), GEODEC_EXISTS);
    geodec_flowmap_library_close(g);
    other.model_fingerprint[0] ^= 1;
    cr_assert_eq(geodec_flowmap_library_open(&other, MAP, path, SMALL, NULL, &g, &err), GEODEC_CHECKSUM);
    other = map;
    other.tokenizer_fingerprint[0] ^= 1;
    cr_assert_eq(geodec_flowmap_library_open(&other, MAP, path, SMALL, NULL, &g, &err), GEODEC_CHECKSUM);
    cr_assert_eq(geodec_flowmap_library_open(&map, "dd", path, SMALL, NULL, &g, &err), GEODEC_CHECKSUM);
    cr_assert_eq(geodec_flowmap_library_open(&map, MAP, path, SMALL + 1, NULL, &g, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_flowmap_library_open(&map, MAP, test_tmpdir(), 0, NULL, &g, &err), GEODEC_IO);
    cr_assert_eq(geodec_flowmap_library_open(&map, MAP, "/dev/null", 0, NULL, &g, &err), GEODEC_IO);
    cr_assert_eq(geodec_flowmap_library_open(&map, MAP, "/nowhere/at/all", 0, NULL, &g, &err), GEODEC_NOTFOUND);
    write_file(path, "", 0); /* an empty file is a new library */
    g = opened(&map, path);
    const int64_t room = geodec_flowmap_library_summary(g).room;
    geodec_flowmap_library_close(g);
    g = NULL;
    test_ok(geodec_flowmap_library_open(&map, MAP, path, 0, NULL, &g, &err), &err); /* the file's own bound */
    cr_assert_eq(geodec_flowmap_library_summary(g).room, room);
    cr_assert(room > 0 && HEAD + room * slot_bytes(map.dims) <= SMALL);
    geodec_flowmap_library_close(g);
    geodec_flowmap_clear(&map);
}

/* Texts of another world than the map's: its sectors are named the other way round. Returns the share of first drafts
 * that were right. n drafts are asked for in every `every`-th row. */
static double follow(const geodec_flowmap *map, geodec_flowmap_library *g, int64_t texts, int32_t n, int32_t every)
{
    geodec_err err = {0};
    geodec_flowmap_track *t = NULL;
    int64_t asked = 0, right = 0;
    test_ok(geodec_flowmap_track_create(map, &t, &err), &err);
    if (g) geodec_flowmap_track_grow(t, g);
    for (int64_t i = 0; i < texts; i++) {
        world_text x = world_write(71, (uint64_t)i, LENGTH, 0);
        test_ok(geodec_flowmap_track_begin(t, &err), &err);
        for (int32_t p = 0; p < x.n; p++) {
            geodec_flow_draft d[8];
            const int32_t token = WORLD_VOCAB - 1 - x.token[p], argmax = WORLD_VOCAB - 1 - x.argmax[p];
            if (p > 2 && p % every == 0) {
                asked++;
                right += world_propose(t, token, n, -1, false, NULL, NULL, d) > 0 && d[0].token == argmax;
            }
            test_ok(geodec_flowmap_track_push(t, token, p > 2 ? argmax : -1, x.state + p * WORLD_D, &err), &err);
        }
        world_free(&x);
    }
    test_ok(geodec_flowmap_track_end(t, &err), &err);
    geodec_flowmap_track_destroy(t);
    return asked ? (double)right / (double)asked : 0;
}

Test(flowgrown, what_was_missed_once_is_known_the_next_time)
{
    geodec_err err = {0};
    geodec_flowmap map = small_map();
    geodec_flowmap_library *g = NULL;
    map.vote.own = 0; /* the current text is not used here */
    test_ok(geodec_flowmap_library_create(&map, 1 << 20, &g, &err), &err);
    const double alone = follow(&map, NULL, 10, 1, 1), first = follow(&map, g, 10, 1, 1);
    const int64_t added = geodec_flowmap_library_end(g);
    const double again = follow(&map, g, 10, 1, 1);
    cr_assert_gt(added, 100);
    cr_assert_lt(alone, 0.6);
    cr_assert_gt(first, alone + 0.1, "alone %.3f, first %.3f", alone, first);
    cr_assert_gt(again, 0.98, "again %.3f", again);
    cr_assert_lt(geodec_flowmap_library_end(g) - added, added / 5, "what is known is not added again");
    /* a record leads on along its text */
    int64_t linked = 0;
    for (int64_t s = 0; s + 1 < added; s++) {
        const geodec_flowmap_library_record *r = geodec_flowmap_library_get(g, s),
                                            *next = geodec_flowmap_library_get(g, r->next);
        if (r->next >= 0 && next) cr_assert_eq(next->token, r->text);
        if (r->next < -1) cr_assert_eq(map.scan->hop[GEODEC_GROWN_NODE(r->next)].token, r->text);
        linked += r->next != GEODEC_GROWN_NOWHERE;
    }
    cr_assert_gt(linked, added * 9 / 10);
    geodec_flowmap_library_close(g);
    geodec_flowmap_clear(&map);
}

Test(flowgrown, what_is_recorded_does_not_depend_on_what_was_drafted)
{
    geodec_flowmap map = small_map();
    const struct {
        int32_t n, every;
    } how[] = {{1, 1}, {8, 1}, {8, 3}, {1, 1 << 20}};
    char *want = NULL;
    size_t n_want = 0;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        const char *path = test_tmp("how.grown");
        (void)unlink(path);
        geodec_flowmap_library *g = opened(&map, path);
        (void)follow(&map, g, 12, how[i].n, how[i].every);
        geodec_flowmap_library_close(g);
        size_t n;
        char *got = bytes_of(path, &n);
        if (i == 0) {
            want = got;
            n_want = n;
            cr_assert_gt(n, 2000);
            continue;
        }
        cr_assert(n == n_want && memcmp(got, want, n) == 0, "drafting %zu", i);
        geodec_mem_free(got);
    }
    geodec_mem_free(want);
    geodec_flowmap_clear(&map);
}
