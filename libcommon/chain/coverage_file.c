#include "artifact/binding.h"
#include "chain/coverage.h"

#define AT(m) GEODEC_AT(geodec_coverage, m)
#define IN(m) GEODEC_IN(geodec_coverage, m)
static const geodec_field fields[] = {
    {"/size", GEODEC_I64, "L", 0, "1", "N: points of the experiment", 0, AT(size)},
    {"/share", GEODEC_F64, "S", 0, "1", "cached share of the points", 0, AT(share)},
    {"/eps", GEODEC_F64, "E", 0, "1", "g-distances", 0, AT(eps)},
    {"/cached", GEODEC_I64, "L,S", 0, "1", "c: cached points", 0, AT(cached)},
    {"/hit", GEODEC_F64, "L,S,E", 0, "1",
     "share of held-out points with a cached one within eps; metric fitted on the cached points alone", 0, AT(hit)},
    {"/hit_p10", GEODEC_F64, "L,S,E", 0, "1", "10th percentile over the splits", 0, AT(hit_p10)},
    {"/hit_p90", GEODEC_F64, "L,S,E", 0, "1", "90th percentile", 0, AT(hit_p90)},
    {"/distance", GEODEC_F64, "L,S", 0, "1", "mean g-distance to the g-nearest cached point", 0, AT(distance)},
    {"/recall", GEODEC_F64, "L,S", 0, "1", "share where the Euclid-nearest cached point is the g-nearest", 0,
     AT(recall)},
    {"/closed_form", GEODEC_F64, "L,S", 0, "1", "control: 1 - C(N-1-k,c) / C(N-1,c)", 0, AT(closed_form)},
    {"/leaky", GEODEC_F64, "L,S,E", 0, "1",
     "control: hits with the held-out point's metric fitted on all points; repeats the closed form above sqrt(k-1)", 0,
     AT(leaky)},
    {"/leaky_distance", GEODEC_F64, "L,S", 0, "1", "control: its mean g-distance", 0, AT(leaky_distance)},
    {"/null_mean", GEODEC_F64, "L,S,E", 0, "1", "control: hits on Gaussian clouds of the same covariance", 0,
     AT(null_mean)},
    {"/null_sd", GEODEC_F64, "L,S,E", 0, "1", "standard deviation over those clouds", 0, AT(null_sd)},
    {"/z", GEODEC_F64, "L,S,E", 0, "1", "(hit - null_mean) / max(null_sd, one query); 0 with fewer than 2 clouds", 0,
     AT(z)},
    {"/null_distance", GEODEC_F64, "L,S", 0, "1", "control: mean g-distance on Gaussian clouds", 0, AT(null_distance)},
    {"/second_mean", GEODEC_F64, "L,S,E", 0, "1", "control: hits on the second surrogate (attribute second_null)", 1,
     AT(second_mean)},
    {"/second_sd", GEODEC_F64, "L,S,E", 0, "1", "standard deviation over those clouds", 1, AT(second_sd)},
    {"/second_z", GEODEC_F64, "L,S,E", 0, "1", "(hit - second_mean) / max(second_sd, one query)", 1, AT(second_z)},
    {"/second_distance", GEODEC_F64, "L,S", 0, "1", "control: mean g-distance on those clouds", 1, AT(second_distance)},
    {"/trend", GEODEC_F64, "S", 0, "1", "slope of ln distance over ln N; 0 with fewer than 2 sizes", 1, AT(trend)},
    {"/trend_se", GEODEC_F64, "S", 0, "1", "its standard error about the line; 0 with fewer than 3 sizes", 1,
     AT(trend_se)},
    {"/null_trend", GEODEC_F64, "S", 0, "1", "control: the same slope on Gaussian clouds", 1, AT(null_trend)},
    /* not bound: geodec_coverage_task_write */
    {"/task/tolerance", GEODEC_F64, "7", GEODEC_FIELD_OPTIONAL, "rms step", "tolerances of the predicted next state",
     2},
    {"/task/error", GEODEC_F64, "S,5", GEODEC_FIELD_OPTIONAL, "rms step",
     "mean error of the next state: nearest cached successor moved by the difference, copied; controls: the state "
     "itself, "
     "a random cached step, a random cached successor",
     2},
    {"/task/hit", GEODEC_F64, "S,5,7", GEODEC_FIELD_OPTIONAL, "1", "share of held-out states within the tolerance", 2},
    {"/task/token", GEODEC_F64, "S,3", GEODEC_FIELD_OPTIONAL, "1",
     "share whose argmax equals that of the nearest cached state; controls: of a random one, the most frequent one", 2},
    {"/task/kl_tolerance", GEODEC_F64, "6", GEODEC_FIELD_OPTIONAL, "nat", "tolerances of the divergence", 3},
    {"/task/kl", GEODEC_F64, "S,3", GEODEC_FIELD_OPTIONAL, "nat",
     "mean KL(p || q), p the model's distribution at the held-out state, q at the nearest cached one; controls: at a "
     "random one, the mean of the cache",
     3},
    {"/task/kl_hit", GEODEC_F64, "S,3,6", GEODEC_FIELD_OPTIONAL, "1", "share of held-out states within the tolerance",
     3},
};

static const geodec_attr attrs[] = {
    {"second_null", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "phase (random Fourier phases along the text) or shuffle (each coordinate permuted on its own)",
     GEODEC_NAMED(geodec_coverage, second, geodec_surrogate_names)},
    {"n", GEODEC_ATTR_I64, 0, "dimension: first principal coordinates", IN(n)},
    {"k", GEODEC_ATTR_I64, 0, "neighbours of the metric", IN(k)},
    {"repeats", GEODEC_ATTR_I64, 0, "random splits", IN(repeats)},
    {"nulls", GEODEC_ATTR_I64, 0, "clouds of each null", IN(nulls)},
};

static const geodec_extent extents[] = {{"L", IN(sizes)}, {"S", IN(shares)}, {"E", IN(n_eps)}};

const geodec_kind geodec_coverage_kind = {
    .name = "coverage",
    .major = 1,
    .minor = 3,
    .tool = "geodec-coverage",
    .purpose = "how often new points find a cached one, against closed form and Gaussian clouds",
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_coverage_write(const geodec_coverage *c, geodec_artifact *a, geodec_err *err)
{
    return geodec_artifact_save(a, c, err);
}

void geodec_coverage_clear(geodec_coverage *c)
{
    geodec_artifact_clear(&geodec_coverage_kind, c);
    *c = (geodec_coverage){0};
}

void geodec_coverage_say(const geodec_hooks *hooks, const geodec_coverage *v)
{
    const int64_t l = v->sizes - 1, S = v->shares, E = v->n_eps;
    geodec_hooks_log(
        hooks, GEODEC_LOG_INFO, "%lld points, dimension %lld, %lld neighbours, %lld splits, %lld clouds of each null",
        (long long)v->size[l], (long long)v->n, (long long)v->k, (long long)v->repeats, (long long)v->nulls);
    for (int64_t s = 0; s < S; s++) {
        /* the eps where the measured share is nearest to one half says most */
        int64_t at = 0;
        for (int64_t e = 1; e < E; e++) {
            const double *h = v->hit + (l * S + s) * E;
            const double d = h[e] - 0.5, best = h[at] - 0.5;
            if (d * d < best * best) at = e;
        }
        const int64_t i = (l * S + s) * E + at;
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%2.0f %% cached: mean g-distance %.3g (Gaussian %.3g); within %g: %.1f %% (Gaussian %.1f %%, z %.1f; "
            "%s %.1f %%, z %.1f; leaky %.1f %%, closed form %.1f %%)",
            100 * v->share[s], v->distance[l * S + s], v->null_distance[l * S + s], v->eps[at], 100 * v->hit[i],
            100 * v->null_mean[i], v->z[i], geodec_surrogate_name(v->second), 100 * v->second_mean[i], v->second_z[i],
            100 * v->leaky[i], 100 * v->closed_form[l * S + s]);
        if (v->sizes > 1)
            geodec_hooks_log(hooks, GEODEC_LOG_INFO, "             distance = a N^%.3f (Gaussian N^%.3f)", v->trend[s],
                             v->null_trend[s]);
    }
}
