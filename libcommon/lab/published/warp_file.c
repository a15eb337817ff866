/* The published sweeps of the warp, and their artifact. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "lab/published/warp.h"

#include <math.h>

/* Configurations of one path length. */
static geodec_status batch(const geodec_warp_published *w, const geodec_warp_published_draws *draws, int64_t steps,
                           double dl, geodec_pool *pool, const geodec_hooks *hooks, geodec_warp_published_row *row,
                           int64_t rows, geodec_warp_published_grid grid, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp_published_before *b = NULL;
    geodec_warp_published_outcome out = {0};
    GEODEC_TRY(geodec_warp_published_prepare(w, draws, steps, dl, pool, hooks, &b, err));
    for (int64_t i = 0; i < rows; i++) {
        if (row[i].grid != grid || row[i].config.dl != dl) continue;
        GEODEC_TRY(geodec_warp_published_run(w, b, &row[i].config, pool, hooks, &out, err));
        row[i].summary = out.summary;
        geodec_warp_published_clear(&out);
    }
done:
    geodec_warp_published_release(b);
    geodec_warp_published_clear(&out);
    return st;
}

static const struct {
    geodec_warp_published_variant variant;
    double alpha[4], extent[4];
} grids[] = {{GEODEC_PUBLISHED_WARP_V1, {0.4, 0.7, 0.9, 0.99}, {0.3, 0.6, 1.2, 2.4}},
             {GEODEC_PUBLISHED_WARP_V2, {0.1, 0.2, 0.3, 0.4}, {0.6, 0.9, 1.2, 1.8}}};

/* The configurations of all sweeps. */
static void all_rows(geodec_warp_published_row *row)
{
    for (int i = 0; i < 4; i++)
        *row++ = (geodec_warp_published_row){
            .grid = GEODEC_PUBLISHED_WARP_CROSS,
            .config = {.variant = i % 2 ? GEODEC_PUBLISHED_WARP_V2 : GEODEC_PUBLISHED_WARP_V1,
                       .alpha = i >= 2 ? 0 : (i ? 0.35 : 0.7),
                       .extent = 1.2,
                       .steps = 16,
                       .dl = 0.1}};
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < 32; i++)
            *row++ = (geodec_warp_published_row){.grid = g ? GEODEC_PUBLISHED_WARP_GRID2 : GEODEC_PUBLISHED_WARP_GRID1,
                                                 .config = {grids[g].variant, grids[g].alpha[i / 8],
                                                            grids[g].extent[i / 2 % 4], 16, i % 2 ? 0.1 : 0.05}};
}

geodec_status geodec_warp_published_sweep(const geodec_harness_manifold *m, const geodec_warp_published_draws *draws,
                                          const geodec_warp_published_config *one, geodec_pool *pool,
                                          const geodec_hooks *hooks, geodec_warp_published_row *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp_published *w = NULL;
    const int64_t facts[GEODEC_PUBLISHED_WARP_GRIDS] = {draws->facts, draws->facts < 20 ? draws->facts : 20,
                                                        draws->facts < 32 ? draws->facts : 32};
    GEODEC_TRY(geodec_warp_published_create(m, pool, hooks, &w, err));
    if (one) {
        *row = (geodec_warp_published_row){.grid = GEODEC_PUBLISHED_WARP_CROSS, .config = *one};
        GEODEC_TRY(batch(w, draws, one->steps, one->dl, pool, hooks, row, 1, row->grid, err));
        goto done;
    }
    all_rows(row);
    for (int g = 0; g < GEODEC_PUBLISHED_WARP_GRIDS; g++) {
        geodec_warp_published_draws d = *draws;
        d.facts = facts[g];
        for (int i = g == GEODEC_PUBLISHED_WARP_CROSS ? 1 : 0; i < 2; i++)
            GEODEC_TRY(batch(w, &d, 16, i ? 0.1 : 0.05, pool, hooks, row, GEODEC_PUBLISHED_WARP_ROWS,
                             (geodec_warp_published_grid)g, err));
    }
done:
    geodec_warp_published_destroy(w);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

typedef struct cell {
    double alpha, extent, dl, pre, improvement, spill_mean, spill_p95;
    int64_t facts, spills, nan_post, nan_spill;
    uint8_t grid, variant, diverged, pass;
} cell;
typedef struct total {
    int64_t passes, diverged;
    double best;
} total;
typedef struct report {
    int64_t rows, points, n;
    cell *cell;
    total grid[GEODEC_PUBLISHED_WARP_GRIDS];
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(cell, m)

/* clang-format off */
static const geodec_field fields[] = {
    {"/grid", GEODEC_U8, "C", 0, "1", "0 cross-model sweep and its zero-strength control, 1 the grid of v1, 2 of v2", 0, OF(grid)},
    {"/variant", GEODEC_U8, "C", 0, "1", "protocol: 1 Gaussian downdate, 2 compact log-Euclidean", 0, OF(variant)},
    {"/alpha", GEODEC_F64, "C", 0, "1", "strength; 0 is the control", 0, OF(alpha)},
    {"/extent", GEODEC_F64, "C", 0, "activation", "sigma of v1, radius of v2", 0, OF(extent)},
    {"/dl", GEODEC_F64, "C", 0, "1", "step of the paths", 0, OF(dl)},
    {"/facts", GEODEC_I64, "C", 0, "1", "facts", 0, OF(facts)},
    {"/pre", GEODEC_F64, "C", 0, "1", "mean error before", 0, OF(pre)},
    {"/improvement", GEODEC_F64, "C", 0, "%", "1 - mean error after / before, facts with a finite error", 0, OF(improvement)},
    {"/spill_mean", GEODEC_F64, "C", 0, "%", "mean spillover, finite ones", 0, OF(spill_mean)},
    {"/spill_p95", GEODEC_F64, "C", 0, "%", "its 95th percentile, finite ones", 0, OF(spill_p95)},
    {"/spills", GEODEC_I64, "C", 0, "1", "holdouts that count", 0, OF(spills)},
    {"/nan_post", GEODEC_I64, "C", 0, "1", "facts without a finite error: above 0 the harness prints NaN", 0, OF(nan_post)},
    {"/nan_spill", GEODEC_I64, "C", 0, "1", "holdouts without a finite error: above 0 it prints NaN spillover", 0, OF(nan_spill)},
    {"/diverged", GEODEC_U8, "C", 0, "1", "1: one of the two is above 0", 0, OF(diverged)},
    {"/pass", GEODEC_U8, "C", 0, "1", "1: error halved and mean spillover below 5 %, as the harness decides", 0, OF(pass)},
};
/* clang-format on */

static const geodec_attr attrs[] = {
    {"points", GEODEC_ATTR_I64, 0, "samples of the manifold", IN(points)},
    {"n", GEODEC_ATTR_I64, 0, "dimension", IN(n)},
    {"cross_passes", GEODEC_ATTR_I64, 0, "passes of the cross-model sweep, of 2", IN(grid[0].passes)},
    {"grid1_passes", GEODEC_ATTR_I64, 0, "passes of the grid of v1, of 32", IN(grid[1].passes)},
    {"grid1_best", GEODEC_ATTR_F64, 0, "its largest improvement in percent among cells that do not diverge",
     IN(grid[1].best)},
    {"grid1_diverged", GEODEC_ATTR_I64, 0, "its cells that diverge", IN(grid[1].diverged)},
    {"grid2_passes", GEODEC_ATTR_I64, 0, "passes of the grid of v2, of 32", IN(grid[2].passes)},
    {"grid2_best", GEODEC_ATTR_F64, 0, "its largest improvement in percent", IN(grid[2].best)},
    {"grid2_diverged", GEODEC_ATTR_I64, 0, "its cells that diverge", IN(grid[2].diverged)},
};

static const geodec_extent extents[] = {{"C", IN(rows)}};

const geodec_kind geodec_warp_published_kind = {
    GEODEC_ABOUT("warp-ref", 1, 0, "geodec-published warp",
                 "the published curvature warp, both protocols, with the control of strength 0"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(cell), offsetof(report, cell), false},
};

static void add_up(const geodec_warp_published_row *row, int64_t rows, geodec_warp_published_grid grid, total *out)
{
    bool any = false;
    for (int64_t i = 0; i < rows; i++) {
        const geodec_warp_published_summary *s = &row[i].summary;
        if (row[i].grid != grid) continue;
        out->passes += s->target_halved && s->spill_small ? 1 : 0;
        out->diverged += s->nan_post + s->nan_spill > 0 ? 1 : 0;
        if (s->nan_post > 0 || (any && !(100 * s->improvement > out->best))) continue;
        out->best = 100 * s->improvement;
        any = true;
    }
}

geodec_status geodec_warp_published_write(const geodec_warp_published_row *row, int64_t rows, int64_t samples,
                                          int64_t n, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    report r = {.rows = rows, .points = samples, .n = n};
    GEODEC_NEW(r.cell, rows);
    for (int64_t i = 0; i < rows; i++) {
        const geodec_warp_published_config *c = &row[i].config;
        const geodec_warp_published_summary *s = &row[i].summary;
        r.cell[i] = (cell){.alpha = c->alpha,
                           .extent = c->extent,
                           .dl = c->dl,
                           .pre = s->pre_mean,
                           .improvement = 100 * s->improvement_finite,
                           .spill_mean = 100 * s->spill_mean_finite,
                           .spill_p95 = 100 * s->spill_p95_finite,
                           .facts = s->facts,
                           .spills = s->spills,
                           .nan_post = s->nan_post,
                           .nan_spill = s->nan_spill,
                           .grid = (uint8_t)row[i].grid,
                           .variant = c->variant == GEODEC_PUBLISHED_WARP_V1 ? 1 : 2,
                           .diverged = s->nan_post + s->nan_spill > 0,
                           .pass = s->target_halved && s->spill_small};
    }
    for (int g = 0; g < GEODEC_PUBLISHED_WARP_GRIDS; g++) add_up(row, rows, (geodec_warp_published_grid)g, &r.grid[g]);
    GEODEC_TRY(geodec_artifact_save(a, &r, err));
done:
    geodec_mem_free(r.cell);
    return st;
}
