/* Retrieval by depth: the same trials for the same seed, what stood there before helps, and what is refused. */
#include "base/mem.h"
#include "evaluate/needle.h"
#include "io/file.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

Test(needle, a_trained_model_finds_what_stood_there)
{
    const char *path = test_shared("models/stories260K-f32.gguf");
    if (!path) return;
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    path = test_shared("text/tinystories-a.txt");
    if (!path) return;
    geodec_map map = {0};
    test_ok(geodec_map_open(path, &map, &err), &err);
    const geodec_evaluation e = {.model = m};
    geodec_needle_options o = geodec_needle_defaults();
    o.window = 128;
    o.depths = 3;
    o.trials = 60;
    geodec_needle_result r, again;
    test_ok(geodec_needle_run(&e, &o, (const char *)map.data, map.size, NULL, &r, &err), &err);
    test_ok(geodec_needle_run(&e, &o, (const char *)map.data, map.size, NULL, &again, &err), &err);
    cr_assert_eq(memcmp(r.depth, again.depth, 3 * sizeof *r.depth), 0);
    cr_assert(r.depth[0].depth == 0 && r.depth[1].depth == 0.5 && r.depth[2].depth == 1);
    double mean = 0;
    for (int d = 0; d < 3; d++) {
        const geodec_needle_depth *y = &r.depth[d];
        cr_assert(y->hits.low <= y->hits.value && y->hits.value <= y->hits.high && y->hits.high <= 1);
        mean += y->hits.value / 3;
    }
    cr_assert_float_eq(r.hits.value, mean, 1e-12);
    /* a little: such a small model copies hardly anything */
    cr_assert_gt(r.hits.value, r.control.value);
    /* without the needle depth means nothing but another draw */
    cr_assert(r.control.value > 0.05 && r.control.value < 0.9);
    geodec_needle_free(&r);
    geodec_needle_free(&again);

    o.needle = 40;
    cr_assert_eq(geodec_needle_run(&e, &o, (const char *)map.data, map.size, NULL, &r, &err), GEODEC_RANGE);
    geodec_err_clear(&err);
    o = geodec_needle_defaults();
    cr_assert_eq(geodec_needle_run(&e, &o, "once", 4, NULL, &r, &err), GEODEC_SCARCE);
    geodec_err_clear(&err);
    geodec_map_close(&map);
    geodec_model_close(m);
}
