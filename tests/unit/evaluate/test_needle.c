/* Retrieval by depth: the same trials for the same seed, the needle helps, and refusals. */
#include "base/mem.h"
#include "evaluate/needle.h"
#include "io/file.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

static geodec_model *opened(const char *path, const char *text, geodec_file_map *map)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    test_ok(geodec_file_map_open(text, map, &err), &err);
    return m;
}

/* Twice the same trials; the figures are in order and their mean is the whole. */
static geodec_needle_result run(const geodec_model *m, const geodec_file_map *map, const geodec_needle_options *o)
{
    geodec_err err = {0};
    const geodec_scorer_evaluation e = {.model = m};
    geodec_needle_result r, again;
    test_ok(geodec_needle_run(&e, o, (const char *)map->data, map->size, NULL, &r, &err), &err);
    test_ok(geodec_needle_run(&e, o, (const char *)map->data, map->size, NULL, &again, &err), &err);
    cr_assert_eq(memcmp(r.depth, again.depth, 3 * sizeof *r.depth), 0);
    cr_assert(r.depth[0].depth == 0 && r.depth[1].depth == 0.5 && r.depth[2].depth == 1);
    double mean = 0;
    for (int d = 0; d < 3; d++) {
        const geodec_needle_depth *y = &r.depth[d];
        cr_assert(y->hits.low <= y->hits.value && y->hits.value <= y->hits.high && y->hits.high <= 1);
        mean += y->hits.value / 3;
    }
    cr_assert_float_eq(r.hits.value, mean, 1e-12);
    /* without the needle, another depth is only another sample */
    cr_assert(r.control.value > 0.05 && r.control.value < 0.9, "%g", r.control.value);
    geodec_needle_free(&again);
    return r;
}

Test(needle, same_trials_for_the_same_seed_and_refusals)
{
    geodec_file_map map = {0};
    geodec_model *m = opened(test_golden("model/geodec-stories-q8_0.gguf"), test_golden("text/stories.txt"), &map);
    const geodec_scorer_evaluation e = {.model = m};
    geodec_needle_options o = geodec_needle_defaults();
    geodec_err err = {0};
    o.window = 96;
    o.depths = 3;
    o.trials = 12;
    geodec_needle_result r = run(m, &map, &o);
    geodec_needle_free(&r);
    o.needle = 40;
    cr_assert_eq(geodec_needle_run(&e, &o, (const char *)map.data, map.size, NULL, &r, &err), GEODEC_RANGE);
    geodec_err_clear(&err);
    o = geodec_needle_defaults();
    cr_assert_eq(geodec_needle_run(&e, &o, "once", 4, NULL, &r, &err), GEODEC_SCARCE);
    geodec_err_clear(&err);
    geodec_file_map_close(&map);
    geodec_model_close(m);
}

Test(needle, a_trained_model_finds_what_stood_there)
{
    const char *path = test_shared("models/stories260K-f32.gguf"), *text = test_shared("text/tinystories-a.txt");
    geodec_file_map map = {0};
    geodec_model *m = opened(path, text, &map);
    geodec_needle_options o = geodec_needle_defaults();
    o.window = 128;
    o.depths = 3;
    o.trials = 60;
    geodec_needle_result r = run(m, &map, &o);
    /* a little: such a small model copies hardly anything */
    cr_assert_gt(r.hits.value, r.control.value);
    geodec_needle_free(&r);
    geodec_file_map_close(&map);
    geodec_model_close(m);
}
