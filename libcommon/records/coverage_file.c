/* The coverage artifact. */
#include "records/coverage.h"

static const geodec_field fields[] = {
    {"/size", GEODEC_I64, "L", 0, "1", "N: points of the experiment", 0},
    {"/share", GEODEC_F64, "S", 0, "1", "cached share of the points", 0},
    {"/eps", GEODEC_F64, "E", 0, "1", "g-distances", 0},
    {"/cached", GEODEC_I64, "L,S", 0, "1", "c: cached points", 0},
    {"/hit", GEODEC_F64, "L,S,E", 0, "1",
     "share of held-out points with a cached one within eps; metric fitted on the cached points alone", 0},
    {"/hit_p10", GEODEC_F64, "L,S,E", 0, "1", "10th percentile over the splits", 0},
    {"/hit_p90", GEODEC_F64, "L,S,E", 0, "1", "90th percentile", 0},
    {"/distance", GEODEC_F64, "L,S", 0, "1", "mean g-distance to the g-nearest cached point", 0},
    {"/recall", GEODEC_F64, "L,S", 0, "1", "share where the Euclid-nearest cached point is the g-nearest", 0},
    {"/closed_form", GEODEC_F64, "L,S", 0, "1", "control: 1 - C(N-1-k,c) / C(N-1,c)", 0},
    {"/leaky", GEODEC_F64, "L,S,E", 0, "1",
     "control: hits with the held-out point's metric fitted on all points; repeats the closed form above sqrt(k-1)", 0},
    {"/leaky_distance", GEODEC_F64, "L,S", 0, "1", "control: its mean g-distance", 0},
    {"/null_mean", GEODEC_F64, "L,S,E", 0, "1", "control: hits on Gaussian clouds of the same covariance", 0},
    {"/null_sd", GEODEC_F64, "L,S,E", 0, "1", "standard deviation over those clouds", 0},
    {"/z", GEODEC_F64, "L,S,E", 0, "1", "(hit - null_mean) / max(null_sd, one query); 0 with fewer than 2 clouds", 0},
    {"/null_distance", GEODEC_F64, "L,S", 0, "1", "control: mean g-distance on Gaussian clouds", 0},
    {"/second_mean", GEODEC_F64, "L,S,E", 0, "1", "control: hits on the second surrogate (attribute second_null)", 1},
    {"/second_sd", GEODEC_F64, "L,S,E", 0, "1", "standard deviation over those clouds", 1},
    {"/second_z", GEODEC_F64, "L,S,E", 0, "1", "(hit - second_mean) / max(second_sd, one query)", 1},
    {"/second_distance", GEODEC_F64, "L,S", 0, "1", "control: mean g-distance on those clouds", 1},
    {"/trend", GEODEC_F64, "S", 0, "1", "slope of ln distance over ln N; 0 with fewer than 2 sizes", 1},
    {"/trend_se", GEODEC_F64, "S", 0, "1", "its standard error about the line; 0 with fewer than 3 sizes", 1},
    {"/null_trend", GEODEC_F64, "S", 0, "1", "control: the same slope on Gaussian clouds", 1},
    {"/task/tolerance", GEODEC_F64, "7", GEODEC_FIELD_OPTIONAL, "rms step", "tolerances of the predicted next state",
     2},
    {"/task/error", GEODEC_F64, "S,5", GEODEC_FIELD_OPTIONAL, "rms step",
     "mean error of the next state: nearest cached successor moved by the difference, copied; controls: the state "
     "itself, "
     "a random cached step, a random cached successor",
     2},
    {"/task/hit", GEODEC_F64, "S,5,7", GEODEC_FIELD_OPTIONAL, "1", "share of held-out states within the tolerance", 2},
    {"/task/token", GEODEC_F64, "S,3", GEODEC_FIELD_OPTIONAL, "1",
     "share whose next token of the model equals that of the nearest cached state; controls: of a random one, the "
     "commonest",
     2},
    {"/task/kl_tolerance", GEODEC_F64, "6", GEODEC_FIELD_OPTIONAL, "nat", "tolerances of the divergence", 3},
    {"/task/kl", GEODEC_F64, "S,3", GEODEC_FIELD_OPTIONAL, "nat",
     "mean KL(p || q), p what the model says at the held-out state, q at the nearest cached one; controls: at a random "
     "one, "
     "the mean of the cache",
     3},
    {"/task/kl_hit", GEODEC_F64, "S,3,6", GEODEC_FIELD_OPTIONAL, "1", "share of held-out states within the tolerance",
     3},
};

static const geodec_attr attrs[] = {
    {"n", GEODEC_ATTR_I64, 0, "dimension: first principal coordinates"},
    {"k", GEODEC_ATTR_I64, 0, "neighbours of the metric"},
    {"repeats", GEODEC_ATTR_I64, 0, "random splits"},
    {"nulls", GEODEC_ATTR_I64, 0, "clouds of each null"},
    {"second_null", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "phase (random Fourier phases along the text) or shuffle (each coordinate permuted on its own)"},
};

const geodec_kind geodec_kind_coverage = {
    .name = "coverage",
    .major = 1,
    .minor = 3,
    .tool = "geodec-coverage",
    .purpose = "how often new points find a cached one, against closed form and Gaussian clouds",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_coverage_write(const geodec_coverage *c, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_artifact_set_dim(a, "L", c->sizes, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "S", c->shares, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "E", c->n_eps, err));
    GEODEC_TRY(geodec_artifact_write(a, "/size", c->size, err));
    GEODEC_TRY(geodec_artifact_write(a, "/share", c->share, err));
    GEODEC_TRY(geodec_artifact_write(a, "/eps", c->eps, err));
    GEODEC_TRY(geodec_artifact_write(a, "/cached", c->cached, err));
    GEODEC_TRY(geodec_artifact_write(a, "/hit", c->hit, err));
    GEODEC_TRY(geodec_artifact_write(a, "/hit_p10", c->hit_p10, err));
    GEODEC_TRY(geodec_artifact_write(a, "/hit_p90", c->hit_p90, err));
    GEODEC_TRY(geodec_artifact_write(a, "/distance", c->distance, err));
    GEODEC_TRY(geodec_artifact_write(a, "/recall", c->recall, err));
    GEODEC_TRY(geodec_artifact_write(a, "/closed_form", c->closed_form, err));
    GEODEC_TRY(geodec_artifact_write(a, "/leaky", c->leaky, err));
    GEODEC_TRY(geodec_artifact_write(a, "/leaky_distance", c->leaky_distance, err));
    GEODEC_TRY(geodec_artifact_write(a, "/null_mean", c->null_mean, err));
    GEODEC_TRY(geodec_artifact_write(a, "/null_sd", c->null_sd, err));
    GEODEC_TRY(geodec_artifact_write(a, "/z", c->z, err));
    GEODEC_TRY(geodec_artifact_write(a, "/null_distance", c->null_distance, err));
    GEODEC_TRY(geodec_artifact_write(a, "/second_mean", c->second_mean, err));
    GEODEC_TRY(geodec_artifact_write(a, "/second_sd", c->second_sd, err));
    GEODEC_TRY(geodec_artifact_write(a, "/second_z", c->second_z, err));
    GEODEC_TRY(geodec_artifact_write(a, "/second_distance", c->second_distance, err));
    GEODEC_TRY(geodec_artifact_write(a, "/trend", c->trend, err));
    GEODEC_TRY(geodec_artifact_write(a, "/trend_se", c->trend_se, err));
    GEODEC_TRY(geodec_artifact_write(a, "/null_trend", c->null_trend, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "second_null", geodec_surrogate_name(c->second), err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n", c->n, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "k", c->k, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "repeats", c->repeats, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "nulls", c->nulls, err));
done:
    return st;
}
