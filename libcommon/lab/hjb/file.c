#include "artifact/binding.h"
#include "lab/hjb/correct.h"

#define IN(m) GEODEC_IN(geodec_hjb, m)

/* clang-format off */
#define ONE(path_, type_, unit_, text_, m) {path_, type_, "C", 0, unit_, text_, 0, GEODEC_OF_ROW(geodec_hjb_row, m)}
#define ESTIMATE(path_, text_, m)                                                                                      \
    ONE(path_, GEODEC_F64, "1", text_, m.value),                                                                       \
    ONE(path_ "_low", GEODEC_F64, "1", "lower end of its 95 % bootstrap interval over paths", m.low),                  \
    ONE(path_ "_high", GEODEC_F64, "1", "upper end", m.high)
static const geodec_field fields[] = {
    ONE("/paths", GEODEC_I64, "1", "paths measured; 0 = the class is not there", paths),
    ONE("/nodes", GEODEC_I64, "1", "nodes of a path", nodes),
    ONE("/left_out", GEODEC_I64, "1", "paths with nodes outside the chart", left_out),
    ONE("/total", GEODEC_F64, "activation^2", "mean |D2 s + Gamma(Dc s, Dc s)|^2 of a node", total),
    ONE("/kinetic", GEODEC_F64, "activation^2", "mean |D2 s|^2: the published penalty, whose curvature term is zero", kinetic),
    ONE("/connection", GEODEC_F64, "activation^2", "mean |Gamma(Dc s, Dc s)|^2: what it leaves out", connection),
    ESTIMATE("/turn", "sqrt(sum |r|_g^2 / sum |Dc s|_g^2): residual over step", turn),
    ESTIMATE("/kinetic_turn", "the same of D2 s alone", kinetic_turn),
    ESTIMATE("/explained", "1 - sum |r|_g^2 / sum |D2 s|_g^2; 0 where there is no second difference", explained),
    ONE("/jacobi", GEODEC_F64, "1", "mean |D2 J + 2 Gamma(Dc s, Dc J) + (dGamma J)(Dc s, Dc s)|_g^2 of neighbouring paths", jacobi),
    ONE("/jacobi_kinetic", GEODEC_F64, "1", "mean |D2 J|_g^2", jacobi_kinetic),
    ESTIMATE("/jacobi_explained", "1 - their ratio", jacobi_explained),
    {"/dl", GEODEC_F64, "S", 0, "1", "steps of the refinement", 0, GEODEC_ARRAY(geodec_hjb, dl, [0])},
    {"/refined", GEODEC_F64, "S", 0, "activation", "root mean square residual of the geodesics there", 0, GEODEC_ARRAY(geodec_hjb, refined, [0])},
};
/* clang-format on */

static const geodec_attr attrs[] = {
    {"classes", GEODEC_ATTR_STR, 0, "axis C", GEODEC_TEXT("geodesic, walk, straight, text, shuffled, layers")},
    {"n", GEODEC_ATTR_I64, 0, "dimension", IN(n)},
    {"order", GEODEC_ATTR_F64, 0, "control: order of the geodesics' residual in the step, 4; 0 = there is none",
     IN(order)},
};

static const geodec_extent extents[] = {{"C", .plus = GEODEC_HJB_CLASSES}, {"S", .plus = GEODEC_HJB_STEPS}};

const geodec_kind geodec_hjb_kind = {
    .name = "hjb",
    .major = 1,
    .minor = 0,
    .tool = "geodec-hjb",
    .purpose = "residuals of the geodesic equation along classes of trajectories",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_hjb_row), offsetof(geodec_hjb, row), true},
};

geodec_status geodec_hjb_write(const geodec_hjb *h, geodec_artifact *a, geodec_err *err)
{
    return geodec_artifact_save(a, h, err);
}
