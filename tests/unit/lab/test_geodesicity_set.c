/* Geodesics of the set predict the next states of worlds that move along geodesics, and of no others. */
#include "base/mem.h"
#include "base/vec_internal.h"
#include "lab/geodesicity/set.h"
#include "lab/worlds/worlds.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 10 };

Test(geodesicity_set, try)
{
    static const struct { geodec_world_set set; int n; double step, share; } all[] = {
        {GEODEC_WORLD_SPHERE, 5, 0.1, 1}, {GEODEC_WORLD_SPHERE, 5, 0.2, 1},{GEODEC_WORLD_SPHERE, 5, 0.3, 1}, {GEODEC_WORLD_SPHERE, 5, 0.3, 0}, {GEODEC_WORLD_SPHERE, 5, 0.5, 1},
        {GEODEC_WORLD_TORUS, 2, 0.3, 1}, {GEODEC_WORLD_TORUS, 2, 0.3, 0}, {GEODEC_WORLD_PRODUCT, 4, 0.3, 1}};
    for (int i = 0; i < 8; i++) {
        geodec_world_options o = geodec_world_defaults();
        geodec_err err = {0};
        geodec_world w = {0};
        o.set = all[i].set; o.n = all[i].n; o.points = 3000; o.noise = 1e-3; o.ambient = 16; o.sampling = GEODEC_WORLD_GEODESIC;
        o.step = all[i].step; o.share = all[i].share; o.text_length = LENGTH;
        geodec_linalg_init();
        test_ok(geodec_world_make(&o, &w, &err), &err);
        int64_t *offset = geodec_mem_new(w.texts + 1, sizeof *offset);
        int32_t *text = geodec_mem_new(w.texts, sizeof *text);
        for (int64_t k = 0; k <= w.texts; k++) offset[k] = k * LENGTH;
        for (int64_t k = 0; k < w.texts; k++) text[k] = (int32_t)k;
        geodec_trajectories t = {.paths = w.texts, .n = w.ambient, .offset = offset, .text = text, .x = w.x};
        geodec_geodesicity_set_options so = geodec_geodesicity_set_defaults();
        geodec_geodesicity_set s;
        so.n = o.n; so.ahead = 4; so.starts = 200;
        test_ok(geodec_geodesicity_set_run(&t, &so, NULL, NULL, &s, &err), &err);
        double truth = 0;
        if (o.share == 1) {
            int64_t rows = 0; double y[16];
            for (int64_t r = 1; r + 1 < w.points; r++) if (w.position[r] > 0 && w.sequence[r+1] == w.sequence[r]) {
                test_ok(geodec_world_geodesic(&w, r, NULL, o.step, y, NULL, &err), &err);
                truth += sqrt(geodec__gap2(16, y, w.x + (r + 1) * 16)) / s.step; rows++; }
            truth /= (double)rows;
        }
        fprintf(stderr, "set %d n %d step %g share %g: points %d broken %d truth %.4f", o.set, o.n, o.step, o.share, (int)s.points, (int)s.broken[3], truth);
        for (int p = 0; p < GEODEC_SET_PREDICTORS; p++) fprintf(stderr, " %s %.4f/%.4f", geodec_geodesicity_set_names[p], s.error[p][0].value, s.error[p][3].value);
        fprintf(stderr, "\n  gain %.4f [%.4f %.4f] m4 %.4f [%.4f %.4f] fitted %.4f [%.4f %.4f] share %.3f; planted %d: %.4f %.4f %.4f %.4f correctable %.4f [%.4f, %.4f] recovered %.3f [%.3f %.3f], residual %g radius %g\n",
          s.gain[0].value, s.gain[0].low, s.gain[0].high, s.gain[3].value, s.gain[3].low, s.gain[3].high,
          s.difference[6][0].value, s.difference[6][0].low, s.difference[6][0].high, (s.error[1][0].value - s.error[3][0].value) / (s.error[1][0].value - truth), (int)s.planted,
          s.planted_error[0][0].value,s.planted_error[1][0].value,s.planted_error[2][0].value,s.planted_error[3][0].value,
          s.correctable[0].value, s.correctable[0].low, s.correctable[0].high, s.recovered[0].value, s.recovered[0].low, s.recovered[0].high, s.residual, s.radius);
        geodec_world_clear(&w);
        geodec_mem_free(offset); geodec_mem_free(text);
    }
}
