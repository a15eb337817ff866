/* Trajectories for the residuals: of the cloud, and of the model. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "geometry/geodesic.h"
#include "geometry/space_closed.h"
#include "lab/hjb/correct.h"

#include <string.h>

enum { N_MAX = GEODEC_SPACE_DIM_MAX, NEAREST = 4, ATTEMPTS = 200 };

static geodec_status new_paths(int64_t paths, int64_t nodes, int64_t n, geodec_hjb_paths *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *p = (geodec_hjb_paths){.paths = paths, .nodes = nodes};
    GEODEC_NEW_EACH(paths * nodes * n, p->xs, p->ys);
done:
    return st;
}

void geodec_hjb_paths_clear(geodec_hjb_paths *p)
{
    GEODEC_FREE(p->xs, p->ys);
    *p = (geodec_hjb_paths){0};
}

/* The NEAREST points to point p, nearest first. */
static void neighbours(int64_t points, int64_t n, const double *point, int64_t p, int64_t *to)
{
    double least[NEAREST];
    int64_t found = 0;
    for (int64_t i = 0; i < points; i++)
        if (i != p) geodec__keep_nearest(NEAREST, &found, least, to, geodec__gap2(n, point + i * n, point + p * n), i);
}

/* The neighbour of a path that has none of its own: the next one of its class. */
static void pair_up(geodec_hjb_paths *p, int64_t n)
{
    const int64_t size = p->nodes * n;
    for (int64_t i = 0; i < p->paths; i++)
        memcpy(p->ys + i * size, p->xs + (i + 1) % p->paths * size, (size_t)size * sizeof *p->ys);
}

static geodec_status geodesics(const geodec_space *s, int64_t points, const double *point, const geodec_hjb_options *o,
                               double dl, geodec_hjb_paths *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, nodes = p->nodes;
    geodec_geodesic_options g = geodec_geodesic_defaults();
    double *vs = NULL;
    int64_t got = 0;
    g.steps = nodes - 1;
    g.dl = dl;
    GEODEC_NEW(vs, nodes * n);
    for (int64_t i = 0; i < p->paths; i++) {
        geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("hjb geodesic", (uint64_t)i));
        const int64_t q = (int64_t)geodec_rng_below(&rng, (uint64_t)points);
        int64_t to[NEAREST] = {0};
        double v[N_MAX], u[N_MAX], x[N_MAX];
        geodec_path_report report[2];
        neighbours(points, n, point, q, to);
        for (int64_t a = 0; a < n; a++) {
            v[a] = point[to[0] * n + a] - point[q * n + a];
            u[a] = geodec_rng_normal(&rng);
        }
        if (geodec_geodesic_unit(s, point + q * n, v, NULL) != GEODEC_OK) continue;
        if (geodec_geodesic_unit(s, point + q * n, u, NULL) != GEODEC_OK) continue;
        /* one shift for all steps, so that a refinement compares the same curves */
        for (int64_t a = 0; a < n; a++) x[a] = point[q * n + a] + o->shift * o->dl * u[a];
        const geodec_status first = geodec_geodesic_path(s, &g, point + q * n, v, p->xs + got * nodes * n, vs, NULL,
                                                         &report[0], NULL),
                            second =
                                geodec_geodesic_path(s, &g, x, v, p->ys + got * nodes * n, vs, NULL, &report[1], NULL);
        if (first != GEODEC_OK || second != GEODEC_OK || report[0].status == GEODEC_PATH_NONFINITE ||
            report[1].status == GEODEC_PATH_NONFINITE)
            continue;
        got++;
    }
    p->paths = got;
done:
    geodec_mem_free(vs);
    return st;
}

geodec_status geodec_hjb_sample(const geodec_space *s, geodec_hjb_class kind, int64_t points, const double *point,
                                const geodec_hjb_options *o, double dl, int64_t nodes, geodec_hjb_paths *out,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_hjb_paths p = {0};
    const int64_t n = s->n;
    if (points < NEAREST + 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld points; paths through the cloud need at least %d", (long long)points,
                     NEAREST + 2);
    if (o->paths < 1 || nodes < 3 || !(dl > 0) || n > N_MAX || kind > GEODEC_HJB_STRAIGHT)
        GEODEC_THROW(GEODEC_RANGE, "%lld paths of %lld nodes through %lld points", (long long)o->paths,
                     (long long)nodes, (long long)points);
    GEODEC_TRY(new_paths(o->paths, nodes, n, &p, err));
    for (int64_t i = 0; kind != GEODEC_HJB_GEODESIC && i < p.paths; i++) {
        double *x = p.xs + i * nodes * n;
        geodec_rng rng =
            geodec_rng_stream(o->seed, geodec_rng_id(kind == GEODEC_HJB_WALK ? "hjb walk" : "hjb line", (uint64_t)i));
        int64_t at = (int64_t)geodec_rng_below(&rng, (uint64_t)points), to[NEAREST] = {0};
        if (kind == GEODEC_HJB_WALK) {
            for (int64_t t = 0; t < nodes; t++) {
                memcpy(x + t * n, point + at * n, (size_t)n * sizeof *x);
                neighbours(points, n, point, at, to);
                at = to[geodec_rng_below(&rng, NEAREST)];
            }
            continue;
        }
        int64_t end = (int64_t)geodec_rng_below(&rng, (uint64_t)points - 1);
        if (end >= at) end++;
        for (int64_t t = 0; t < nodes; t++) {
            const double c = (double)t / (double)(nodes - 1);
            for (int64_t a = 0; a < n; a++) x[t * n + a] = (1 - c) * point[at * n + a] + c * point[end * n + a];
        }
    }
    if (kind == GEODEC_HJB_GEODESIC)
        GEODEC_TRY(geodesics(s, points, point, o, dl, &p, err));
    else
        pair_up(&p, n);
    GEODEC_MOVE(*out, p);
done:
    geodec_hjb_paths_clear(&p);
    return st;
}

/* ---- of the model ------------------------------------------------------------------------------------------------ */

/* Projects `rows` rows of one layer from row0 on into x [rows][n]. */
static geodec_status project(const geodec_activations *v, int64_t index, int64_t row0, int64_t rows, int64_t n,
                             const double *basis, const double *mean, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *state = NULL;
    char *scratch = NULL;
    GEODEC_NEW(state, rows * v->d);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(v, rows) + 1);
    GEODEC_TRY(geodec_activations_read(v, index, row0, rows, state, scratch, err));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t a = 0; a < n; a++) {
            double s = 0;
            for (int64_t i = 0; i < v->d; i++) s += basis[a * v->d + i] * ((double)state[r * v->d + i] - mean[i]);
            x[r * n + a] = s;
        }
done:
    GEODEC_FREE(state, scratch);
    return st;
}

static geodec_status text(const geodec_activations *v, bool shuffled, int64_t layer, int64_t n, const double *basis,
                          const double *mean, const geodec_hjb_options *o, geodec_hjb_paths *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *sequence = NULL, *position = NULL;
    double *other = NULL;
    int64_t index, got = 0;
    const int64_t nodes = p->nodes;
    GEODEC_TRY(geodec_activations_find_layer(v, layer, &index, err));
    GEODEC_TRY(geodec_artifact_read(v->file, "/sequence", &sequence, err));
    GEODEC_TRY(geodec_artifact_read(v->file, "/position", &position, err));
    GEODEC_NEW(other, nodes * n);
    for (int64_t i = 0; i < p->paths && v->rows >= nodes; i++) {
        double *x = p->xs + got * nodes * n;
        bool found = false;
        geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("hjb text", (uint64_t)i));
        for (int attempt = 0; attempt < ATTEMPTS && !found; attempt++) {
            const int64_t r = (int64_t)geodec_rng_below(&rng, (uint64_t)(v->rows - nodes + 1)), last = r + nodes - 1;
            if (sequence[r] != sequence[last] || (int64_t)position[last] - position[r] != nodes - 1) continue;
            GEODEC_TRY(project(v, index, r, nodes, n, basis, mean, x, err));
            found = true;
        }
        if (!found) continue;
        for (int64_t t = nodes - 1; shuffled && t > 0; t--) {
            const int64_t with = (int64_t)geodec_rng_below(&rng, (uint64_t)t + 1);
            memcpy(other, x + t * n, (size_t)n * sizeof *x);
            memmove(x + t * n, x + with * n, (size_t)n * sizeof *x);
            memcpy(x + with * n, other, (size_t)n * sizeof *x);
        }
        got++;
    }
    p->paths = got;
done:
    GEODEC_FREE(sequence, position, other);
    return st;
}

static geodec_status layers(const geodec_activations *v, int64_t n, const double *basis, const double *mean,
                            const geodec_hjb_options *o, geodec_hjb_paths *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int64_t i = 0; i < p->paths; i++) {
        geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("hjb layers", (uint64_t)i));
        const int64_t r = (int64_t)geodec_rng_below(&rng, (uint64_t)v->rows);
        for (int64_t l = 0; l < p->nodes; l++)
            GEODEC_TRY(project(v, l, r, 1, n, basis, mean, p->xs + (i * p->nodes + l) * n, err));
    }
done:
    return st;
}

geodec_status geodec_hjb_read(const geodec_activations *v, geodec_hjb_class kind, int64_t layer, int64_t n,
                              const double *basis, const double *mean, const geodec_hjb_options *o,
                              geodec_hjb_paths *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_hjb_paths p = {0};
    const bool by_layer = kind == GEODEC_HJB_LAYERS;
    if (kind < GEODEC_HJB_TEXT || o->paths < 1 || o->nodes < 3)
        GEODEC_THROW(GEODEC_RANGE, "%lld paths of %lld nodes from activations", (long long)o->paths,
                     (long long)o->nodes);
    if (by_layer && v->layers < 3) {
        *out = p;
        goto done;
    }
    GEODEC_TRY(new_paths(o->paths, by_layer ? v->layers : o->nodes, n, &p, err));
    if (by_layer)
        GEODEC_TRY(layers(v, n, basis, mean, o, &p, err));
    else
        GEODEC_TRY(text(v, kind == GEODEC_HJB_SHUFFLED, layer, n, basis, mean, o, &p, err));
    pair_up(&p, n);
    GEODEC_MOVE(*out, p);
done:
    geodec_hjb_paths_clear(&p);
    return st;
}
