#include "lab/verification/input.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/foreign.h"

#include <stdio.h>
#include <string.h>

bool geodec_verification_input_is_artifact(const char *path)
{
    static const char magic[] = "geodec artifact ";
    char head[sizeof magic - 1] = "";
    return geodec_file_head(path, head, sizeof head) == sizeof head && memcmp(head, magic, sizeof head) == 0;
}

/* Reads a dataset that may be missing: *out is then NULL. */
static geodec_status optional(const char *path, const char *group, const char *name, int rank, int64_t points,
                              int64_t n, double **out, geodec_err *err)
{
    geodec_err inner = {0};
    char full[512];
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {points, n, n, n, n};
    (void)snprintf(full, sizeof full, "%s/%s", strcmp(group, "/") == 0 ? "" : group, name);
    const geodec_status st = geodec_foreign_read(path, full, rank, shape, NULL, out, &inner);
    if (st == GEODEC_OK || st == GEODEC_NOTFOUND) return GEODEC_OK;
    if (err) *err = inner;
    return st;
}

geodec_status geodec_verification_input_read(const char *path, const char *group, geodec_verification_input *a,
                                             geodec_verification_field *f, geodec_err *err)
{
    char full[512];
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    const char *prefix = strcmp(group, "/") == 0 ? "" : group;
    if (strlen(group) > 400) GEODEC_FAIL(GEODEC_INVAL, "the group's name is too long");
    (void)snprintf(full, sizeof full, "%s/points", prefix);
    GEODEC_PASS(geodec_foreign_read(path, full, 2, shape, NULL, &a->x, err));
    const int64_t points = shape[0], n = shape[1];
    if (n < 1 || n > 64 || points < 1)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: %lld points of dimension %lld; the dimension must lie in 1..64", path,
                    (long long)points, (long long)n);
    shape[2] = n;
    (void)snprintf(full, sizeof full, "%s/g", prefix);
    GEODEC_PASS(geodec_foreign_read(path, full, 3, shape, NULL, &a->g, err));
    GEODEC_PASS(optional(path, group, "dg", 4, points, n, &a->dg, err));
    GEODEC_PASS(optional(path, group, "gamma", 4, points, n, &a->gamma, err));
    GEODEC_PASS(optional(path, group, "dgamma", 5, points, n, &a->dgamma, err));
    GEODEC_PASS(optional(path, group, "riemann", 5, points, n, &a->riem, err));
    GEODEC_PASS(optional(path, group, "ricci", 3, points, n, &a->ricci, err));
    GEODEC_PASS(optional(path, group, "scalar_curvature", 1, points, n, &a->scalar, err));
    *f = (geodec_verification_field){points, n, a->x, a->g, a->dg, a->gamma, a->dgamma, a->riem, a->ricci, a->scalar};
    return GEODEC_OK;
}

/* Points of the artifact and points half-way to the nearest neighbour of each (in polar and other charts with a
 * boundary such a point may lie outside: then it is left out). */
geodec_status geodec_verification_input_points(const geodec_metric *m, const geodec_space *space, int64_t samples,
                                               double **out, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, each = samples < m->points ? samples : m->points;
    double *x = NULL;
    GEODEC_NEW(x, 2 * each * n);
    int64_t used = 0;
    for (int64_t q = 0; q < each; q++, used++)
        memcpy(x + used * n, m->point + q * m->points / each * n, (size_t)n * sizeof *x);
    for (int64_t q = 0; q < each; q++) {
        const int64_t p = q * m->points / each;
        double *mid = x + used * n;
        if (m->k < 1) break;
        for (int64_t i = 0; i < n; i++) mid[i] = 0.5 * (m->point[p * n + i] + m->point[m->knn_index[p * m->k] * n + i]);
        used += space->at(space, mid, NULL, NULL, NULL, NULL) == GEODEC_OK;
    }
    GEODEC_MOVE(*out, x);
    *count = used;
done:
    geodec_mem_free(x);
    return st;
}

/* The curvature of a metric's kind, where it is constant. */
bool geodec_verification_input_curvature(const geodec_metric *m, double *k)
{
    *k = 0;
    switch (m->kind) {
    case GEODEC_METRIC_SPHERE:
    case GEODEC_METRIC_HYPERBOLIC:
        *k = m->curvature;
        return true;
    case GEODEC_METRIC_GAUSSIAN_FISHER:
        *k = -0.5;
        return true;
    case GEODEC_METRIC_POLAR:
    case GEODEC_METRIC_FLAT:
    case GEODEC_METRIC_EUCLIDEAN:
        return true;
    default:
        return false;
    }
}

void geodec_verification_input_clear(geodec_verification_input *a)
{
    GEODEC_FREE(a->x, a->g, a->dg, a->gamma, a->dgamma, a->riem, a->ricci, a->scalar);
    memset(a, 0, sizeof *a);
}
