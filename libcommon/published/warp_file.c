/* The published sweeps of the warp, and their artifact. */
#include "base/mem.h"
#include "published/warp.h"

#include <math.h>

/* Configurations of one path length. */
static geodec_status batch(const geodec_published_warp *w, const geodec_published_warp_draws *draws, int64_t steps,
                           double dl, geodec_pool *pool, const geodec_hooks *hooks, geodec_published_warp_row *row,
                           int64_t rows, geodec_published_warp_grid grid, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_published_warp_before *b = NULL;
    geodec_published_warp_outcome out = {0};
    GEODEC_TRY(geodec_published_warp_prepare(w, draws, steps, dl, pool, hooks, &b, err));
    for (int64_t i = 0; i < rows; i++) {
        if (row[i].grid != grid || row[i].config.dl != dl) continue;
        GEODEC_TRY(geodec_published_warp_run(w, b, &row[i].config, pool, hooks, &out, err));
        row[i].summary = out.summary;
        geodec_published_warp_clear(&out);
    }
done:
    geodec_published_warp_release(b);
    geodec_published_warp_clear(&out);
    return st;
}

static void grid_rows(geodec_published_warp_row *row, geodec_published_warp_grid grid, const double *alpha,
                      const double *extent)
{
    const double dl[2] = {0.05, 0.1};
    for (int i = 0; i < 32; i++)
        row[i] = (geodec_published_warp_row){.grid = grid,
                                             .config = {.variant = grid == GEODEC_PUBLISHED_WARP_GRID1
                                                                       ? GEODEC_PUBLISHED_WARP_V1
                                                                       : GEODEC_PUBLISHED_WARP_V2,
                                                        .alpha = alpha[i / 8],
                                                        .extent = extent[i / 2 % 4],
                                                        .steps = 16,
                                                        .dl = dl[i % 2]}};
}

geodec_status geodec_published_warp_sweep(const geodec_published_manifold *m, const geodec_published_warp_draws *draws,
                                          geodec_pool *pool, const geodec_hooks *hooks, geodec_published_warp_row *row,
                                          geodec_err *err)
{
    static const double alpha1[4] = {0.4, 0.7, 0.9, 0.99}, sigma[4] = {0.3, 0.6, 1.2, 2.4},
                        alpha2[4] = {0.1, 0.2, 0.3, 0.4}, radius[4] = {0.6, 0.9, 1.2, 1.8};
    geodec_status st = GEODEC_OK;
    geodec_published_warp *w = NULL;
    const int64_t facts[GEODEC_PUBLISHED_WARP_GRIDS] = {draws->facts, draws->facts < 20 ? draws->facts : 20,
                                                        draws->facts < 32 ? draws->facts : 32};
    for (int i = 0; i < 4; i++)
        row[i] = (geodec_published_warp_row){
            .grid = GEODEC_PUBLISHED_WARP_CROSS,
            .config = {.variant = i % 2 ? GEODEC_PUBLISHED_WARP_V2 : GEODEC_PUBLISHED_WARP_V1,
                       .alpha = i >= 2 ? 0 : (i ? 0.35 : 0.7),
                       .extent = 1.2,
                       .steps = 16,
                       .dl = 0.1}};
    grid_rows(row + 4, GEODEC_PUBLISHED_WARP_GRID1, alpha1, sigma);
    grid_rows(row + 36, GEODEC_PUBLISHED_WARP_GRID2, alpha2, radius);
    GEODEC_TRY(geodec_published_warp_create(m, pool, hooks, &w, err));
    for (int g = 0; g < GEODEC_PUBLISHED_WARP_GRIDS; g++) {
        geodec_published_warp_draws d = *draws;
        d.facts = facts[g];
        for (int i = g == GEODEC_PUBLISHED_WARP_CROSS ? 1 : 0; i < 2; i++)
            GEODEC_TRY(batch(w, &d, 16, i ? 0.1 : 0.05, pool, hooks, row, GEODEC_PUBLISHED_WARP_ROWS,
                             (geodec_published_warp_grid)g, err));
    }
done:
    geodec_published_warp_destroy(w);
    return st;
}

geodec_status geodec_published_warp_one(const geodec_published_manifold *m, const geodec_published_warp_draws *draws,
                                        const geodec_published_warp_config *c, geodec_pool *pool,
                                        const geodec_hooks *hooks, geodec_published_warp_row *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_published_warp *w = NULL;
    *row = (geodec_published_warp_row){.grid = GEODEC_PUBLISHED_WARP_CROSS, .config = *c};
    GEODEC_TRY(geodec_published_warp_create(m, pool, hooks, &w, err));
    GEODEC_TRY(batch(w, draws, c->steps, c->dl, pool, hooks, row, 1, row->grid, err));
done:
    geodec_published_warp_destroy(w);
    return st;
}

/* ---- the artifact -------------------------------------------------------------------------------------------------
 */

/* clang-format off */
static const geodec_field fields[] = {
    {"/grid", GEODEC_U8, "C", 0, "1", "0 cross-model sweep and its zero-strength control, 1 the grid of v1, 2 of v2", 0},
    {"/variant", GEODEC_U8, "C", 0, "1", "protocol: 1 Gaussian downdate, 2 compact log-Euclidean", 0},
    {"/alpha", GEODEC_F64, "C", 0, "1", "strength; 0 is the control", 0},
    {"/extent", GEODEC_F64, "C", 0, "activation", "sigma of v1, radius of v2", 0},
    {"/dl", GEODEC_F64, "C", 0, "1", "step of the paths", 0},
    {"/facts", GEODEC_I64, "C", 0, "1", "facts", 0},
    {"/pre", GEODEC_F64, "C", 0, "1", "mean error before", 0},
    {"/improvement", GEODEC_F64, "C", 0, "%", "1 - mean error after / before, facts with a finite error", 0},
    {"/spill_mean", GEODEC_F64, "C", 0, "%", "mean spillover, finite ones", 0},
    {"/spill_p95", GEODEC_F64, "C", 0, "%", "its 95th percentile, finite ones", 0},
    {"/spills", GEODEC_I64, "C", 0, "1", "holdouts that count", 0},
    {"/nan_post", GEODEC_I64, "C", 0, "1", "facts without a finite error: above 0 the harness prints NaN", 0},
    {"/nan_spill", GEODEC_I64, "C", 0, "1", "holdouts without a finite error: above 0 it prints NaN spillover", 0},
    {"/diverged", GEODEC_U8, "C", 0, "1", "1: one of the two is above 0", 0},
    {"/pass", GEODEC_U8, "C", 0, "1", "1: error halved and mean spillover below 5 %, as the harness decides", 0},
};
/* clang-format on */

static const geodec_attr attrs[] = {
    {"points", GEODEC_ATTR_I64, 0, "samples of the manifold"},
    {"n", GEODEC_ATTR_I64, 0, "dimension"},
    {"cross_passes", GEODEC_ATTR_I64, 0, "passes of the cross-model sweep, of 2"},
    {"grid1_passes", GEODEC_ATTR_I64, 0, "passes of the grid of v1, of 32"},
    {"grid1_best", GEODEC_ATTR_F64, 0, "its largest improvement in percent among cells that do not diverge"},
    {"grid1_diverged", GEODEC_ATTR_I64, 0, "its cells that diverge"},
    {"grid2_passes", GEODEC_ATTR_I64, 0, "passes of the grid of v2, of 32"},
    {"grid2_best", GEODEC_ATTR_F64, 0, "its largest improvement in percent"},
    {"grid2_diverged", GEODEC_ATTR_I64, 0, "its cells that diverge"},
};

const geodec_kind geodec_kind_warp_ref = {
    .name = "warp-ref",
    .major = 1,
    .minor = 0,
    .tool = "geodec-warp --mode ref",
    .purpose = "the published curvature warp, both protocols, with the control of strength 0",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

static void totals(const geodec_published_warp_row *row, int64_t rows, geodec_published_warp_grid grid, int64_t *passes,
                   double *best, int64_t *diverged)
{
    bool any = false;
    *passes = *diverged = 0;
    *best = 0;
    for (int64_t i = 0; i < rows; i++) {
        const geodec_published_warp_summary *s = &row[i].summary;
        if (row[i].grid != grid) continue;
        *passes += s->target_halved && s->spill_small ? 1 : 0;
        *diverged += s->nan_post + s->nan_spill > 0 ? 1 : 0;
        if (s->nan_post > 0 || (any && !(100 * s->improvement > *best))) continue;
        *best = 100 * s->improvement;
        any = true;
    }
}

geodec_status geodec_published_warp_write(const geodec_published_warp_row *row, int64_t rows, int64_t samples,
                                          int64_t n, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { NUMBERS = 7, COUNTS = 4, BYTES = 4 };
    static const char *const number_names[NUMBERS] = {"/alpha",       "/extent",     "/dl",       "/pre",
                                                      "/improvement", "/spill_mean", "/spill_p95"};
    static const char *const count_names[COUNTS] = {"/facts", "/spills", "/nan_post", "/nan_spill"};
    static const char *const byte_names[BYTES] = {"/grid", "/variant", "/diverged", "/pass"};
    static const char *const grid_names[2][3] = {{"grid1_passes", "grid1_best", "grid1_diverged"},
                                                 {"grid2_passes", "grid2_best", "grid2_diverged"}};
    double *number = NULL, best;
    int64_t *count = NULL, passes, diverged;
    uint8_t *byte = NULL;
    GEODEC_NEW(number, NUMBERS * rows);
    GEODEC_NEW(count, COUNTS * rows);
    GEODEC_NEW(byte, BYTES * rows);
    for (int64_t i = 0; i < rows; i++) {
        const geodec_published_warp_config *c = &row[i].config;
        const geodec_published_warp_summary *s = &row[i].summary;
        const double numbers[NUMBERS] = {c->alpha,
                                         c->extent,
                                         c->dl,
                                         s->pre_mean,
                                         100 * s->improvement_finite,
                                         100 * s->spill_mean_finite,
                                         100 * s->spill_p95_finite};
        const int64_t counts[COUNTS] = {s->facts, s->spills, s->nan_post, s->nan_spill};
        const int bytes[BYTES] = {(int)row[i].grid, c->variant == GEODEC_PUBLISHED_WARP_V1 ? 1 : 2,
                                  s->nan_post + s->nan_spill > 0, s->target_halved && s->spill_small};
        for (int k = 0; k < NUMBERS; k++) number[k * rows + i] = numbers[k];
        for (int k = 0; k < COUNTS; k++) count[k * rows + i] = counts[k];
        for (int k = 0; k < BYTES; k++) byte[k * rows + i] = (uint8_t)bytes[k];
    }
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", rows, err));
    for (int k = 0; k < NUMBERS; k++) GEODEC_TRY(geodec_artifact_write(a, number_names[k], number + k * rows, err));
    for (int k = 0; k < COUNTS; k++) GEODEC_TRY(geodec_artifact_write(a, count_names[k], count + k * rows, err));
    for (int k = 0; k < BYTES; k++) GEODEC_TRY(geodec_artifact_write(a, byte_names[k], byte + k * rows, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "points", samples, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n", n, err));
    totals(row, rows, GEODEC_PUBLISHED_WARP_CROSS, &passes, &best, &diverged);
    GEODEC_TRY(geodec_artifact_put_i64(a, "cross_passes", passes, err));
    for (int g = 0; g < 2; g++) {
        totals(row, rows, g ? GEODEC_PUBLISHED_WARP_GRID2 : GEODEC_PUBLISHED_WARP_GRID1, &passes, &best, &diverged);
        GEODEC_TRY(geodec_artifact_put_i64(a, grid_names[g][0], passes, err));
        GEODEC_TRY(geodec_artifact_put_f64(a, grid_names[g][1], best, err));
        GEODEC_TRY(geodec_artifact_put_i64(a, grid_names[g][2], diverged, err));
    }
done:
    geodec_mem_free(number);
    geodec_mem_free(count);
    geodec_mem_free(byte);
    return st;
}
