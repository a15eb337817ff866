/* The density artifact. */
#include "experiments/density.h"

static const geodec_field fields[] = {
    {"/window", GEODEC_I64, "W", 0, "token", "w: states of the same text nearer in time than this are left out", 0},
    {"/within", GEODEC_F64, "W", 0, "activation",
     "mean distance of a held-out state to the nearest of its own text, at least w tokens away; 0 = there is none", 0},
    {"/within_count", GEODEC_I64, "W", 0, "1", "states that have one", 0},
    {"/within_null", GEODEC_F64, "W", 0, "activation", "control: the same on surrogates", 0},
};

static const geodec_attr attrs[] = {
    {"points", GEODEC_ATTR_I64, 0, "states"},
    {"n", GEODEC_ATTR_I64, 0, "principal coordinates that distances are taken in"},
    {"texts", GEODEC_ATTR_I64, 0, "texts"},
    {"held_texts", GEODEC_ATTR_I64, 0, "texts held out of the library"},
    {"online_points", GEODEC_ATTR_I64, 0, "held-out states"},
    {"offline_points", GEODEC_ATTR_I64, 0, "library states"},
    {"online", GEODEC_ATTR_F64, 0, "mean distance of a held-out state to the nearest library state"},
    {"online_low", GEODEC_ATTR_F64, 0, "lower end of its 95 % bootstrap interval over texts"},
    {"online_high", GEODEC_ATTR_F64, 0, "upper end"},
    {"online_p50", GEODEC_ATTR_F64, 0, "median"},
    {"online_p90", GEODEC_ATTR_F64, 0, "90th percentile"},
    {"offline", GEODEC_ATTR_F64, 0, "mean distance of a library state to the nearest one of another text"},
    {"offline_low", GEODEC_ATTR_F64, 0, "lower end of its interval"},
    {"offline_high", GEODEC_ATTR_F64, 0, "upper end"},
    {"offline_p50", GEODEC_ATTR_F64, 0, "median"},
    {"offline_p90", GEODEC_ATTR_F64, 0, "90th percentile"},
    {"ratio", GEODEC_ATTR_F64, 0, "online / offline"},
    {"ratio_low", GEODEC_ATTR_F64, 0, "lower end: ends of the intervals combined"},
    {"ratio_high", GEODEC_ATTR_F64, 0, "upper end"},
    {"dimension", GEODEC_ATTR_F64, 0, "TwoNN dimension of the library (line fit)"},
    {"dimension_low", GEODEC_ATTR_F64, 0, "lower end of its 95 % interval"},
    {"dimension_high", GEODEC_ATTR_F64, 0, "upper end"},
    {"enrichment", GEODEC_ATTR_F64, 0, "ratio^dimension: times as many library states for ratio 1"},
    {"enrichment_low", GEODEC_ATTR_F64, 0, "lower end over both intervals"},
    {"enrichment_high", GEODEC_ATTR_F64, 0, "upper end"},
    {"published_rule", GEODEC_ATTR_F64, 0,
     "for comparison: ceil(ratio^2), which the harness prints for ratios above 1.5"},
    {"surrogate", GEODEC_ATTR_STR, 0, "of the null: phase or shuffle"},
    {"nulls", GEODEC_ATTR_I64, 0, "surrogates"},
    {"null_ratio", GEODEC_ATTR_F64, 0, "control: mean ratio of surrogates"},
    {"null_sd", GEODEC_ATTR_F64, 0, "its standard deviation over them"},
    {"z", GEODEC_ATTR_F64, 0, "(ratio - null_ratio) / null_sd; 0 below 2 surrogates"},
};

const geodec_kind geodec_kind_density = {
    .name = "density",
    .major = 1,
    .minor = 0,
    .tool = "geodec-density",
    .purpose = "distances of held-out states to a library and within it, in one metric",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

static geodec_status put(geodec_artifact *a, const char *names[3], geodec_estimate e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_artifact_put_f64(a, names[0], e.value, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, names[1], e.low, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, names[2], e.high, err));
done:
    return st;
}

geodec_status geodec_density_write(const geodec_density *d, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_estimate dimension = {d->dimension.fit, d->dimension.fit_low, d->dimension.fit_high};
    GEODEC_TRY(geodec_artifact_set_dim(a, "W", d->n_windows, err));
    GEODEC_TRY(geodec_artifact_write(a, "/window", d->window, err));
    GEODEC_TRY(geodec_artifact_write(a, "/within", d->within, err));
    GEODEC_TRY(geodec_artifact_write(a, "/within_count", d->within_count, err));
    GEODEC_TRY(geodec_artifact_write(a, "/within_null", d->within_null, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "points", d->points, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n", d->n, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "texts", d->texts, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "held_texts", d->held_texts, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "online_points", d->online_points, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "offline_points", d->offline_points, err));
    GEODEC_TRY(put(a, (const char *[]){"online", "online_low", "online_high"}, d->online, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "online_p50", d->online_p50, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "online_p90", d->online_p90, err));
    GEODEC_TRY(put(a, (const char *[]){"offline", "offline_low", "offline_high"}, d->offline, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "offline_p50", d->offline_p50, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "offline_p90", d->offline_p90, err));
    GEODEC_TRY(put(a, (const char *[]){"ratio", "ratio_low", "ratio_high"}, d->ratio, err));
    GEODEC_TRY(put(a, (const char *[]){"dimension", "dimension_low", "dimension_high"}, dimension, err));
    GEODEC_TRY(put(a, (const char *[]){"enrichment", "enrichment_low", "enrichment_high"}, d->enrichment, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "published_rule", d->published_rule, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "surrogate", geodec_surrogate_name(d->surrogate), err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "nulls", d->nulls, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "null_ratio", d->null_ratio, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "null_sd", d->null_sd, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "z", d->z, err));
done:
    return st;
}
