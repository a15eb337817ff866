/* The library artifact. */
#include "base/mem.h"
#include "experiments/library_sweep.h"

static const geodec_field fields[] = {
    {"/radius", GEODEC_F64, "R", 0, "1", "radii, multiples of the median distance to the nearest neighbour", 0},
    {"/stored", GEODEC_I64, "W,R", 0, "1",
     "records stored; streams: text order, shuffled order, Gaussian, surrogate (attribute)", 0},
    {"/hit", GEODEC_F64, "W,R", 0, "1", "share of hits; stored + hits = all: one number", 0},
    {"/second_half", GEODEC_F64, "W,R", 0, "1", "share of hits in the second half of the stream", 0},
    {"/exponent", GEODEC_F64, "W,R", 0, "1", "growth: slope of ln stored over ln seen; 1 never repeats, 0 finished", 0},
    {"/distance", GEODEC_F64, "W,R", 0, "activation", "mean distance of a hit to its record", 0},
    {"/quality", GEODEC_F64, "R,4", GEODEC_FIELD_OPTIONAL, "rms step",
     "error of a hit's next state in text order: record's next state, moved by the difference; controls: the state "
     "itself, a random record's next state",
     0},
    {"/judged", GEODEC_I64, "R", GEODEC_FIELD_OPTIONAL, "1", "hits with known next states", 0},
    {"/target/radius", GEODEC_F64, "W", 0, "1", "smallest radius found with the share `target` of hits; 0 = none", 0},
    {"/target/hit", GEODEC_F64, "W", 0, "1", "share of hits there", 0},
    {"/target/second_half", GEODEC_F64, "W", 0, "1", "the same in the second half", 0},
    {"/target/exponent", GEODEC_F64, "W", 0, "1", "growth there", 0},
    {"/target/quality", GEODEC_F64, "4", GEODEC_FIELD_OPTIONAL, "rms step", "as /quality, at the target", 0},
};

static const geodec_attr attrs[] = {
    {"points", GEODEC_ATTR_I64, 0, "length of the streams"},
    {"n", GEODEC_ATTR_I64, 0, "dimension: first principal coordinates"},
    {"unit", GEODEC_ATTR_F64, 0, "median distance to the nearest neighbour"},
    {"rms_spacing", GEODEC_ATTR_F64, 0, "rms distance of a point to the mean: what a hit by chance would have"},
    {"target", GEODEC_ATTR_F64, 0, "share of hits whose radius was looked for"},
    {"surrogate", GEODEC_ATTR_STR, 0,
     "fourth stream: phase (random Fourier phases along the text) or shuffle (each coordinate permuted)"},
};

const geodec_kind geodec_kind_library = {
    .name = "library",
    .major = 1,
    .minor = 0,
    .tool = "geodec-library",
    .purpose = "growth of a library that stores what it misses, beside its nulls, and what its hits are worth",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

static geodec_status write_summaries(const geodec_library_sweep *s, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t count = GEODEC_LIBRARY_STREAMS * s->n_radii;
    int64_t *stored = NULL;
    double *block = NULL;
    GEODEC_NEW(stored, count);
    GEODEC_NEW(block, 4 * count);
    double *hit = block, *second = hit + count, *exponent = second + count, *distance = exponent + count;
    for (int64_t i = 0; i < count; i++) {
        stored[i] = s->summary[i].stored;
        hit[i] = s->summary[i].hit_rate;
        second[i] = s->summary[i].second_half;
        exponent[i] = s->summary[i].exponent;
        distance[i] = s->summary[i].distance;
    }
    GEODEC_TRY(geodec_artifact_write(a, "/stored", stored, err));
    GEODEC_TRY(geodec_artifact_write(a, "/hit", hit, err));
    GEODEC_TRY(geodec_artifact_write(a, "/second_half", second, err));
    GEODEC_TRY(geodec_artifact_write(a, "/exponent", exponent, err));
    GEODEC_TRY(geodec_artifact_write(a, "/distance", distance, err));
done:
    geodec_mem_free(stored);
    geodec_mem_free(block);
    return st;
}

geodec_status geodec_library_sweep_write(const geodec_library_sweep *s, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double target[3][GEODEC_LIBRARY_STREAMS];
    GEODEC_TRY(geodec_artifact_set_dim(a, "W", GEODEC_LIBRARY_STREAMS, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "R", s->n_radii, err));
    GEODEC_TRY(geodec_artifact_write(a, "/radius", s->radius, err));
    GEODEC_TRY(write_summaries(s, a, err));
    for (int w = 0; w < GEODEC_LIBRARY_STREAMS; w++) {
        target[0][w] = s->target_summary[w].hit_rate;
        target[1][w] = s->target_summary[w].second_half;
        target[2][w] = s->target_summary[w].exponent;
    }
    if (s->has_quality) {
        GEODEC_TRY(geodec_artifact_write(a, "/quality", s->quality, err));
        GEODEC_TRY(geodec_artifact_write(a, "/judged", s->judged, err));
        GEODEC_TRY(geodec_artifact_write(a, "/target/quality", s->target_quality, err));
    }
    GEODEC_TRY(geodec_artifact_write(a, "/target/radius", s->target_radius, err));
    GEODEC_TRY(geodec_artifact_write(a, "/target/hit", target[0], err));
    GEODEC_TRY(geodec_artifact_write(a, "/target/second_half", target[1], err));
    GEODEC_TRY(geodec_artifact_write(a, "/target/exponent", target[2], err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "points", s->points, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n", s->n, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "unit", s->unit, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "rms_spacing", s->summary[0].rms_spacing, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "target", s->target, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "surrogate", geodec_surrogate_name(s->surrogate), err));
done:
    return st;
}
