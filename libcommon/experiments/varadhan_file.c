/* The varadhan artifact. */
#include "base/mem.h"
#include "experiments/names_internal.h"
#include "experiments/varadhan.h"

#include <string.h>

enum { FORMS = GEODEC_VARADHAN_FORMS, DIRECTIONS = GEODEC_VARADHAN_DIRECTIONS, EACH = FORMS * DIRECTIONS };

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the states: input of the block whose attention is looked at", 0},
    {"/queries", GEODEC_I64, "C", 0, "1", "rows of held-out texts whose gradients are taken", 0},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0},
    {"/counted", GEODEC_I64, "C,F,D", 0, "1", "queries that have the direction", 0},
    {"/cosine", GEODEC_F64, "C,2,F,D,3", 0, "1",
     "mean cosine of gradient and direction: every head by itself, all heads together; value and 95 % bootstrap "
     "interval over texts (0 where counted is 0)",
     0},
    {"/excess", GEODEC_F64, "C,2,F,D,3", 0, "1",
     "the same for the cosine of log minus that of the direction, at queries that have both", 0},
    {"/head", GEODEC_F64, "C,H,F,D", 0, "1", "mean cosine of each head", 0},
    {"/inside", GEODEC_F64, "C,F", 0, "1",
     "mean share of the gradient's squared length in the chart, all heads together", 0},
    {"/weight", GEODEC_F64, "C", 0, "1", "mean attention weight of the key, all heads together", 0},
    {"/planted", GEODEC_I64, "C", 0, "1", "control: queries with a planted gradient, of -d(x, a)^2 / 2", 0},
    {"/planted_cosine", GEODEC_F64, "C,3", 0, "1", "control: its mean cosine with log; 1 where it is right", 0},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: metric, layer, keys, joined by ':' and separated by commas"},
    {"forms", GEODEC_ATTR_STR, 0, "names along F, separated by commas"},
    {"directions", GEODEC_ATTR_STR, 0, "names along D, separated by commas"},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics"},
    {"drift_max", GEODEC_ATTR_F64, 0, "relative change of g(v,v) at which a geodesic counts as broken"},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap"},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)"},
};

const geodec_kind geodec_kind_varadhan = {
    .name = "varadhan",
    .major = 1,
    .minor = 1,
    .tool = "geodec-varadhan",
    .purpose = "gradients of attention weights beside logarithm maps towards the keys, with controls",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

static void put(const geodec_estimate *from, int64_t count, double *to)
{
    for (int64_t i = 0; i < count; i++) {
        to[3 * i] = from[i].value;
        to[3 * i + 1] = from[i].low;
        to[3 * i + 2] = from[i].high;
    }
}

static geodec_status write_names(int64_t cases, const geodec_varadhan_case *c, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    for (int64_t i = 0; i < cases; i++)
        GEODEC_TRY(geodec__names_add(text, err, "%s:%d:%s", c[i].metric, (int)c[i].layer, c[i].keys));
    GEODEC_TRY(geodec_artifact_put_str(a, "cases", text, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "forms", "weight,score,pair", err));
    text[0] = 0;
    for (int d = 0; d < DIRECTIONS; d++)
        GEODEC_TRY(geodec__names_add(text, err, "%s", geodec_varadhan_name((geodec_varadhan_direction)d)));
    GEODEC_TRY(geodec_artifact_put_str(a, "directions", text, err));
done:
    return st;
}

geodec_status geodec_varadhan_write(int64_t cases, const geodec_varadhan_case *c, int64_t columns,
                                    const geodec_varadhan_options *o, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t heads = columns - 1;
    int32_t *layer = NULL;
    int64_t *number = NULL, *counted = NULL;
    double *cosine = NULL, *excess = NULL, *head = NULL, *mean = NULL, *planted = NULL;
    GEODEC_NEW(layer, cases);
    GEODEC_NEW(number, 3 * cases);
    GEODEC_NEW(counted, cases * EACH);
    GEODEC_NEW(cosine, cases * 2 * EACH * 3);
    GEODEC_NEW(excess, cases * 2 * EACH * 3);
    GEODEC_NEW(head, cases * heads * EACH);
    GEODEC_NEW(mean, cases * (FORMS + 1));
    GEODEC_NEW(planted, cases * 3);
    for (int64_t i = 0; i < cases; i++) {
        const geodec_varadhan *v = &c[i].figures;
        layer[i] = c[i].layer;
        number[i] = v->queries;
        number[cases + i] = v->texts;
        number[2 * cases + i] = v->planted;
        memcpy(counted + i * EACH, v->counted, sizeof v->counted);
        for (int t = 0; t < 2; t++)
            for (int f = 0; f < FORMS; f++) {
                put(v->cosine[t][f], DIRECTIONS, cosine + ((i * 2 + t) * FORMS + f) * DIRECTIONS * 3);
                put(v->excess[t][f], DIRECTIONS, excess + ((i * 2 + t) * FORMS + f) * DIRECTIONS * 3);
            }
        memcpy(head + i * heads * EACH, v->head, (size_t)(heads * EACH) * sizeof *head);
        memcpy(mean + i * FORMS, c[i].inside, sizeof c[i].inside);
        mean[cases * FORMS + i] = c[i].weight;
        put(&v->planted_cosine, 1, planted + 3 * i);
    }
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", cases, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "H", heads, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "F", FORMS, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "D", DIRECTIONS, err));
    GEODEC_TRY(geodec_artifact_write(a, "/layer", layer, err));
    GEODEC_TRY(geodec_artifact_write(a, "/queries", number, err));
    GEODEC_TRY(geodec_artifact_write(a, "/texts", number + cases, err));
    GEODEC_TRY(geodec_artifact_write(a, "/planted", number + 2 * cases, err));
    GEODEC_TRY(geodec_artifact_write(a, "/counted", counted, err));
    GEODEC_TRY(geodec_artifact_write(a, "/cosine", cosine, err));
    GEODEC_TRY(geodec_artifact_write(a, "/excess", excess, err));
    GEODEC_TRY(geodec_artifact_write(a, "/head", head, err));
    GEODEC_TRY(geodec_artifact_write(a, "/inside", mean, err));
    GEODEC_TRY(geodec_artifact_write(a, "/weight", mean + cases * FORMS, err));
    GEODEC_TRY(geodec_artifact_write(a, "/planted_cosine", planted, err));
    GEODEC_TRY(write_names(cases, c, a, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "rtol", o->rtol, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "drift_max", o->drift_max, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "replicates", o->replicates, err));
done:
    geodec_mem_free(layer);
    geodec_mem_free(number);
    geodec_mem_free(counted);
    geodec_mem_free(cosine);
    geodec_mem_free(excess);
    geodec_mem_free(head);
    geodec_mem_free(mean);
    geodec_mem_free(planted);
    return st;
}
