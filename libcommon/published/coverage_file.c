/* The coverage artifact of the published mode. */
#include "published/coverage.h"

#include <stdio.h>

/* clang-format off */
#define VARIANT(name, text)                                                                                           \
    {"/hit_" name, GEODEC_F64, "S,E", 0, "1", "hits, metric " text ": mean over the splits", 0},                      \
    {"/hit_" name "_p10", GEODEC_F64, "S,E", 0, "1", "their 10th percentile over the splits", 0},                     \
    {"/hit_" name "_p90", GEODEC_F64, "S,E", 0, "1", "their 90th percentile", 0},                                     \
    {"/distance_" name, GEODEC_F64, "S", 0, "1", "mean g-distance to the Euclid-nearest cached point, metric " text, 0}
/* clang-format on */

static const geodec_field fields[] = {
    {"/cached", GEODEC_I64, "S", 0, "1", "c: cached points", 0},
    {"/eps", GEODEC_F64, "E", 0, "1", "g-distances", 0},
    VARIANT("raw", "as fitted"),
    VARIANT("once", "smoothed once (the published tables)"),
    VARIANT("twice", "smoothed twice (the harness as it stands)"),
    {"/closed_form", GEODEC_F64, "S", 0, "1", "control: 1 - C(N-1-k,c) / C(N-1,c), no data enters", 0},
    {"/null_mean", GEODEC_F64, "S,E", 0, "1",
     "control: hits on normal noise of the same covariance, same splits, metric smoothed once", 0},
    {"/null_sd", GEODEC_F64, "S,E", 0, "1", "standard deviation over those clouds", 0},
    {"/z", GEODEC_F64, "S,E", 0, "1", "(hit_once - null_mean) / max(null_sd, one held-out point)", 0},
};

static const geodec_attr attrs[] = {
    {"n", GEODEC_ATTR_I64, 0, "dimension"},
    {"points", GEODEC_ATTR_I64, 0, "points, cached and held out"},
    {"repeats", GEODEC_ATTR_I64, 0, "splits"},
    {"nulls", GEODEC_ATTR_I64, 0, "clouds of normal noise"},
};

const geodec_kind geodec_kind_coverage_ref = {
    .name = "coverage-ref",
    .major = 1,
    .minor = 0,
    .tool = "geodec-coverage --mode ref",
    .purpose = "coverage as the published harness counts it, beside the closed form that it repeats",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_published_coverage_write(const geodec_published_coverage *c, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char *const names[GEODEC_PUBLISHED_VARIANTS] = {"raw", "once", "twice"};
    char path[32];
    GEODEC_TRY(geodec_artifact_set_dim(a, "S", c->shares, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "E", c->n_eps, err));
    GEODEC_TRY(geodec_artifact_write(a, "/cached", c->cached, err));
    GEODEC_TRY(geodec_artifact_write(a, "/eps", c->eps, err));
    for (int v = 0; v < GEODEC_PUBLISHED_VARIANTS; v++) {
        const struct {
            const char *prefix, *suffix;
            const double *data;
        } each[] = {{"/hit_", "", c->hit[v]},
                    {"/hit_", "_p10", c->p10[v]},
                    {"/hit_", "_p90", c->p90[v]},
                    {"/distance_", "", c->distance[v]}};
        for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
            (void)snprintf(path, sizeof path, "%s%s%s", each[i].prefix, names[v], each[i].suffix);
            GEODEC_TRY(geodec_artifact_write(a, path, each[i].data, err));
        }
    }
    GEODEC_TRY(geodec_artifact_write(a, "/closed_form", c->closed_form, err));
    GEODEC_TRY(geodec_artifact_write(a, "/null_mean", c->null_mean, err));
    GEODEC_TRY(geodec_artifact_write(a, "/null_sd", c->null_sd, err));
    GEODEC_TRY(geodec_artifact_write(a, "/z", c->z, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n", c->n, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "points", c->points, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "repeats", c->repeats, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "nulls", c->nulls, err));
done:
    return st;
}
