#include "artifact/binding.h"
#include "base/mem.h"
#include "lab/harness/names.h"
#include "lab/varadhan/correct.h"

#include <string.h>

typedef struct report {
    geodec_varadhan_options o;
    int64_t n_cases, heads;
    const geodec_varadhan_case *c; /* [n_cases] */
    double *head;                  /* [n_cases][heads][FORMS][DIRECTIONS] */
    const char *cases, *split;
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_varadhan_case, m)

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the states: input of the block whose attention is examined", 0,
     OF(layer)},
    {"/queries", GEODEC_I64, "C", 0, "1", "rows of held-out texts whose gradients are taken", 0, OF(figures.queries)},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0, OF(figures.texts)},
    {"/counted", GEODEC_I64, "C,F,D", 0, "1", "queries that have the direction", 0, OF(figures.counted[0][0])},
    {"/cosine", GEODEC_F64, "C,2,F,D,3", 0, "1",
     "mean cosine of gradient and direction: every head by itself, all heads together; value and 95 % bootstrap "
     "interval over texts (0 where counted is 0)",
     0, OF(figures.cosine[0][0][0].value)},
    {"/excess", GEODEC_F64, "C,2,F,D,3", 0, "1",
     "the same for the cosine of log minus that of the direction, at queries that have both", 0,
     OF(figures.excess[0][0][0].value)},
    {"/head", GEODEC_F64, "C,H,F,D", 0, "1", "mean cosine of each head", 0, GEODEC_AT(report, head)},
    {"/inside", GEODEC_F64, "C,F", 0, "1",
     "mean share of the gradient's squared length in the chart, all heads together", 0, OF(inside[0])},
    {"/weight", GEODEC_F64, "C", 0, "1", "mean attention weight of the key, all heads together", 0, OF(weight)},
    {"/planted", GEODEC_I64, "C", 0, "1", "control: queries with a planted gradient, of -d(x, a)^2 / 2", 0,
     OF(figures.planted)},
    {"/planted_cosine", GEODEC_F64, "C,3", 0, "1", "control: its mean cosine with log; 1 where it is right", 0,
     OF(figures.planted_cosine.value)},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: metric, layer, keys, joined by ':' and separated by commas",
     IN(cases)},
    {"forms", GEODEC_ATTR_STR, 0, "names along F, separated by commas", GEODEC_TEXT("weight,score,pair")},
    {"directions", GEODEC_ATTR_STR, 0, "names along D, separated by commas", GEODEC_LIST(geodec_varadhan_names)},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics", IN(o.rtol)},
    {"drift_max", GEODEC_ATTR_F64, 0, "relative change of g(v,v) at which a geodesic counts as broken",
     IN(o.drift_max)},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap", IN(o.replicates)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};

static const geodec_extent extents[] = {{"C", IN(n_cases)},
                                        {"H", IN(heads)},
                                        {"F", .plus = GEODEC_VARADHAN_FORMS},
                                        {"D", .plus = GEODEC_VARADHAN_DIRECTIONS}};

const geodec_kind geodec_varadhan_kind = {
    .name = "varadhan",
    .major = 1,
    .minor = 1,
    .tool = "geodec-varadhan",
    .purpose = "gradients of attention weights compared with logarithm maps towards the keys, with controls",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_varadhan_case), offsetof(report, c), false},
    .first = "/layer,/queries,/texts,/planted",
};

geodec_status geodec_varadhan_write(int64_t cases, const geodec_varadhan_case *c, int64_t columns,
                                    const geodec_varadhan_options *o, const char *split, geodec_artifact *a,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    const int64_t each = (columns - 1) * GEODEC_VARADHAN_FORMS * GEODEC_VARADHAN_DIRECTIONS;
    report r = {*o, cases, columns - 1, c, NULL, text, split};
    GEODEC_NEW(r.head, cases * each);
    for (int64_t i = 0; i < cases; i++) {
        if (each > 0) memcpy(r.head + i * each, c[i].figures.head, (size_t)each * sizeof *r.head);
        GEODEC_TRY(geodec_names_add(text, err, "%s:%d:%s", c[i].metric, (int)c[i].layer, c[i].keys));
    }
    GEODEC_TRY(geodec_artifact_save(a, &r, err));
done:
    geodec_mem_free(r.head);
    return st;
}
