#include "artifact/binding.h"
#include "lab/blocks/correct.h"

typedef struct report {
    geodec_blocks r;
    geodec_blocks_options o;
    const char *split;
} report;
typedef struct predictor {
    geodec_estimate block[GEODEC_BLOCKS_MAX];
} predictor;
#define IN(m) GEODEC_IN(report, m)
#define EACH(m) GEODEC_OF_ROW_APART(predictor, block[0].m, sizeof(geodec_estimate))

static const geodec_field fields[] = {
    {"/error", GEODEC_F64, "P,B", 0, "1",
     "sum |prediction - x_b| / sum |x_b - x_0| in g(x_b), predictors in order of `predictors`", 0, EACH(value)},
    {"/low", GEODEC_F64, "P,B", 0, "1", "lower end of the 95 % bootstrap interval over texts", 0, EACH(low)},
    {"/high", GEODEC_F64, "P,B", 0, "1", "upper end", 0, EACH(high)},
};
static const geodec_attr attrs[] = {
    {"predictors", GEODEC_ATTR_STR, 0,
     "persistence,mean,shuffled (controls),nearest,jacobi,softmax,simplex,oracle (uses the answer),centre (control)",
     GEODEC_LIST(geodec_blocks_predictor_names)},
    {"anchors", GEODEC_ATTR_I64, 0, "windows of training texts", IN(r.anchors)},
    {"queries", GEODEC_ATTR_I64, 0, "windows of held-out texts", IN(r.queries)},
    {"texts", GEODEC_ATTR_I64, 0, "texts of the queries", IN(r.texts)},
    {"stride", GEODEC_ATTR_I64, 0, "tokens of a block", IN(o.stride)},
    {"top", GEODEC_ATTR_I64, 0, "anchors that are blended", IN(o.top)},
    {"kkt", GEODEC_ATTR_F64, 0, "largest violation of the simplex minimum's conditions", IN(r.kkt)},
    {"largest_weight", GEODEC_ATTR_F64, 0, "mean largest weight of the simplex fit at x_0", IN(r.weight)},
    {"broken", GEODEC_ATTR_I64, 0, "anchors whose geodesic broke down (Phi = I)", IN(r.broken)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};
static const geodec_extent extents[] = {{"P", .plus = GEODEC_BLOCKS_PREDICTORS}, {"B", IN(o.blocks)}};

const geodec_kind geodec_blocks_kind = {
    .name = "blocks",
    .major = 1,
    .minor = 1,
    .tool = "geodec-blocks",
    .purpose = "block summaries of held-out texts from those of other texts",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"P", sizeof(predictor), offsetof(report, r.error), true},
};

geodec_status geodec_blocks_write(const geodec_blocks *r, const geodec_blocks_options *o, const char *split,
                                  geodec_artifact *a, geodec_err *err)
{
    const report all = {*r, *o, split};
    return geodec_artifact_save(a, &all, err);
}
