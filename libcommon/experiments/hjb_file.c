/* The artifact of the residuals. */
#include "experiments/hjb.h"

/* clang-format off */
#define ONE(path_, type_, unit_, text_) {path_, type_, "C", 0, unit_, text_, 0}
#define ESTIMATE(path_, text_)                                                                                         \
    ONE(path_, GEODEC_F64, "1", text_),                                                                                \
    ONE(path_ "_low", GEODEC_F64, "1", "lower end of its 95 % bootstrap interval over paths"),                         \
    ONE(path_ "_high", GEODEC_F64, "1", "upper end")
static const geodec_field fields[] = {
    ONE("/paths", GEODEC_I64, "1", "paths measured; 0 = the class is not there"),
    ONE("/nodes", GEODEC_I64, "1", "nodes of a path"),
    ONE("/left_out", GEODEC_I64, "1", "paths with nodes outside the chart"),
    ONE("/total", GEODEC_F64, "activation^2", "mean |D2 s + Gamma(Dc s, Dc s)|^2 of a node"),
    ONE("/kinetic", GEODEC_F64, "activation^2", "mean |D2 s|^2: the published penalty, whose curvature term is zero"),
    ONE("/connection", GEODEC_F64, "activation^2", "mean |Gamma(Dc s, Dc s)|^2: what it leaves out"),
    ESTIMATE("/turn", "sqrt(sum |r|_g^2 / sum |Dc s|_g^2): residual over step"),
    ESTIMATE("/kinetic_turn", "the same of D2 s alone"),
    ESTIMATE("/explained", "1 - sum |r|_g^2 / sum |D2 s|_g^2; 0 where there is no second difference"),
    ONE("/jacobi", GEODEC_F64, "1", "mean |D2 J + 2 Gamma(Dc s, Dc J) + (dGamma J)(Dc s, Dc s)|_g^2 of neighbouring paths"),
    ONE("/jacobi_kinetic", GEODEC_F64, "1", "mean |D2 J|_g^2"),
    ESTIMATE("/jacobi_explained", "1 - their ratio"),
    {"/dl", GEODEC_F64, "S", 0, "1", "steps of the refinement", 0},
    {"/refined", GEODEC_F64, "S", 0, "activation", "root mean square residual of the geodesics there", 0},
};
/* clang-format on */

static const geodec_attr attrs[] = {
    {"classes", GEODEC_ATTR_STR, 0, "axis C"},
    {"n", GEODEC_ATTR_I64, 0, "dimension"},
    {"order", GEODEC_ATTR_F64, 0, "control: order of the geodesics' residual in the step, 4; 0 = there is none"},
};

const geodec_kind geodec_kind_hjb = {
    .name = "hjb",
    .major = 1,
    .minor = 0,
    .tool = "geodec-hjb",
    .purpose = "residuals of the geodesic equation along classes of trajectories",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

#define NUMBER(name, member)                                                                                           \
    {                                                                                                                  \
        name, offsetof(geodec_hjb_row, member)                                                                         \
    }
#define THREE(name, member)                                                                                            \
    NUMBER(name, member.value), NUMBER(name "_low", member.low), NUMBER(name "_high", member.high)

geodec_status geodec_hjb_write(const geodec_hjb *h, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { C = GEODEC_HJB_CLASSES };
    static const struct {
        const char *name;
        size_t offset;
    } numbers[] = {NUMBER("/total", total),
                   NUMBER("/kinetic", kinetic),
                   NUMBER("/connection", connection),
                   THREE("/turn", turn),
                   THREE("/kinetic_turn", kinetic_turn),
                   THREE("/explained", explained),
                   NUMBER("/jacobi", jacobi),
                   NUMBER("/jacobi_kinetic", jacobi_kinetic),
                   THREE("/jacobi_explained", jacobi_explained)};
    double x[C];
    int64_t paths[C], nodes[C], left[C];
    for (int c = 0; c < C; c++) {
        paths[c] = h->row[c].paths;
        nodes[c] = h->row[c].nodes;
        left[c] = h->row[c].left_out;
    }
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", C, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "S", GEODEC_HJB_STEPS, err));
    GEODEC_TRY(geodec_artifact_write(a, "/paths", paths, err));
    GEODEC_TRY(geodec_artifact_write(a, "/nodes", nodes, err));
    GEODEC_TRY(geodec_artifact_write(a, "/left_out", left, err));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        for (int c = 0; c < C; c++)
            x[c] = *(const double *)(const void *)((const char *)&h->row[c] + numbers[i].offset);
        GEODEC_TRY(geodec_artifact_write(a, numbers[i].name, x, err));
    }
    GEODEC_TRY(geodec_artifact_write(a, "/dl", h->dl, err));
    GEODEC_TRY(geodec_artifact_write(a, "/refined", h->refined, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "classes", "geodesic, walk, straight, text, shuffled, layers", err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n", h->n, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "order", h->order, err));
done:
    return st;
}
