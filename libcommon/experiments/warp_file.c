/* The warp artifact: the experiment on the metric and, with the same options, on the unit sphere and in flat space. */
#include "base/mem.h"
#include "experiments/warp.h"

#include <string.h>

/* clang-format off */
#define ONE(path_, type_, dims_, text_) {path_, type_, dims_, 0, "1", text_, 0}
#define EXPERIMENT(at)                                                                                                 \
    ONE(at "/before", GEODEC_F64, "F", "g-distance of the path's end to its target, unwarped; 0 = the path broke down"), \
    ONE(at "/after", GEODEC_F64, "A,W,P,F", "the same with the warp, in the unwarped metric; -1 = broken"),            \
    ONE(at "/after_warped", GEODEC_F64, "A,W,P,F", "the same in the warped metric"),                                   \
    ONE(at "/reduction", GEODEC_F64, "A,W,P", "1 - sum after / sum before"),                                           \
    ONE(at "/reduction_low", GEODEC_F64, "A,W,P", "lower end of its 95 % bootstrap interval over facts"),              \
    ONE(at "/reduction_high", GEODEC_F64, "A,W,P", "upper end"),                                                       \
    ONE(at "/reduction_warped", GEODEC_F64, "A,W,P", "with the distance after in the warped metric"),                  \
    ONE(at "/spill", GEODEC_F64, "A,W,P,R", "mean |e_after - e_before| / e_before of holdouts beyond the radius"),     \
    ONE(at "/spill_low", GEODEC_F64, "A,W,P,R", "lower end of its 95 % bootstrap interval over facts"),                \
    ONE(at "/spill_high", GEODEC_F64, "A,W,P,R", "upper end"),                                                         \
    ONE(at "/spill_p95", GEODEC_F64, "A,W,P,R", "95th percentile"),                                                    \
    ONE(at "/spill_p95_low", GEODEC_F64, "A,W,P,R", "lower end of its interval"),                                      \
    ONE(at "/spill_p95_high", GEODEC_F64, "A,W,P,R", "upper end"),                                                     \
    ONE(at "/shift", GEODEC_F64, "A,W,P,R", "mean distance of a holdout's ends with and without warp, over the length"), \
    ONE(at "/spills", GEODEC_I64, "A,W,P,R", "holdouts beyond the radius"),                                            \
    ONE(at "/broken", GEODEC_I64, "A,W,P", "paths that broke down: above 0 the cell is diverged"),                     \
    ONE(at "/pass", GEODEC_U8, "A,W,P", "1: reduction at least 0.5 and p95 beyond 2 sigma at most 0.05, none broken")
/* clang-format on */

static const geodec_field fields[] = {
    {"/alpha", GEODEC_F64, "A", 0, "1", "strengths; 0 is the control and must change nothing", 0},
    {"/width", GEODEC_F64, "W", 0, "1", "sigma of the bump over the path's extent in the chart", 0},
    {"/radius", GEODEC_F64, "R", 0, "1", "holdouts count beyond so many sigma of the warp's centre", 0},
    {"/query", GEODEC_I64, "F", 0, "1", "points of the facts", 0},
    {"/holdout", GEODEC_I64, "F,H", 0, "1", "points of their holdouts", 0},
    EXPERIMENT("/field"),
    EXPERIMENT("/sphere"),
    EXPERIMENT("/flat"),
};

static const geodec_attr attrs[] = {
    {"places", GEODEC_ATTR_STR, 0, "axis P: where the warp is centred"},
    {"steps", GEODEC_ATTR_I64, 0, "steps of a path"},
    {"length", GEODEC_ATTR_F64, 0, "g-length of a path, and of the geodesic to the target"},
    {"angle", GEODEC_ATTR_F64, 0, "between the two at the query, radians"},
    {"cells", GEODEC_ATTR_I64, 0, "strengths above 0 x widths x places"},
    {"passes", GEODEC_ATTR_I64, 0, "cells that pass"},
    {"diverged", GEODEC_ATTR_I64, 0, "cells with broken paths"},
    {"best_reduction", GEODEC_ATTR_F64, 0, "largest reduction of a cell with alpha above 0"},
    {"best_reduction_low", GEODEC_ATTR_F64, 0, "lower end of its interval"},
    {"best_reduction_high", GEODEC_ATTR_F64, 0, "upper end"},
    {"best_spill_p95", GEODEC_ATTR_F64, 0, "p95 of the spillover beyond 2 sigma in that cell"},
    {"zero_failures", GEODEC_ATTR_I64, 0,
     "values of alpha = 0 that differ from the unwarped ones, all three spaces: 0"},
    {"zero_reduction", GEODEC_ATTR_F64, 0, "control: largest |reduction| of a cell with alpha 0"},
    {"zero_spill", GEODEC_ATTR_F64, 0, "control: largest p95 of a cell with alpha 0"},
    {"sphere_passes", GEODEC_ATTR_I64, 0, "cells that pass on the unit sphere"},
    {"flat_passes", GEODEC_ATTR_I64, 0, "cells that pass in flat space"},
    {"sphere_best_reduction", GEODEC_ATTR_F64, 0, "largest reduction on the unit sphere"},
    {"flat_best_reduction", GEODEC_ATTR_F64, 0, "largest reduction in flat space"},
};

const geodec_kind geodec_kind_warp = {
    .name = "warp",
    .major = 1,
    .minor = 0,
    .tool = "geodec-warp",
    .purpose = "what a local warp of the metric does to a geodesic that should be redirected, and to others",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

/* value, low or high of an estimate of every cell (stride R radii or one). */
static geodec_status put(geodec_artifact *a, const char *group, const char *name, const geodec_warp *w, double *buffer,
                         size_t offset, int each, geodec_err *err)
{
    char path[64];
    (void)strcpy(path, group);
    (void)strcat(path, name);
    for (int64_t c = 0; c < w->cells; c++)
        for (int k = 0; k < each; k++)
            memcpy(buffer + c * each + k, (const char *)&w->cell[c] + offset + (size_t)k * sizeof(geodec_estimate),
                   sizeof *buffer);
    return geodec_artifact_write(a, path, buffer, err);
}

static geodec_status put_raw(geodec_artifact *a, const char *group, const char *name, const void *data, geodec_err *err)
{
    char path[64];
    (void)strcpy(path, group);
    (void)strcat(path, name);
    return geodec_artifact_write(a, path, data, err);
}

#define PART(field, member) (offsetof(geodec_warp_cell, field) + offsetof(geodec_estimate, member))

static geodec_status write_one(const geodec_warp *w, const char *group, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { R = GEODEC_WARP_RADII };
    const struct {
        const char *name;
        size_t offset;
        int each;
    } parts[] = {{"/reduction", PART(reduction, value), 1},
                 {"/reduction_low", PART(reduction, low), 1},
                 {"/reduction_high", PART(reduction, high), 1},
                 {"/reduction_warped", PART(reduction_warped, value), 1},
                 {"/spill", PART(spill[0], value), R},
                 {"/spill_low", PART(spill[0], low), R},
                 {"/spill_high", PART(spill[0], high), R},
                 {"/spill_p95", PART(spill_p95[0], value), R},
                 {"/spill_p95_low", PART(spill_p95[0], low), R},
                 {"/spill_p95_high", PART(spill_p95[0], high), R},
                 {"/shift", PART(shift[0], value), R}};
    double *buffer = NULL;
    int64_t *count = NULL;
    uint8_t *pass = NULL;
    GEODEC_NEW(buffer, w->cells * R);
    GEODEC_NEW(count, w->cells * R);
    GEODEC_NEW(pass, w->cells);
    GEODEC_TRY(put_raw(a, group, "/before", w->before, err));
    GEODEC_TRY(put_raw(a, group, "/after", w->after, err));
    GEODEC_TRY(put_raw(a, group, "/after_warped", w->after_warped, err));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        GEODEC_TRY(put(a, group, parts[i].name, w, buffer, parts[i].offset, parts[i].each, err));
    for (int64_t c = 0; c < w->cells; c++) memcpy(count + c * R, w->cell[c].spills, sizeof w->cell[c].spills);
    GEODEC_TRY(put_raw(a, group, "/spills", count, err));
    for (int64_t c = 0; c < w->cells; c++) {
        count[c] = w->cell[c].broken;
        pass[c] = w->cell[c].pass ? 1 : 0;
    }
    GEODEC_TRY(put_raw(a, group, "/broken", count, err));
    GEODEC_TRY(put_raw(a, group, "/pass", pass, err));
done:
    geodec_mem_free(buffer);
    geodec_mem_free(count);
    geodec_mem_free(pass);
    return st;
}

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
    geodec_status st = GEODEC_OK;
    int64_t diverged = 0, cells = 0;
    double zero[2] = {0, 0};
    if (sphere->cells != field->cells || flat->cells != field->cells || sphere->facts != field->facts ||
        flat->facts != field->facts || sphere->holdouts != field->holdouts || flat->holdouts != field->holdouts)
        GEODEC_THROW(GEODEC_INVAL, "the controls have another shape than the experiment");
    GEODEC_TRY(geodec_artifact_set_dim(a, "A", o->strengths, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "W", o->widths, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "P", GEODEC_WARP_PLACES, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "R", GEODEC_WARP_RADII, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "F", field->facts, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "H", field->holdouts, err));
    GEODEC_TRY(geodec_artifact_write(a, "/alpha", o->alpha, err));
    GEODEC_TRY(geodec_artifact_write(a, "/width", o->width, err));
    GEODEC_TRY(geodec_artifact_write(a, "/radius", o->radius, err));
    GEODEC_TRY(geodec_artifact_write(a, "/query", field->query, err));
    GEODEC_TRY(geodec_artifact_write(a, "/holdout", field->holdout, err));
    GEODEC_TRY(write_one(field, "/field", a, err));
    GEODEC_TRY(write_one(sphere, "/sphere", a, err));
    GEODEC_TRY(write_one(flat, "/flat", a, err));
    for (int64_t c = 0; c < field->cells; c++) {
        const geodec_warp_cell *cell = &field->cell[c];
        if (o->alpha[c / 2 / o->widths] != 0) {
            cells++;
            diverged += cell->broken > 0 ? 1 : 0;
            continue;
        }
        const double r = cell->reduction.value < 0 ? -cell->reduction.value : cell->reduction.value;
        if (r > zero[0]) zero[0] = r;
        if (cell->spill_p95[0].value > zero[1]) zero[1] = cell->spill_p95[0].value;
    }
    const geodec_warp_cell none = {0}, *best = best_of(field, o), *s = best_of(sphere, o), *f = best_of(flat, o);
    if (!best) best = &none;
    GEODEC_TRY(geodec_artifact_put_str(a, "places", "query, target", err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "steps", o->steps, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "length", o->length, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "angle", o->angle, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "cells", cells, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "passes", field->passes, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "diverged", diverged, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "best_reduction", best->reduction.value, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "best_reduction_low", best->reduction.low, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "best_reduction_high", best->reduction.high, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "best_spill_p95", best->spill_p95[2].value, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "zero_failures",
                                       field->zero_failures + sphere->zero_failures + flat->zero_failures, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "zero_reduction", zero[0], err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "zero_spill", zero[1], err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "sphere_passes", sphere->passes, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "flat_passes", flat->passes, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "sphere_best_reduction", s ? s->reduction.value : 0, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "flat_best_reduction", f ? f->reduction.value : 0, err));
done:
    return st;
}
