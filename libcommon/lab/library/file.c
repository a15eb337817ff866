#include "artifact/binding.h"
#include "lab/library/correct.h"

#include <string.h>

#define AT(m) GEODEC_AT(geodec_library_sweep, m)
#define IN(m) GEODEC_IN(geodec_library_sweep, m)
static const geodec_rows target = {"W", sizeof(geodec_library_summary), offsetof(geodec_library_sweep, target_summary),
                                   true};
#define OF(m) GEODEC_OF_ROW(geodec_library_summary, m)
#define TARGET(m) GEODEC_OF_ROWS(&target, geodec_library_summary, m, 0, 0)

static const geodec_field fields[] = {
    {"/radius", GEODEC_F64, "R", 0, "1", "radii, multiples of the median distance to the nearest neighbour", 0,
     AT(radius)},
    {"/stored", GEODEC_I64, "W,R", 0, "1",
     "records stored; streams: text order, shuffled order, Gaussian, surrogate (attribute)", 0, OF(stored)},
    {"/hit", GEODEC_F64, "W,R", 0, "1", "share of hits; stored + hits = all: one number", 0, OF(hit_rate)},
    {"/second_half", GEODEC_F64, "W,R", 0, "1", "share of hits in the second half of the stream", 0, OF(second_half)},
    {"/exponent", GEODEC_F64, "W,R", 0, "1", "growth: slope of ln stored over ln seen; 1 never repeats, 0 finished", 0,
     OF(exponent)},
    {"/distance", GEODEC_F64, "W,R", 0, "activation", "mean distance of a hit to its record", 0, OF(distance)},
    {"/quality", GEODEC_F64, "R,4", GEODEC_FIELD_OPTIONAL, "rms step",
     "error of a hit's next state in text order: record's next state, moved by the difference; controls: the state "
     "itself, a random record's next state",
     0, AT(quality)},
    {"/judged", GEODEC_I64, "R", GEODEC_FIELD_OPTIONAL, "1", "hits with known next states", 0, AT(judged)},
    {"/target/radius", GEODEC_F64, "W", 0, "1", "smallest radius found with the share `target` of hits; 0 = none", 0,
     GEODEC_ARRAY(geodec_library_sweep, target_radius, [0])},
    {"/target/hit", GEODEC_F64, "W", 0, "1", "share of hits there", 0, TARGET(hit_rate)},
    {"/target/second_half", GEODEC_F64, "W", 0, "1", "the same in the second half", 0, TARGET(second_half)},
    {"/target/exponent", GEODEC_F64, "W", 0, "1", "growth there", 0, TARGET(exponent)},
    {"/target/quality", GEODEC_F64, "4", GEODEC_FIELD_OPTIONAL, "rms step", "as /quality, at the target", 0},
};

static const geodec_attr attrs[] = {
    {"points", GEODEC_ATTR_I64, 0, "length of the streams", IN(points)},
    {"n", GEODEC_ATTR_I64, 0, "dimension: first principal coordinates", IN(n)},
    {"unit", GEODEC_ATTR_F64, 0, "median distance to the nearest neighbour", IN(unit)},
    {"rms_spacing", GEODEC_ATTR_F64, 0, "rms distance of a point to the mean: that of a random hit"},
    {"target", GEODEC_ATTR_F64, 0, "share of hits whose radius was looked for", IN(target)},
    {"surrogate", GEODEC_ATTR_STR, 0,
     "fourth stream: phase (random Fourier phases along the text) or shuffle (each coordinate permuted)",
     GEODEC_NAMED(geodec_library_sweep, surrogate, geodec_surrogate_names)},
};

static const geodec_extent extents[] = {{"W", .plus = GEODEC_LIBRARY_STREAMS}, {"R", IN(n_radii)}};

/* Writes the field that is absent without next states, and a number of the first row. */
static geodec_status put(const void *object, geodec_artifact *a, const char *name, geodec_err *err)
{
    const geodec_library_sweep *s = object;
    if (strcmp(name, "rms_spacing") == 0) return geodec_artifact_put_f64(a, name, s->summary[0].rms_spacing, err);
    return s->has_quality ? geodec_artifact_write(a, name, s->target_quality, err) : GEODEC_OK;
}

const geodec_kind geodec_library_kind = {
    GEODEC_ABOUT("library", 1, 0, "geodec-library",
                 "growth of a library that stores what it misses, compared with its nulls, and the value of its hits"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"W,R", sizeof(geodec_library_summary), offsetof(geodec_library_sweep, summary), false},
    .put = put,
    .first = "/radius,/stored,/hit,/second_half,/exponent,/distance,/quality,/judged,/target/quality",
};

geodec_status geodec_library_sweep_write(const geodec_library_sweep *s, geodec_artifact *a, geodec_err *err)
{
    geodec_library_sweep saved = *s;
    if (!s->has_quality) {
        saved.quality = NULL;
        saved.judged = NULL;
    }
    return geodec_artifact_save(a, &saved, err);
}

void geodec_library_sweep_clear(geodec_library_sweep *s)
{
    geodec_artifact_clear(&geodec_library_kind, s);
    *s = (geodec_library_sweep){0};
}

void geodec_library_say(const geodec_hooks *hooks, const geodec_library_sweep *s)
{
    static const char *const streams[GEODEC_LIBRARY_STREAMS] = {"text", "shuffled", "gaussian", NULL};
    for (int w = 0; w < GEODEC_LIBRARY_STREAMS; w++) {
        const geodec_library_summary *t = &s->target_summary[w];
        const char *name = streams[w] ? streams[w] : geodec_surrogate_name(s->surrogate);
        if (s->target_radius[w] > 0)
            geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                             "%-8s %.1f %% hits at %.3g median distances: second half %.1f %%, stored ~ seen^%.2f",
                             name, 100 * t->hit_rate, s->target_radius[w], 100 * t->second_half, t->exponent);
        else
            geodec_hooks_log(hooks, GEODEC_LOG_INFO, "%-8s never reaches %.1f %% hits", name, 100 * s->target);
    }
    if (s->has_quality)
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "error of such a hit's next state in rms steps: %.2f, moved by the difference %.2f; state itself %.2f, "
            "random record %.2f",
            s->target_quality[GEODEC_LIBRARY_COPY], s->target_quality[GEODEC_LIBRARY_TRANSPORT],
            s->target_quality[GEODEC_LIBRARY_IDENTITY], s->target_quality[GEODEC_LIBRARY_RANDOM]);
}
