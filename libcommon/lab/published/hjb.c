#include "lab/published/hjb.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/vec_internal.h"
#include "io/foreign.h"
#include "shf/residual.h"

geodec_status geodec_hjb_published(const geodec_harness_manifold *m, int64_t nodes, const double *xs, double *total,
                                   double *kinetic, double *curvature, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, n4 = n * n * n * n;
    double *riem = NULL, d[GEODEC_PUBLISHED_MAX_N], d2[GEODEC_PUBLISHED_MAX_N], r[GEODEC_PUBLISHED_MAX_N],
           j[GEODEC_PUBLISHED_MAX_N];
    if (nodes < 3) GEODEC_THROW(GEODEC_RANGE, "a residual needs 3 nodes, not %lld", (long long)nodes);
    GEODEC_NEW(riem, 2 * n4);
    for (int64_t l = 1; l + 1 < nodes; l++) {
        const double *s = xs + l * n;
        for (int64_t i = 0; i < n; i++) {
            d[i] = s[n + i] - s[i];
            d2[i] = s[n + i] - 2 * s[i] + s[i - n];
        }
        geodec_harness_riemann(m, s, 5e-3, riem, riem + n4);
        for (int64_t a = 0; a < n; a++) {
            r[a] = 0;
            for (int64_t q = 0; q < n; q++) { /* K^a_q = R^a_iql v^i v^l first, as the harness does */
                double k = 0;
                for (int64_t i = 0; i < n; i++)
                    for (int64_t c = 0; c < n; c++) k += riem[((a * n + i) * n + q) * n + c] * d[i] * d[c];
                r[a] += k * d[q];
            }
            j[a] = d2[a] + r[a];
        }
        total[l - 1] = geodec__dot(n, j, j);
        kinetic[l - 1] = geodec__dot(n, d2, d2);
        curvature[l - 1] = geodec__dot(n, r, r);
    }
done:
    geodec_mem_free(riem);
    return st;
}

/* ---- the classes, and the artifact ------------------------------------------------------------------------------- */

typedef struct report {
    const geodec_hjb_published_means *row;
    int64_t n, flops;
    double sigma;
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_hjb_published_means, m)

/* clang-format off */
static const geodec_field fields[] = {
    {"/kinetic", GEODEC_F64, "C", 0, "activation^2", "mean |D2 s|^2 of a node", 0, OF(kinetic)},
    {"/curvature", GEODEC_F64, "C", 0, "activation^2", "mean |R(D s) D s|^2: zero for every metric; the value is rounding", 0, OF(curvature)},
    {"/total", GEODEC_F64, "C", 0, "activation^2", "mean |J|^2", 0, OF(total)},
    {"/covariant", GEODEC_F64, "C", 0, "activation^2", "control: mean |D2 s + Gamma(Dc s, Dc s)|^2 in the smooth field of width sigma", 0, OF(covariant)},
    {"/connection", GEODEC_F64, "C", 0, "activation^2", "mean |Gamma(Dc s, Dc s)|^2 there", 0, OF(connection)},
    {"/paths", GEODEC_I64, "C", 0, "1", "paths", 0, OF(paths)},
};
/* clang-format on */

static const geodec_attr attrs[] = {
    {"classes", GEODEC_ATTR_STR, 0, "axis C", GEODEC_TEXT("geodesic, nn_walk, straight")},
    {"n", GEODEC_ATTR_I64, 0, "dimension", IN(n)},
    {"sigma", GEODEC_ATTR_F64, 0, "width of the smooth field: median distance to the nearest neighbour", IN(sigma)},
    {"flops", GEODEC_ATTR_I64, 0, "published estimate of a residual's cost, 2 n^4 N + n^5", IN(flops)},
};

static const geodec_extent extents[] = {{"C", .plus = GEODEC_PUBLISHED_HJB_CLASSES}};

const geodec_kind geodec_hjb_published_kind = {
    GEODEC_ABOUT("hjb-ref", 1, 0, "geodec-published hjb", "the published residual along the published trajectories"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_hjb_published_means), offsetof(report, row), false},
};

geodec_status geodec_hjb_published_write(const geodec_hjb_published_means *row, int64_t points, int64_t n, double sigma,
                                         geodec_artifact *a, geodec_err *err)
{
    const report r = {row, n, 2 * n * n * n * n * points + n * n * n * n * n, sigma};
    return geodec_artifact_save(a, &r, err);
}

/* Means of one published class. */
geodec_status geodec_hjb_published_class(const char *draws, const char *name, const geodec_harness_manifold *m,
                                         const geodec_space *smooth, geodec_hjb_published_means *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_hjb_published_means r = {0};
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1, m->n};
    double *xs = NULL, *part = NULL;
    GEODEC_TRY(geodec_foreign_read(draws, name, 3, shape, NULL, &xs, err));
    const int64_t inner = shape[1] - 2;
    if (inner < 1 || shape[0] < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: %s has no paths", draws, name);
    GEODEC_NEW(part, 5 * inner);
    for (int64_t p = 0; p < shape[0]; p++) {
        const double *x = xs + p * shape[1] * m->n;
        const geodec_residual_parts parts = {.total = part + 3 * inner, .connection = part + 4 * inner};
        GEODEC_TRY(geodec_hjb_published(m, shape[1], x, part, part + inner, part + 2 * inner, err));
        GEODEC_TRY(geodec_residual_path(smooth, shape[1], x, &parts, err));
        for (int64_t l = 0; l < inner; l++) {
            r.total += part[l];
            r.kinetic += part[inner + l];
            r.curvature += part[2 * inner + l];
            r.covariant += part[3 * inner + l];
            r.connection += part[4 * inner + l];
        }
    }
    double *const all[] = {&r.total, &r.kinetic, &r.curvature, &r.covariant, &r.connection};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] /= (double)(inner * shape[0]);
    r.paths = shape[0];
    *out = r;
done:
    GEODEC_FREE(xs, part);
    return st;
}
