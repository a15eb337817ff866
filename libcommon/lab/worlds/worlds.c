#include "lab/worlds/worlds.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "lab/worlds/worlds_internal.h"
#include "linalg/surrogate.h"

#include <string.h>

enum { N = GEODEC__WORLD_N, PARAMETERS = GEODEC__WORLD_N + 1, FORMS_DEFAULT = 8 };

const char *const geodec_world_set_names[] = {"sphere", "hyperbolic", "product",  "torus",    "quadratic", "flat",
                                              "field",  "warp",       "families", "gaussian", NULL};
const char *const geodec_world_sampling_names[] = {"independent", "walk", "geodesic", "flow", NULL};

geodec_world_options geodec_world_defaults(void)
{
    return (geodec_world_options){.set = GEODEC_WORLD_SPHERE,
                                  .n = 2,
                                  .amplitude = 0.5,
                                  .family = 4,
                                  .ambient = 16,
                                  .points = 1000,
                                  .radius = 1,
                                  .null_of = GEODEC_WORLD_SPHERE,
                                  .text_length = 32,
                                  .step = 0.1,
                                  .turn = 0.1,
                                  .share = 1,
                                  .orbits = 8,
                                  .strength = 1,
                                  .seed = 1};
}

/* ---- options ------------------------------------------------------------------------------------------------------
 */

static int32_t forms_of(const geodec_world_options *o)
{
    const int32_t all = o->n * (o->n + 1) / 2;
    return o->forms > 0 ? o->forms : all < FORMS_DEFAULT ? all : FORMS_DEFAULT;
}

int64_t geodec_world_natural(const geodec_world_options *o)
{
    geodec_world_options of = *o;
    switch (o->set) {
    case GEODEC_WORLD_SPHERE:
    case GEODEC_WORLD_PRODUCT:
        return o->n + 1;
    case GEODEC_WORLD_HYPERBOLIC:
        return 2 * o->n - 1;
    case GEODEC_WORLD_TORUS:
        return o->strength < 1 ? 4 : 3;
    case GEODEC_WORLD_QUADRATIC:
        return o->n + forms_of(o);
    case GEODEC_WORLD_FLAT:
    case GEODEC_WORLD_FIELD:
    case GEODEC_WORLD_WARP:
    case GEODEC_WORLD_FAMILIES:
        return o->n;
    default:
        break;
    }
    if (o->variance || o->null_of == GEODEC_WORLD_GAUSSIAN) return o->ambient;
    of.set = o->null_of;
    return geodec_world_natural(&of);
}

static double cap_of(const geodec_world_options *o)
{
    const bool round = o->set == GEODEC_WORLD_SPHERE || o->set == GEODEC_WORLD_PRODUCT;
    return o->cap > 0 ? o->cap : round ? GEODEC__WORLD_PI : 1;
}
static double tube_of(const geodec_world_options *o)
{
    return o->tube > 0 ? o->tube : o->radius / (o->set == GEODEC_WORLD_FAMILIES ? 100 : 2);
}
static bool has_geometry(const geodec_world_options *o)
{
    return o->set != GEODEC_WORLD_GAUSSIAN && o->set != GEODEC_WORLD_FAMILIES;
}

static geodec_status check_texts(const geodec_world_options *o, geodec_err *err)
{
    if (!o->sequence != !o->position) GEODEC_FAIL(GEODEC_RANGE, "sequences without positions, or the reverse");
    if (!o->sequence) return GEODEC_OK;
    for (int64_t i = 0; i < o->points; i++)
        if (o->position[i] < 0 ||
            (i > 0 && o->sequence[i] == o->sequence[i - 1] && o->position[i] <= o->position[i - 1]))
            GEODEC_FAIL(GEODEC_RANGE, "row %lld: positions of a text must rise from 0", (long long)i);
    return GEODEC_OK;
}

static geodec_status check_shape(const geodec_world_options *o, geodec_err *err)
{
    const geodec_world_set set = o->set == GEODEC_WORLD_GAUSSIAN ? o->null_of : o->set;
    const int32_t least = set == GEODEC_WORLD_PRODUCT ? 3 : 2, most = set == GEODEC_WORLD_TORUS ? 2 : N;
    if ((unsigned)o->set >= GEODEC_WORLD_SETS || (unsigned)set >= GEODEC_WORLD_SETS)
        GEODEC_FAIL(GEODEC_RANGE, "there is no such set");
    if ((unsigned)o->sampling >= GEODEC_WORLD_SAMPLINGS) GEODEC_FAIL(GEODEC_RANGE, "there is no such sampling");
    if (o->n < least || o->n > most)
        GEODEC_FAIL(GEODEC_RANGE, "the dimension of a %s is in %d..%d, not %d", geodec_world_set_names[set], (int)least,
                    (int)most, (int)o->n);
    if (!(o->radius > 0) || !isfinite(o->radius)) GEODEC_FAIL(GEODEC_RANGE, "radius %g", o->radius);
    if (!(o->cap >= 0) || !isfinite(o->cap)) GEODEC_FAIL(GEODEC_RANGE, "half-angle %g", o->cap);
    if ((set == GEODEC_WORLD_SPHERE || set == GEODEC_WORLD_PRODUCT) && o->cap > GEODEC__WORLD_PI + 1e-12)
        GEODEC_FAIL(GEODEC_RANGE, "the half-angle %g is above pi", o->cap);
    if (set == GEODEC_WORLD_TORUS && !(tube_of(o) < o->radius))
        GEODEC_FAIL(GEODEC_RANGE, "the tube's radius %g is not below %g", tube_of(o), o->radius);
    if (set == GEODEC_WORLD_FAMILIES && (o->family < 2 || o->family > o->points || tube_of(o) > o->radius / 4))
        GEODEC_FAIL(GEODEC_RANGE, "families of %d rows within %g; at least 2, and at most a quarter of %g",
                    (int)o->family, tube_of(o), o->radius);
    if (!(o->amplitude >= 0) || !isfinite(o->amplitude) || !(o->scale >= 0) || !isfinite(o->scale))
        GEODEC_FAIL(GEODEC_RANGE, "a field of amplitude %g and scale %g", o->amplitude, o->scale);
    if (!(o->length >= 0) || !isfinite(o->length) || !(o->tube >= 0))
        GEODEC_FAIL(GEODEC_RANGE, "length %g, tube %g", o->length, o->tube);
    if (o->forms < 0 || o->forms > GEODEC__WORLD_FORMS)
        GEODEC_FAIL(GEODEC_RANGE, "%d forms; at most %d", (int)o->forms, (int)GEODEC__WORLD_FORMS);
    if (o->set == GEODEC_WORLD_GAUSSIAN && !o->variance && set == GEODEC_WORLD_GAUSSIAN)
        GEODEC_FAIL(GEODEC_RANGE, "a Gaussian world needs variances or a set");
    return GEODEC_OK;
}

static geodec_status check(const geodec_world_options *o, geodec_err *err)
{
    GEODEC_PASS(check_shape(o, err));
    if (o->points < 2 || o->points > INT32_MAX || o->ambient > 1 << 20)
        GEODEC_FAIL(GEODEC_RANGE, "%lld points in %lld dimensions", (long long)o->points, (long long)o->ambient);
    if (o->ambient < geodec_world_natural(o))
        GEODEC_FAIL(GEODEC_RANGE, "the %s lies in %lld dimensions, more than %lld", geodec_world_set_names[o->set],
                    (long long)geodec_world_natural(o), (long long)o->ambient);
    if (!(o->noise >= 0) || !isfinite(o->noise)) GEODEC_FAIL(GEODEC_RANGE, "noise %g", o->noise);
    for (int64_t a = 0; a < o->ambient; a++)
        if ((o->spectrum && (!(o->spectrum[a] >= 0) || !isfinite(o->spectrum[a]))) ||
            (o->variance && (!(o->variance[a] >= 0) || !isfinite(o->variance[a]))))
            GEODEC_FAIL(GEODEC_RANGE, "variance number %lld is not a variance", (long long)a);
    if (o->text_length < 1) GEODEC_FAIL(GEODEC_RANGE, "texts of %lld rows", (long long)o->text_length);
    if (!(o->step > 0) || !isfinite(o->step)) GEODEC_FAIL(GEODEC_RANGE, "step %g", o->step);
    if (!(o->turn >= 0)) GEODEC_FAIL(GEODEC_RANGE, "rate of turning %g", o->turn);
    if (!(o->recur >= 0 && o->recur <= 1)) GEODEC_FAIL(GEODEC_RANGE, "share %g of texts that recur", o->recur);
    if (o->orbits < 1) GEODEC_FAIL(GEODEC_RANGE, "%d orbits", (int)o->orbits);
    if (o->sampling == GEODEC_WORLD_FLOW && (o->set != GEODEC_WORLD_SPHERE || o->n % 2 == 0 || o->strength != 1 ||
                                             (o->cap > 0 && o->cap < GEODEC__WORLD_PI - 1e-12)))
        GEODEC_FAIL(GEODEC_RANGE, "a flow needs a whole sphere of odd dimension and strength 1");
    if (!(fabs(o->share) <= 1)) GEODEC_FAIL(GEODEC_RANGE, "share %g", o->share);
    if (!(o->strength >= 0 && o->strength <= 1)) GEODEC_FAIL(GEODEC_RANGE, "strength %g", o->strength);
    return check_texts(o, err);
}

/* ---- the set ------------------------------------------------------------------------------------------------------
 */

static geodec_status set_forms(const geodec_world_options *o, geodec__world_shape *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = o->n;
    geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("worlds forms", 0));
    s->forms = forms_of(o);
    GEODEC_NEW(s->form, s->forms * n * n);
    for (int64_t a = 0; a < s->forms; a++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i; j < n; j++) {
                double q;
                if (o->form) {
                    q = o->form[(a * n + i) * n + j];
                    if (!isfinite(q) || q != o->form[(a * n + j) * n + i])
                        GEODEC_THROW(GEODEC_RANGE, "form %lld is not symmetric and finite", (long long)a);
                } else {
                    q = geodec_rng_normal(&r) * sqrt((i == j ? 2 : 1) / (double)n) / o->radius;
                }
                s->form[(a * n + i) * n + j] = s->form[(a * n + j) * n + i] = sqrt(o->strength) * q;
            }
done:
    return st;
}

static void shape_destroy(geodec__world_shape *s)
{
    if (s) {
        geodec_world_field_clear(&s->field);
        geodec_mem_free(s->form);
    }
    geodec_mem_free(s);
}

/* *out in new memory, of options that were checked. */
static geodec_status shape_create(const geodec_world_options *o, geodec__world_shape **out, geodec_err *err)
{
    static const geodec__world_ops *const ops[] = {
        [GEODEC_WORLD_SPHERE] = &geodec__world_sphere,       [GEODEC_WORLD_HYPERBOLIC] = &geodec__world_hyperbolic,
        [GEODEC_WORLD_PRODUCT] = &geodec__world_product,     [GEODEC_WORLD_TORUS] = &geodec__world_torus,
        [GEODEC_WORLD_QUADRATIC] = &geodec__world_quadratic, [GEODEC_WORLD_FLAT] = &geodec__world_flat,
        [GEODEC_WORLD_FIELD] = &geodec__world_field,         [GEODEC_WORLD_WARP] = &geodec__world_warp,
    };
    geodec_status st = GEODEC_OK;
    geodec__world_shape *s = NULL;
    GEODEC_NEW(s, 1);
    s->set = o->set;
    s->n = s->parameters = o->n;
    s->natural = (int32_t)geodec_world_natural(o);
    s->strength = o->strength;
    s->size = cap_of(o) * o->radius;
    s->length = o->length > 0 ? o->length : 2 * s->size;
    s->radius = o->radius;
    s->tube = tube_of(o);
    s->ops = ops[o->set];
    if (o->set == GEODEC_WORLD_TORUS) {
        s->height = 4 * s->tube * geodec__world_quarter(o->strength);
    } else if (o->set == GEODEC_WORLD_QUADRATIC) {
        GEODEC_TRY(set_forms(o, s, err));
    } else if (o->set == GEODEC_WORLD_WARP) {
        GEODEC_TRY(geodec_world_carry_init(&s->carry, o->n, s->size, o->strength, err));
    } else if (o->set == GEODEC_WORLD_FIELD) {
        GEODEC_TRY(geodec_world_field_init(&s->field, o->n, true, o->amplitude, o->scale > 0 ? o->scale : s->size / 2,
                                           o->strength, o->seed, err));
    } else if (o->set != GEODEC_WORLD_FLAT && o->strength > 0) {
        s->radius = o->radius / sqrt(o->strength);
        if (o->set != GEODEC_WORLD_HYPERBOLIC) s->parameters++;
    } else {
        s->ops = &geodec__world_flat;
        if (o->set == GEODEC_WORLD_HYPERBOLIC) s->length = geodec__world_girth(o->n, o->radius);
    }
    if (s->ops == &geodec__world_hyperbolic || s->ops == &geodec__world_torus || s->ops == &geodec__world_quadratic)
        geodec__world_chart_init(s);
    GEODEC_MOVE(*out, s);
done:
    shape_destroy(s);
    return st;
}

/* ---- points -------------------------------------------------------------------------------------------------------
 */

/* What belongs to each row: its place, frame, curvature, and the direction in the frame. */
static geodec_status fill_rows(const geodec__world_shape *s, const double *direction, const double *vector,
                               geodec_world *w, geodec_err *err)
{
    const int64_t n = s->n, m = s->natural, p = s->parameters;
    double e[N * PARAMETERS], dy[GEODEC__WORLD_NATURAL], k[3];
    for (int64_t i = 0; i < w->points; i++) {
        const double *u = w->parameter + i * p;
        double *frame = w->frame + i * n * m;
        s->ops->embed(s, u, w->y + i * m);
        GEODEC_PASS(s->ops->frame(s, u, e, err));
        for (int64_t a = 0; a < n; a++) s->ops->push(s, u, e + a * p, frame + a * m);
        s->ops->curvature(s, u, e, k);
        w->scalar[i] = k[0];
        w->sectional_min[i] = k[1];
        w->sectional_max[i] = k[2];
        s->ops->push(s, u, direction + i * p, dy);
        for (int64_t a = 0; a < n; a++) w->heading[i * n + a] = geodec__dot(m, frame + a * m, dy);
        if (i == 0) continue;
        s->ops->push(s, u - p, vector + i * p, dy);
        for (int64_t a = 0; a < n; a++) w->advance[i * n + a] = geodec__dot(m, frame - n * m + a * m, dy);
    }
    return GEODEC_OK;
}

/* The null: normal points with given variances along the axes, or with the covariance of the points of a set. */
static geodec_status fill_null(const geodec_world_options *o, geodec_world *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_world of = {0};
    geodec_world_options twin = *o;
    if (o->variance) {
        for (int64_t i = 0; i < o->points; i++) {
            geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("worlds normal", (uint64_t)i));
            for (int64_t a = 0; a < o->ambient; a++)
                w->y[i * w->natural + a] = sqrt(o->variance[a]) * geodec_rng_normal(&r);
        }
    } else {
        twin.set = o->null_of;
        twin.ambient = w->natural;
        twin.noise = 0;
        twin.spectrum = NULL;
        GEODEC_TRY(geodec_world_make(&twin, &of, err));
        GEODEC_TRY(geodec_surrogate_draw(GEODEC_SURROGATE_GAUSSIAN, o->points, w->natural, of.y, o->seed,
                                         geodec_rng_id("worlds null", 0), w->y, err));
    }
    memcpy(w->parameter, w->y, (size_t)(o->points * w->natural) * sizeof *w->y);
done:
    geodec_world_clear(&of);
    return st;
}

/* clean, x, basis and the variances. At most MAP reflections, so that the map of a full Gaussian costs no D^2 a point.
 */
static geodec_status embed(const geodec_world_options *o, geodec_world *w, geodec_err *err)
{
    enum { MAP = GEODEC__WORLD_NATURAL };
    geodec_status st = GEODEC_OK;
    const int64_t d = w->ambient, m = w->natural, maps = m < MAP ? m : MAP;
    double *map = NULL, *noise = NULL, *mean = NULL;
    GEODEC_NEW_EACH(d, noise, mean);
    GEODEC_NEW(map, maps * d);
    geodec__world_map_make(o->seed, maps, d, map);
    for (int64_t a = 0; a < m; a++) {
        w->basis[a * d + a] = 1;
        geodec__world_map_apply(maps, d, map, w->basis + a * d);
    }
    for (int64_t i = 0; i < w->points; i++) {
        geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("worlds noise", (uint64_t)i));
        double *clean = w->clean + i * d, *x = w->x + i * d;
        memcpy(clean, w->y + i * m, (size_t)m * sizeof *clean);
        geodec__world_map_apply(maps, d, map, clean);
        for (int64_t a = 0; a < d; a++)
            noise[a] = (o->spectrum ? sqrt(o->spectrum[a]) : o->noise) * geodec_rng_normal(&r);
        if (o->spectrum) geodec__world_map_apply(maps, d, map, noise);
        for (int64_t a = 0; a < d; a++) x[a] = clean[a] + noise[a];
    }
    for (int64_t i = 0; i < w->points; i++)
        for (int64_t a = 0; a < m; a++) mean[a] += w->y[i * m + a] / (double)w->points;
    for (int64_t i = 0; i < w->points; i++) w->set_variance += geodec__gap2(m, w->y + i * m, mean);
    w->set_variance /= (double)(w->points - 1);
    for (int64_t a = 0; a < d; a++) w->noise_variance += o->spectrum ? o->spectrum[a] : o->noise * o->noise;
done:
    GEODEC_FREE(map, noise, mean);
    return st;
}

/* y [ambient] = sum_a natural_a basis_a */
static void raise_to(const geodec_world *w, const double *natural, double *y)
{
    memset(y, 0, (size_t)w->ambient * sizeof *y);
    for (int64_t a = 0; a < w->natural; a++)
        for (int64_t k = 0; k < w->ambient; k++) y[k] += natural[a] * w->basis[a * w->ambient + k];
}

static geodec_status reserve(geodec_world *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t rows = w->points;
    GEODEC_NEW_EACH(rows, w->sequence, w->position);
    GEODEC_NEW_EACH(rows, w->scalar, w->sectional_min, w->sectional_max);
    GEODEC_NEW(w->turned, rows);
    GEODEC_NEW_EACH(rows * w->ambient, w->x, w->clean);
    GEODEC_NEW(w->y, rows * w->natural);
    GEODEC_NEW(w->basis, w->natural * w->ambient);
    GEODEC_NEW(w->parameter, rows * w->parameters);
    GEODEC_NEW_EACH(rows * w->n, w->heading, w->advance);
    if (w->set == GEODEC_WORLD_FAMILIES) GEODEC_NEW(w->covered, rows);
    if (w->set == GEODEC_WORLD_WARP) GEODEC_NEW(w->fact, 3 * w->ambient);
    if (w->shape) GEODEC_NEW(w->frame, rows * w->n * w->natural);
done:
    return st;
}

geodec_status geodec_world_make(const geodec_world_options *o, geodec_world *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_world w = {0};
    double *direction = NULL, *vector = NULL;
    GEODEC_PASS(check(o, err));
    w.set = o->set;
    w.sampling = o->sampling;
    w.points = o->points;
    w.ambient = o->ambient;
    w.natural = w.parameters = geodec_world_natural(o);
    w.n = o->n;
    w.radius = o->radius;
    w.cap = cap_of(o);
    w.tube = tube_of(o);
    w.amplitude = o->amplitude;
    w.scale = o->scale;
    w.family = o->family;
    w.noise = o->noise;
    w.step = o->step;
    w.turn = o->turn;
    w.share = o->share;
    w.recur = o->recur;
    w.orbits = o->orbits;
    w.strength = o->strength;
    w.seed = o->seed;
    if (has_geometry(o)) {
        GEODEC_TRY(shape_create(o, &w.shape, err));
        w.parameters = w.shape->parameters;
        w.tube = w.shape->tube;
        w.length = w.shape->length;
        if (!(w.scale > 0)) w.scale = w.shape->size / 2;
    }
    GEODEC_TRY(reserve(&w, err));
    if (!w.shape) {
        geodec__world_rows(o, &w);
        for (int64_t i = 0; i < w.points; i++) w.scalar[i] = w.sectional_min[i] = w.sectional_max[i] = NAN;
        if (o->set == GEODEC_WORLD_FAMILIES)
            GEODEC_TRY(geodec__world_families(o, &w, err));
        else
            GEODEC_TRY(fill_null(o, &w, err));
    } else {
        GEODEC_NEW_EACH(w.points * w.parameters, direction, vector);
        GEODEC_TRY(geodec__world_texts(o, w.shape, &w, direction, vector, err));
        GEODEC_TRY(fill_rows(w.shape, direction, vector, &w, err));
    }
    GEODEC_TRY(embed(o, &w, err));
    if (w.fact) {
        raise_to(&w, w.shape->carry.query, w.fact);
        raise_to(&w, w.shape->carry.end, w.fact + w.ambient);
        raise_to(&w, w.shape->carry.target, w.fact + 2 * w.ambient);
    }
    GEODEC_MOVE(*out, w);
done:
    GEODEC_FREE(direction, vector);
    geodec_world_clear(&w);
    return st;
}

void geodec_world_clear(geodec_world *w)
{
    GEODEC_FREE(w->x, w->clean, w->y, w->basis, w->parameter, w->frame, w->heading, w->advance, w->sequence,
                w->position, w->turned, w->covered, w->fact, w->scalar, w->sectional_min, w->sectional_max);
    shape_destroy(w->shape);
    *w = (geodec_world){0};
}

/* ---- along the set ------------------------------------------------------------------------------------------------
 */

geodec_status geodec_world_geodesic(const geodec_world *w, int64_t i, const double *c, double s, double *y, double *v,
                                    geodec_err *err)
{
    const geodec__world_shape *shape = w->shape;
    double u[PARAMETERS], d[PARAMETERS] = {0}, e[N * PARAMETERS], natural[GEODEC__WORLD_NATURAL];
    if (!shape) GEODEC_FAIL(GEODEC_NUMERIC, "a world of this kind has no geodesics");
    if (i < 0 || i >= w->points) GEODEC_FAIL(GEODEC_RANGE, "there is no row %lld", (long long)i);
    if (!c) c = w->heading + i * w->n;
    if (!(fabs(geodec__dot(w->n, c, c) - 1) < 1e-9)) GEODEC_FAIL(GEODEC_NUMERIC, "the direction is not of unit length");
    const int p = shape->parameters;
    memcpy(u, w->parameter + i * p, (size_t)p * sizeof *u);
    GEODEC_PASS(shape->ops->frame(shape, u, e, err));
    for (int a = 0; a < w->n; a++)
        for (int k = 0; k < p; k++) d[k] += c[a] * e[a * p + k];
    GEODEC_PASS(shape->ops->go(shape, u, d, s, err));
    shape->ops->embed(shape, u, natural);
    raise_to(w, natural, y);
    if (v) {
        shape->ops->push(shape, u, d, natural);
        raise_to(w, natural, v);
    }
    return GEODEC_OK;
}

void geodec_world_tangent(const geodec_world *w, int64_t i, double *t)
{
    for (int64_t a = 0; a < w->n; a++) {
        if (w->frame)
            raise_to(w, w->frame + (i * w->n + a) * w->natural, t + a * w->ambient);
        else
            memset(t + a * w->ambient, 0, (size_t)w->ambient * sizeof *t);
    }
}

const geodec_space *geodec_world_space(const geodec_world *w)
{
    if (!w->shape) return NULL;
    if (w->set == GEODEC_WORLD_FIELD) return &w->shape->field.space;
    if (w->set == GEODEC_WORLD_WARP) return &w->shape->carry.space;
    return w->shape->space.at ? &w->shape->space : NULL;
}
