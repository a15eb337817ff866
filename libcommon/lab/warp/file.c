/* The warp artifact: the experiment on the metric and, with the same options, on the unit sphere and in flat space. */
#include "artifact/binding.h"
#include "lab/warp/warp.h"

#include <math.h>

typedef struct report {
    geodec_warp field, sphere, flat;
    geodec_warp_options o;
    geodec_warp_cell best; /* of `field`, alpha above 0 */
    int64_t cells, diverged, zero_failures;
    bool plants;
    double zero_reduction, zero_spill, sphere_best, flat_best;
} report;
#define IN(m) GEODEC_IN(report, m)
static const geodec_rows field_cells = {"A,W,P", sizeof(geodec_warp_cell), offsetof(report, field.cell), false},
                         sphere_cells = {"A,W,P", sizeof(geodec_warp_cell), offsetof(report, sphere.cell), false},
                         flat_cells = {"A,W,P", sizeof(geodec_warp_cell), offsetof(report, flat.cell), false};
#define CELL(w, m, apart) GEODEC_OF_ROWS(&w##_cells, geodec_warp_cell, m, apart, 0)
#define EACH(w, m) CELL(w, m, sizeof(geodec_estimate))

/* clang-format off */
#define ONE(path_, type_, dims_, text_, ...) {path_, type_, dims_, 0, "1", text_, 0, __VA_ARGS__}
#define EXPERIMENT(at, w)                                                                                              \
    ONE(at "/before", GEODEC_F64, "F", "g-distance of the path's end to its target, unwarped; 0 = the path broke down", \
        GEODEC_AT(report, w.before)),                                                                                  \
    ONE(at "/after", GEODEC_F64, "A,W,P,F", "the same with the warp, in the unwarped metric; -1 = broken",             \
        GEODEC_AT(report, w.after)),                                                                                   \
    ONE(at "/after_warped", GEODEC_F64, "A,W,P,F", "the same in the warped metric",                                    \
        GEODEC_AT(report, w.after_warped)),                                                                            \
    ONE(at "/reduction", GEODEC_F64, "A,W,P", "1 - sum after / sum before", CELL(w, reduction.value, 0)),              \
    ONE(at "/reduction_low", GEODEC_F64, "A,W,P", "lower end of its 95 % bootstrap interval over facts",               \
        CELL(w, reduction.low, 0)),                                                                                    \
    ONE(at "/reduction_high", GEODEC_F64, "A,W,P", "upper end", CELL(w, reduction.high, 0)),                           \
    ONE(at "/reduction_warped", GEODEC_F64, "A,W,P", "with the distance after in the warped metric",                   \
        CELL(w, reduction_warped.value, 0)),                                                                           \
    ONE(at "/spill", GEODEC_F64, "A,W,P,R", "mean |e_after - e_before| / e_before of holdouts beyond the radius",      \
        EACH(w, spill[0].value)),                                                                                      \
    ONE(at "/spill_low", GEODEC_F64, "A,W,P,R", "lower end of its 95 % bootstrap interval over facts",                 \
        EACH(w, spill[0].low)),                                                                                        \
    ONE(at "/spill_high", GEODEC_F64, "A,W,P,R", "upper end", EACH(w, spill[0].high)),                                 \
    ONE(at "/spill_p95", GEODEC_F64, "A,W,P,R", "95th percentile", EACH(w, spill_p95[0].value)),                       \
    ONE(at "/spill_p95_low", GEODEC_F64, "A,W,P,R", "lower end of its interval", EACH(w, spill_p95[0].low)),           \
    ONE(at "/spill_p95_high", GEODEC_F64, "A,W,P,R", "upper end", EACH(w, spill_p95[0].high)),                         \
    ONE(at "/shift", GEODEC_F64, "A,W,P,R", "mean distance of a holdout's ends with and without warp, over the length", \
        EACH(w, shift[0].value)),                                                                                      \
    ONE(at "/spills", GEODEC_I64, "A,W,P,R", "holdouts beyond the radius", CELL(w, spills[0], sizeof(int64_t))),       \
    ONE(at "/broken", GEODEC_I64, "A,W,P", "paths that broke down: above 0 the cell is diverged", CELL(w, broken, 0)), \
    ONE(at "/pass", GEODEC_U8, "A,W,P", "1: reduction at least 0.5 and p95 beyond 2 sigma at most 0.05, none broken",  \
        CELL(w, pass, 0))
/* clang-format on */

static const geodec_field fields[] = {
    {"/alpha", GEODEC_F64, "A", 0, "1", "strengths; 0 is the control and must change nothing", 0,
     GEODEC_ARRAY(report, o.alpha, [0])},
    {"/width", GEODEC_F64, "W", 0, "1", "sigma of the bump over the path's extent in the chart", 0,
     GEODEC_ARRAY(report, o.width, [0])},
    {"/radius", GEODEC_F64, "R", 0, "1", "holdouts count beyond so many sigma of the warp's centre", 0,
     GEODEC_ARRAY(report, o.radius, [0])},
    {"/query", GEODEC_I64, "F", 0, "1", "points of the facts", 0, GEODEC_AT(report, field.query)},
    {"/holdout", GEODEC_I64, "F,H", 0, "1", "points of their holdouts", 0, GEODEC_AT(report, field.holdout)},
    EXPERIMENT("/field", field),
    EXPERIMENT("/sphere", sphere),
    EXPERIMENT("/flat", flat),
};

static const geodec_attr attrs[] = {
    {"places", GEODEC_ATTR_STR, 0, "axis P: where the warp is centred", GEODEC_TEXT("query, target")},
    {"steps", GEODEC_ATTR_I64, 0, "steps of a path", IN(o.steps)},
    {"length", GEODEC_ATTR_F64, 0, "g-length of a path, and of the geodesic to the target", IN(o.length)},
    {"angle", GEODEC_ATTR_F64, 0, "between the two at the query, radians", IN(o.angle)},
    {"planted", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "facts of which a warp of the sweep is known to carry the target (--planted)", IN(field.planted),
     GEODEC_WHEN(report, plants)},
    {"cells", GEODEC_ATTR_I64, 0, "strengths above 0 x widths x places", IN(cells)},
    {"passes", GEODEC_ATTR_I64, 0, "cells that pass", IN(field.passes)},
    {"diverged", GEODEC_ATTR_I64, 0, "cells with broken paths", IN(diverged)},
    {"best_reduction", GEODEC_ATTR_F64, 0, "largest reduction of a cell with alpha above 0", IN(best.reduction.value)},
    {"best_reduction_low", GEODEC_ATTR_F64, 0, "lower end of its interval", IN(best.reduction.low)},
    {"best_reduction_high", GEODEC_ATTR_F64, 0, "upper end", IN(best.reduction.high)},
    {"best_spill_p95", GEODEC_ATTR_F64, 0, "p95 of the spillover beyond 2 sigma in that cell",
     IN(best.spill_p95[2].value)},
    {"zero_failures", GEODEC_ATTR_I64, 0, "values of alpha = 0 that differ from the unwarped ones, all three spaces: 0",
     IN(zero_failures)},
    {"zero_reduction", GEODEC_ATTR_F64, 0, "control: largest |reduction| of a cell with alpha 0", IN(zero_reduction)},
    {"zero_spill", GEODEC_ATTR_F64, 0, "control: largest p95 of a cell with alpha 0", IN(zero_spill)},
    {"sphere_passes", GEODEC_ATTR_I64, 0, "cells that pass on the unit sphere", IN(sphere.passes)},
    {"flat_passes", GEODEC_ATTR_I64, 0, "cells that pass in flat space", IN(flat.passes)},
    {"sphere_best_reduction", GEODEC_ATTR_F64, 0, "largest reduction on the unit sphere", IN(sphere_best)},
    {"flat_best_reduction", GEODEC_ATTR_F64, 0, "largest reduction in flat space", IN(flat_best)},
};

static const geodec_extent extents[] = {
    {"A", IN(o.strengths)},           {"W", IN(o.widths)},    {"P", .plus = GEODEC_WARP_PLACES},
    {"R", .plus = GEODEC_WARP_RADII}, {"F", IN(field.facts)}, {"H", IN(field.holdouts)}};

const geodec_kind geodec_warp_kind = {
    GEODEC_ABOUT("warp", 1, 1, "geodec-warp",
                 "what a local warp of the metric does to a geodesic that should be redirected, and to others"),
    GEODEC_TABLES(fields, attrs, extents),
};

static const geodec_warp_cell *best_of(const geodec_warp *w, const geodec_warp_options *o)
{
    const geodec_warp_cell *best = NULL;
    for (int64_t c = 0; c < w->cells; c++)
        if (o->alpha[c / 2 / o->widths] != 0 && (!best || w->cell[c].reduction.value > best->reduction.value))
            best = &w->cell[c];
    return best;
}

geodec_status geodec_warp_write(const geodec_warp *field, const geodec_warp *sphere, const geodec_warp *flat,
                                const geodec_warp_options *o, geodec_artifact *a, geodec_err *err)
{
    report r = {.field = *field, .sphere = *sphere, .flat = *flat, .o = *o, .plants = o->planted > 0};
    if (sphere->cells != field->cells || flat->cells != field->cells || sphere->facts != field->facts ||
        flat->facts != field->facts || sphere->holdouts != field->holdouts || flat->holdouts != field->holdouts)
        GEODEC_FAIL(GEODEC_INVAL, "the controls have another shape than the experiment");
    const geodec_warp_cell *best = best_of(field, o), *s = best_of(sphere, o), *f = best_of(flat, o);
    if (best) r.best = *best;
    if (s) r.sphere_best = s->reduction.value;
    if (f) r.flat_best = f->reduction.value;
    r.zero_failures = field->zero_failures + sphere->zero_failures + flat->zero_failures;
    for (int64_t c = 0; c < field->cells; c++) {
        const geodec_warp_cell *cell = &field->cell[c];
        if (o->alpha[c / 2 / o->widths] != 0) {
            r.cells++;
            r.diverged += cell->broken > 0 ? 1 : 0;
            continue;
        }
        const double reduction = cell->reduction.value < 0 ? -cell->reduction.value : cell->reduction.value;
        if (reduction > r.zero_reduction) r.zero_reduction = reduction;
        if (cell->spill_p95[0].value > r.zero_spill) r.zero_spill = cell->spill_p95[0].value;
    }
    GEODEC_PASS(geodec_artifact_save(a, &r, err));
    return GEODEC_OK;
}

void geodec_warp_say(const geodec_hooks *hooks, const char *what, const geodec_warp *w, const geodec_warp_options *o)
{
    const geodec_warp_cell *best = best_of(w, o);
    int64_t broken = 0;
    for (int64_t i = 0; i < w->cells; i++) broken += w->cell[i].broken > 0 ? 1 : 0;
    geodec_hooks_log(
        hooks, GEODEC_LOG_INFO,
        "%-6s %lld facts, targets %.3g [%.3g, %.3g] off: best reduction %.1f %%, %lld of %lld cells pass, %lld "
        "diverged",
        what, (long long)w->facts, w->before_mean.value, w->before_mean.low, w->before_mean.high,
        100 * (best ? best->reduction.value : -INFINITY), (long long)w->passes, (long long)(w->cells - 2 * o->widths),
        (long long)broken);
}
