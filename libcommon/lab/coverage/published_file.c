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

void geodec_coverage_published_say(const geodec_hooks *hooks, const geodec_coverage_published *v)
{
    for (int64_t s = 0; s < v->shares; s++)
        for (int64_t e = 0; e < v->n_eps; e++)
            if (v->eps[e] == 3)
                geodec_hooks_log(
                    hooks, GEODEC_LOG_INFO,
                    "%2lld of %lld cached, within 3: %.1f %% (raw %.1f %%, smoothed twice %.1f %%); closed form "
                    "%.1f %%, Gaussian noise %.1f %% (sd %.1f), z %.1f",
                    (long long)v->cached[s], (long long)v->points,
                    100 * v->hit[GEODEC_PUBLISHED_ONCE][s * v->n_eps + e],
                    100 * v->hit[GEODEC_PUBLISHED_RAW][s * v->n_eps + e],
                    100 * v->hit[GEODEC_PUBLISHED_TWICE][s * v->n_eps + e], 100 * v->closed_form[s],
                    100 * v->null_mean[s * v->n_eps + e], 100 * v->null_sd[s * v->n_eps + e], v->z[s * v->n_eps + e]);
}
