#include "drafters/rungs_file.h"
#include "io/binding.h"

#include <stdio.h>

/* The ladder lies behind what the drafters need, which geodec_rollout_write has written before. */
typedef struct ladder {
    geodec_rollout rollout;
    const geodec_rung_figures *figures; /* [n] */
    const double *broken;               /* [n] */
    int32_t n, base[GEODEC_RUNGS_MAX];
    int64_t places;
    const char *names;
} ladder;

#define OF(m) GEODEC_OF_ROW(geodec_rung_figures, m.value)

static const geodec_field fields[] = {
    GEODEC_ROLLOUT_FIELDS,
    {"/ladder/top1", GEODEC_F64, "L,3", 0, "1",
     "share of held-out places whose truth is the rung's first: value and 95 % bootstrap interval over texts", 0,
     OF(top1)},
    {"/ladder/top8", GEODEC_F64, "L,3", 0, "1", "the same, among the first eight", 0, OF(top8)},
    {"/ladder/claimed", GEODEC_F64, "L,3", 0, "1", "calibrated alpha: mean confidence of the first", 0, OF(claimed)},
    {"/ladder/gain1", GEODEC_F64, "L,3", 0, "1", "top1 less that of the base rung, paired by text", 0, OF(gain1)},
    {"/ladder/gain8", GEODEC_F64, "L,3", 0, "1", "top8 less that of the base rung, paired by text", 0, OF(gain8)},
    {"/ladder/base", GEODEC_I32, "L", 0, "1", "base rung, -1 = none", 0, GEODEC_ARRAY(ladder, base, [0])},
    {"/ladder/broken", GEODEC_F64, "L", 0, "1", "share of steps whose geodesic blew up; they went straight", 0,
     GEODEC_AT(ladder, broken)},
};

static const geodec_attr attrs[] = {
    GEODEC_ROLLOUT_ATTRS,
    {"rungs", GEODEC_ATTR_STR, 0, "names along L, separated by commas", GEODEC_IN(ladder, names)},
    {"places", GEODEC_ATTR_I64, 0, "held-out places of the figures", GEODEC_IN(ladder, places)},
};
static const geodec_extent extents[] = {{"L", GEODEC_IN(ladder, n)}};

const geodec_kind geodec_kind_rollout = {
    .name = "rollout",
    .major = 1,
    .minor = 0,
    .tool = "geodec-rollout",
    .purpose = "the geometric rollout: step, field and readout of its drafters, and the ladder of its ablations",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"L", sizeof(geodec_rung_figures), offsetof(ladder, figures), false},
};

geodec_status geodec_rungs_write(const geodec_rollout *r, const geodec_rung *rung, const geodec_rung_figures *f,
                                 const double *broken, int32_t n, geodec_artifact *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char names[GEODEC_RUNGS_MAX * 64] = "";
    size_t used = 0;
    ladder l = {.rollout = *r, .figures = f, .broken = broken, .n = n, .places = f[0].places, .names = names};
    for (int32_t k = 0; k < n; k++) {
        l.base[k] = rung[k].base;
        const int length = snprintf(names + used, sizeof names - used, "%s%s", k ? "," : "", rung[k].name);
        if (length < 0 || (size_t)length >= sizeof names - used)
            GEODEC_THROW(GEODEC_LIMIT, "the names of %d rungs are too long", n);
        used += (size_t)length;
    }
    GEODEC_TRY(geodec_rollout_write(r, out, err));
    GEODEC_TRY(geodec_artifact_save(out, &l, err));
done:
    return st;
}
