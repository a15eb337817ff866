/* The geodesicity artifact. */
#include "base/mem.h"
#include "experiments/geodesicity.h"
#include "experiments/names_internal.h"

#include <string.h>

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the start", 0},
    {"/place", GEODEC_I64, "C", 0, "1", "number of the start in its path, from 0; -1 = all together", 0},
    {"/starts", GEODEC_I64, "C", 0, "1", "starts evaluated, in held-out texts", 0},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0},
    {"/training", GEODEC_I64, "C", 0, "1", "starts the regressions are fitted to, in the other texts", 0},
    {"/step", GEODEC_F64, "C,2", 0, "activation; 1", "root mean square length of a true step: chart, metric", 0},
    {"/broken", GEODEC_I64, "C,P", 0, "1", "starts whose prediction one step ahead broke down; left out", 0},
    {"/counted", GEODEC_I64, "C,P,M", 0, "1", "starts that count", 0},
    {"/error", GEODEC_F64, "C,P,M,2,3", 0, "1",
     "sum of |predicted - true| m = 1..M steps ahead over sum of |true step|, in the chart and in the metric at the "
     "true "
     "state: value and 95 % bootstrap interval over texts (0 where counted is 0)",
     0},
    {"/difference", GEODEC_F64, "C,P,M,2,3", 0, "1",
     "the same for the error minus the straight line's at the same starts (geodesic_fitted: minus line_fitted's)", 0},
    {"/planted", GEODEC_I64, "C", 0, "1", "control: starts with a planted geodesic", 0},
    {"/planted_error", GEODEC_F64, "C,3,M,3", 0, "1",
     "control: error on planted geodesics (steps a quarter as long) in their own steps, in the chart: line, geodesic, "
     "geodesic_log",
     0},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: along, metric, layer, joined by ':' and separated by commas"},
    {"predictors", GEODEC_ATTR_STR, 0, "names along P, separated by commas"},
    {"held_out", GEODEC_ATTR_F64, 0, "share of texts held out"},
    {"ridge", GEODEC_ATTR_F64, 0, "of the regressions, in mean variances of their inputs"},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics"},
    {"drift_max", GEODEC_ATTR_F64, 0, "relative change of g(v,v) at which a geodesic counts as broken"},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap"},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)"},
};

const geodec_kind geodec_kind_geodesicity = {
    .name = "geodesicity",
    .major = 1,
    .minor = 1,
    .tool = "geodec-geodesicity",
    .purpose = "how well geodesics predict real trajectories, beside lines, regressions and shuffled metrics",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

static void put(double *to, geodec_estimate e)
{
    to[0] = e.value;
    to[1] = e.low;
    to[2] = e.high;
}

static geodec_status write_names(int64_t cases, const geodec_geodesicity_case *c, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    for (int64_t i = 0; i < cases; i++)
        GEODEC_TRY(geodec__names_add(text, err, "%s:%s:%d", c[i].along, c[i].metric, (int)c[i].layer));
    GEODEC_TRY(geodec_artifact_put_str(a, "cases", text, err));
    text[0] = 0;
    for (int p = 0; p < GEODEC_PREDICTORS; p++)
        GEODEC_TRY(geodec__names_add(text, err, "%s", geodec_predictor_name((geodec_predictor)p)));
    GEODEC_TRY(geodec_artifact_put_str(a, "predictors", text, err));
done:
    return st;
}

geodec_status geodec_geodesicity_write(int64_t cases, const geodec_geodesicity_case *c, int64_t ahead,
                                       const geodec_geodesicity_options *o, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { P = GEODEC_PREDICTORS };
    int32_t *layer = NULL;
    int64_t *number = NULL, *broken = NULL, *counted = NULL;
    double *step = NULL, *error = NULL, *difference = NULL, *planted = NULL;
    GEODEC_NEW(layer, cases);
    GEODEC_NEW(number, 5 * cases);
    GEODEC_NEW(broken, cases * P);
    GEODEC_NEW(counted, cases * P * ahead);
    GEODEC_NEW(step, cases * 2);
    GEODEC_NEW(error, cases * P * ahead * 6);
    GEODEC_NEW(difference, cases * P * ahead * 6);
    GEODEC_NEW(planted, cases * 3 * ahead * 3);
    for (int64_t i = 0; i < cases; i++) {
        const geodec_geodesicity *f = &c[i].figures;
        layer[i] = c[i].layer;
        number[i] = f->place;
        number[cases + i] = f->starts;
        number[2 * cases + i] = f->texts;
        number[3 * cases + i] = f->training;
        number[4 * cases + i] = f->planted;
        memcpy(step + 2 * i, f->step, sizeof f->step);
        for (int p = 0; p < P; p++) {
            broken[i * P + p] = f->broken[p];
            for (int64_t m = 0; m < ahead; m++) {
                const int64_t at = (i * P + p) * ahead + m;
                counted[at] = f->counted[p][m];
                for (int k = 0; k < 2; k++) {
                    put(error + (at * 2 + k) * 3, f->error[p][m][k]);
                    put(difference + (at * 2 + k) * 3, f->difference[p][m][k]);
                }
            }
        }
        for (int p = 0; p < 3; p++)
            for (int64_t m = 0; m < ahead; m++) put(planted + ((i * 3 + p) * ahead + m) * 3, f->planted_error[p][m]);
    }
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", cases, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "P", P, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "M", ahead, err));
    GEODEC_TRY(geodec_artifact_write(a, "/layer", layer, err));
    GEODEC_TRY(geodec_artifact_write(a, "/place", number, err));
    GEODEC_TRY(geodec_artifact_write(a, "/starts", number + cases, err));
    GEODEC_TRY(geodec_artifact_write(a, "/texts", number + 2 * cases, err));
    GEODEC_TRY(geodec_artifact_write(a, "/training", number + 3 * cases, err));
    GEODEC_TRY(geodec_artifact_write(a, "/planted", number + 4 * cases, err));
    GEODEC_TRY(geodec_artifact_write(a, "/step", step, err));
    GEODEC_TRY(geodec_artifact_write(a, "/broken", broken, err));
    GEODEC_TRY(geodec_artifact_write(a, "/counted", counted, err));
    GEODEC_TRY(geodec_artifact_write(a, "/error", error, err));
    GEODEC_TRY(geodec_artifact_write(a, "/difference", difference, err));
    GEODEC_TRY(geodec_artifact_write(a, "/planted_error", planted, err));
    GEODEC_TRY(write_names(cases, c, a, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "held_out", o->held_out, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "ridge", o->ridge, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "rtol", o->rtol, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "drift_max", o->drift_max, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "replicates", o->replicates, err));
done:
    geodec_mem_free(layer);
    geodec_mem_free(number);
    geodec_mem_free(broken);
    geodec_mem_free(counted);
    geodec_mem_free(step);
    geodec_mem_free(error);
    geodec_mem_free(difference);
    geodec_mem_free(planted);
    return st;
}
