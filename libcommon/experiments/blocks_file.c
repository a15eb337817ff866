/* The blocks artifact. */
#include "experiments/blocks.h"

#include "base/mem.h"

static const geodec_field fields[] = {
    {"/error", GEODEC_F64, "P,B", 0, "1",
     "sum |prediction - x_b| / sum |x_b - x_0| in g(x_b), predictors in order of `predictors`", 0},
    {"/low", GEODEC_F64, "P,B", 0, "1", "lower end of the 95 % bootstrap interval over texts", 0},
    {"/high", GEODEC_F64, "P,B", 0, "1", "upper end", 0},
};
static const geodec_attr attrs[] = {
    {"predictors", GEODEC_ATTR_STR, 0,
     "persistence,mean,shuffled (controls),nearest,jacobi,softmax,simplex,oracle (uses the answer),centre (control)"},
    {"anchors", GEODEC_ATTR_I64, 0, "windows of training texts"},
    {"queries", GEODEC_ATTR_I64, 0, "windows of held-out texts"},
    {"texts", GEODEC_ATTR_I64, 0, "texts of the queries"},
    {"stride", GEODEC_ATTR_I64, 0, "tokens of a block"},
    {"top", GEODEC_ATTR_I64, 0, "anchors that are blended"},
    {"kkt", GEODEC_ATTR_F64, 0, "largest violation of the simplex minimum's conditions"},
    {"largest_weight", GEODEC_ATTR_F64, 0, "mean largest weight of the simplex fit at x_0"},
    {"broken", GEODEC_ATTR_I64, 0, "anchors whose geodesic broke down (Phi = I)"},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)"},
};
const geodec_kind geodec_kind_blocks = {
    .name = "blocks",
    .major = 1,
    .minor = 1,
    .tool = "geodec-blocks",
    .purpose = "block summaries of held-out texts from those of other texts",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_blocks_write(const geodec_blocks *r, const geodec_blocks_options *o, geodec_artifact *a,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { P = GEODEC_BLOCKS_PREDICTORS };
    double value[3][P * GEODEC_BLOCKS_MAX];
    for (int p = 0; p < P; p++) {
        for (int64_t b = 0; b < o->blocks; b++) {
            value[0][p * o->blocks + b] = r->error[p][b].value;
            value[1][p * o->blocks + b] = r->error[p][b].low;
            value[2][p * o->blocks + b] = r->error[p][b].high;
        }
    }
    GEODEC_TRY(geodec_artifact_set_dim(a, "P", P, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "B", o->blocks, err));
    GEODEC_TRY(geodec_artifact_write(a, "/error", value[0], err));
    GEODEC_TRY(geodec_artifact_write(a, "/low", value[1], err));
    GEODEC_TRY(geodec_artifact_write(a, "/high", value[2], err));
    GEODEC_TRY(geodec_artifact_put_str(a, "predictors",
                                       "persistence,mean,shuffled,nearest,jacobi,softmax,simplex,oracle,centre", err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "anchors", r->anchors, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "queries", r->queries, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "texts", r->texts, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "stride", o->stride, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "top", o->top, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "kkt", r->kkt, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "largest_weight", r->weight, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "broken", r->broken, err));
done:
    return st;
}
