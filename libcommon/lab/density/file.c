#include "artifact/binding.h"
#include "lab/density/correct.h"

#define AT(m) GEODEC_AT(geodec_density, m)
#define IN(m) GEODEC_IN(geodec_density, m)

static const geodec_field fields[] = {
    {"/window", GEODEC_I64, "W", 0, "token", "w: states of the same text nearer in time than this are left out", 0,
     AT(window)},
    {"/within", GEODEC_F64, "W", 0, "activation",
     "mean distance of a held-out state to the nearest of its own text, at least w tokens away; 0 = there is none", 0,
     AT(within)},
    {"/within_count", GEODEC_I64, "W", 0, "1", "states that have one", 0, AT(within_count)},
    {"/within_null", GEODEC_F64, "W", 0, "activation", "control: the same on surrogates", 0, AT(within_null)},
};

static const geodec_attr attrs[] = {
    {"points", GEODEC_ATTR_I64, 0, "states", IN(points)},
    {"n", GEODEC_ATTR_I64, 0, "principal coordinates that distances are taken in", IN(n)},
    {"texts", GEODEC_ATTR_I64, 0, "texts", IN(texts)},
    {"held_texts", GEODEC_ATTR_I64, 0, "texts held out of the library", IN(held_texts)},
    {"online_points", GEODEC_ATTR_I64, 0, "held-out states", IN(online_points)},
    {"offline_points", GEODEC_ATTR_I64, 0, "library states", IN(offline_points)},
    {"online", GEODEC_ATTR_F64, 0, "mean distance of a held-out state to the nearest library state", IN(online.value)},
    {"online_low", GEODEC_ATTR_F64, 0, "lower end of its 95 % bootstrap interval over texts", IN(online.low)},
    {"online_high", GEODEC_ATTR_F64, 0, "upper end", IN(online.high)},
    {"online_p50", GEODEC_ATTR_F64, 0, "median", IN(online_p50)},
    {"online_p90", GEODEC_ATTR_F64, 0, "90th percentile", IN(online_p90)},
    {"offline", GEODEC_ATTR_F64, 0, "mean distance of a library state to the nearest one of another text",
     IN(offline.value)},
    {"offline_low", GEODEC_ATTR_F64, 0, "lower end of its interval", IN(offline.low)},
    {"offline_high", GEODEC_ATTR_F64, 0, "upper end", IN(offline.high)},
    {"offline_p50", GEODEC_ATTR_F64, 0, "median", IN(offline_p50)},
    {"offline_p90", GEODEC_ATTR_F64, 0, "90th percentile", IN(offline_p90)},
    {"ratio", GEODEC_ATTR_F64, 0, "online / offline", IN(ratio.value)},
    {"ratio_low", GEODEC_ATTR_F64, 0, "lower end: ends of the intervals combined", IN(ratio.low)},
    {"ratio_high", GEODEC_ATTR_F64, 0, "upper end", IN(ratio.high)},
    {"dimension", GEODEC_ATTR_F64, 0, "TwoNN dimension of the library (line fit)", IN(dimension.fit)},
    {"dimension_low", GEODEC_ATTR_F64, 0, "lower end of its 95 % interval", IN(dimension.fit_low)},
    {"dimension_high", GEODEC_ATTR_F64, 0, "upper end", IN(dimension.fit_high)},
    {"enrichment", GEODEC_ATTR_F64, 0, "ratio^dimension: times as many library states for ratio 1",
     IN(enrichment.value)},
    {"enrichment_low", GEODEC_ATTR_F64, 0, "lower end over both intervals", IN(enrichment.low)},
    {"enrichment_high", GEODEC_ATTR_F64, 0, "upper end", IN(enrichment.high)},
    {"published_rule", GEODEC_ATTR_F64, 0,
     "for comparison: ceil(ratio^2), which the harness prints for ratios above 1.5", IN(published_rule)},
    {"surrogate", GEODEC_ATTR_STR, 0, "of the null: phase or shuffle",
     GEODEC_NAMED(geodec_density, surrogate, geodec_surrogate_names)},
    {"nulls", GEODEC_ATTR_I64, 0, "surrogates", IN(nulls)},
    {"null_ratio", GEODEC_ATTR_F64, 0, "control: mean ratio of surrogates", IN(null_ratio)},
    {"null_sd", GEODEC_ATTR_F64, 0, "its standard deviation over them", IN(null_sd)},
    {"z", GEODEC_ATTR_F64, 0, "(ratio - null_ratio) / null_sd; 0 below 2 surrogates", IN(z)},
};

static const geodec_extent extents[] = {{"W", IN(n_windows), 0, 0}};

const geodec_kind geodec_density_kind = {
    .name = "density",
    .major = 1,
    .minor = 0,
    .tool = "geodec-density",
    .purpose = "distances of held-out states to a library and within it, in one metric",
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_density_write(const geodec_density *d, geodec_artifact *a, geodec_err *err)
{
    return geodec_artifact_save(a, d, err);
}
