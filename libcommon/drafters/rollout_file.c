#include "drafters/rollout_file.h"

#include <stdio.h>
#include <string.h>

static const geodec_field fields[] = {
    GEODEC_ROLLOUT_FIELDS,
    {"/ladder/top1", GEODEC_F64, "L,3", 0, "1",
     "share of held-out places whose truth is the variant's first: value and 95 % bootstrap interval over texts", 0},
    {"/ladder/top8", GEODEC_F64, "L,3", 0, "1", "the same, among the first eight", 0},
    {"/ladder/claimed", GEODEC_F64, "L,3", 0, "1", "calibrated alpha: mean confidence of the first", 0},
    {"/ladder/gain1", GEODEC_F64, "L,3", 0, "1", "top1 less that of the base variant, paired by text", 0},
    {"/ladder/gain8", GEODEC_F64, "L,3", 0, "1", "top8 less that of the base variant, paired by text", 0},
    {"/ladder/base", GEODEC_I32, "L", 0, "1", "base variant, -1 = none", 0},
    {"/ladder/broken", GEODEC_F64, "L", 0, "1", "share of steps whose geodesic diverged; they went straight", 0},
};

static const geodec_attr attrs[] = {
    GEODEC_ROLLOUT_ATTRS,
    {"rungs", GEODEC_ATTR_STR, 0, "names along L, separated by commas"},
    {"places", GEODEC_ATTR_I64, 0, "held-out places of the figures"},
};

static const geodec_extent extents[] = {GEODEC_ROLLOUT_EXTENTS};

const geodec_kind geodec_rollout_kind = {
    .name = "rollout",
    .major = 1,
    .minor = 0,
    .tool = "geodec-rollout",
    .purpose = "the geometric rollout: step, field and readout of its drafters, and their ablation",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
    .extents = extents, /* of the geodec_rollout; the ablation is written separately below */
    .n_extents = (int)(sizeof extents / sizeof *extents),
};

static geodec_status put_estimates(geodec_artifact *out, const char *path, const geodec_ablation_figures *f, int32_t n,
                                   geodec_estimate (*pick)(const geodec_ablation_figures *), geodec_err *err)
{
    double x[3 * GEODEC_ABLATION_MAX];
    for (int32_t k = 0; k < n; k++) {
        const geodec_estimate e = pick(&f[k]);
        x[3 * k] = e.value;
        x[3 * k + 1] = e.low;
        x[3 * k + 2] = e.high;
    }
    return geodec_artifact_write(out, path, x, err);
}

static geodec_estimate top1(const geodec_ablation_figures *f) { return f->top1; }
static geodec_estimate top8(const geodec_ablation_figures *f) { return f->top8; }
static geodec_estimate claimed(const geodec_ablation_figures *f) { return f->claimed; }
static geodec_estimate gain1(const geodec_ablation_figures *f) { return f->gain1; }
static geodec_estimate gain8(const geodec_ablation_figures *f) { return f->gain8; }

geodec_status geodec_rollout_ablation_write(const geodec_rollout *r, const geodec_ablation_variant *variant,
                                            const geodec_ablation_figures *f, const double *broken, int32_t n,
                                            geodec_artifact *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char names[GEODEC_ABLATION_MAX * 64] = "";
    int32_t base[GEODEC_ABLATION_MAX];
    size_t used = 0;
    for (int32_t k = 0; k < n; k++) {
        base[k] = variant[k].base;
        const int length = snprintf(names + used, sizeof names - used, "%s%s", k ? "," : "", variant[k].name);
        if (length < 0 || (size_t)length >= sizeof names - used)
            GEODEC_THROW(GEODEC_LIMIT, "the names of %d variants are too long", n);
        used += (size_t)length;
    }
    GEODEC_TRY(geodec_rollout_write(r, out, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "L", n, err));
    GEODEC_TRY(put_estimates(out, "/ladder/top1", f, n, top1, err));
    GEODEC_TRY(put_estimates(out, "/ladder/top8", f, n, top8, err));
    GEODEC_TRY(put_estimates(out, "/ladder/claimed", f, n, claimed, err));
    GEODEC_TRY(put_estimates(out, "/ladder/gain1", f, n, gain1, err));
    GEODEC_TRY(put_estimates(out, "/ladder/gain8", f, n, gain8, err));
    GEODEC_TRY(geodec_artifact_write(out, "/ladder/base", base, err));
    GEODEC_TRY(geodec_artifact_write(out, "/ladder/broken", broken, err));
    GEODEC_TRY(geodec_artifact_put_str(out, "rungs", names, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "places", f[0].places, err));
done:
    return st;
}
