#include "artifact/binding.h"
#include "lab/coverage/published.h"

#define AT(m) GEODEC_AT(geodec_coverage_published, m)
#define IN(m) GEODEC_IN(geodec_coverage_published, m)

/* clang-format off */
#define VARIANT(name, v, text)                                                                                         \
    {"/hit_" name, GEODEC_F64, "S,E", 0, "1", "hits, metric " text ": mean over the splits", 0, AT(hit[v])},           \
    {"/hit_" name "_p10", GEODEC_F64, "S,E", 0, "1", "their 10th percentile over the splits", 0, AT(p10[v])},          \
    {"/hit_" name "_p90", GEODEC_F64, "S,E", 0, "1", "their 90th percentile", 0, AT(p90[v])},                          \
    {"/distance_" name, GEODEC_F64, "S", 0, "1",                                                                       \
     "mean g-distance to the Euclid-nearest cached point, metric " text, 0, AT(distance[v])}
/* clang-format on */

static const geodec_field fields[] = {
    {"/cached", GEODEC_I64, "S", 0, "1", "c: cached points", 0, AT(cached)},
    {"/eps", GEODEC_F64, "E", 0, "1", "g-distances", 0, AT(eps)},
    VARIANT("raw", GEODEC_PUBLISHED_RAW, "as fitted"),
    VARIANT("once", GEODEC_PUBLISHED_ONCE, "smoothed once (the published tables)"),
    VARIANT("twice", GEODEC_PUBLISHED_TWICE, "smoothed twice (the present harness)"),
    {"/closed_form", GEODEC_F64, "S", 0, "1", "control: 1 - C(N-1-k,c) / C(N-1,c), no data enters", 0, AT(closed_form)},
    {"/null_mean", GEODEC_F64, "S,E", 0, "1",
     "control: hits on normal noise of the same covariance, same splits, metric smoothed once", 0, AT(null_mean)},
    {"/null_sd", GEODEC_F64, "S,E", 0, "1", "standard deviation over those clouds", 0, AT(null_sd)},
    {"/z", GEODEC_F64, "S,E", 0, "1", "(hit_once - null_mean) / max(null_sd, one held-out point)", 0, AT(z)},
};

static const geodec_attr attrs[] = {
    {"n", GEODEC_ATTR_I64, 0, "dimension", IN(n)},
    {"points", GEODEC_ATTR_I64, 0, "points, cached and held out", IN(points)},
    {"repeats", GEODEC_ATTR_I64, 0, "splits", IN(repeats)},
    {"nulls", GEODEC_ATTR_I64, 0, "clouds of normal noise", IN(nulls)},
};

static const geodec_extent extents[] = {{"S", IN(shares)}, {"E", IN(n_eps)}};

const geodec_kind geodec_coverage_published_kind = {
    .name = "coverage-ref",
    .major = 1,
    .minor = 0,
    .tool = "geodec-coverage --mode ref",
    .purpose = "coverage as the published harness counts it, with the closed form that it repeats",
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_coverage_published_write(const geodec_coverage_published *c, geodec_artifact *a, geodec_err *err)
{
    return geodec_artifact_save(a, c, err);
}

void geodec_coverage_published_clear(geodec_coverage_published *c)
{
    geodec_artifact_clear(&geodec_coverage_published_kind, c);
    *c = (geodec_coverage_published){0};
}
