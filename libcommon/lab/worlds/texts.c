/* Points of a world in the parameters of its set: independent, or along texts. */
#include "base/vec_internal.h"
#include "lab/worlds/worlds_internal.h"

#include <string.h>

enum { N = GEODEC__WORLD_N, PARAMETERS = GEODEC__WORLD_N + 1, TRIES = 1000 };

/* A traveller: where it is, and its unit direction there. */
typedef struct state {
    double u[PARAMETERS], d[PARAMETERS];
} state;

/* An isotropic tangent vector at u: normal components in the frame, divided by sqrt(n), or of unit length. */
static geodec_status isotropic(const geodec__world_shape *s, const double *u, bool unit, geodec_rng *r, double *e,
                               geodec_err *err)
{
    double frame[N * PARAMETERS], c[N];
    GEODEC_PASS(s->ops->frame(s, u, frame, err));
    if (unit)
        geodec__world_unit(r, s->n, c);
    else
        geodec__world_normals(r, s->n, c);
    for (int a = 0; a < s->parameters; a++) {
        e[a] = 0;
        for (int i = 0; i < s->n; i++) e[a] += c[i] * frame[i * s->parameters + a];
        if (!unit) e[a] /= sqrt((double)s->n);
    }
    return GEODEC_OK;
}

static double length_of(const geodec__world_shape *s, const double *u, const double *d)
{
    double y[GEODEC__WORLD_NATURAL];
    s->ops->push(s, u, d, y);
    return sqrt(geodec__dot(s->natural, y, y));
}

/* The vector of the next step, of mean square length 1. */
static geodec_status choose(const geodec_world_options *o, const geodec__world_shape *s, const state *at, geodec_rng *r,
                            double *w, geodec_err *err)
{
    const bool walk = o->sampling == GEODEC_WORLD_WALK;
    const double keep = walk ? exp(-o->turn) : o->share, rest = sqrt(fmax(0, 1 - keep * keep));
    double e[PARAMETERS];
    GEODEC_PASS(isotropic(s, at->u, !walk, r, e, err));
    for (int a = 0; a < s->parameters; a++) w[a] = keep * at->d[a] + rest * e[a];
    if (walk) {
        const double length = length_of(s, at->u, w);
        for (int a = 0; a < s->parameters; a++) w[a] /= length;
    }
    return GEODEC_OK;
}

/* flow: the unit direction of J u at u, in the parameters of a sphere, in the place of the last one. */
static void follow(const geodec_world_options *o, const geodec__world_shape *s, state *at)
{
    for (int a = 0; o->sampling == GEODEC_WORLD_FLOW && a + 1 < s->parameters; a += 2) {
        at->d[a] = -at->u[a + 1] / s->radius;
        at->d[a + 1] = at->u[a] / s->radius;
    }
}

/* exp(step w), then the direction carried along; *inside: whether that is in the piece. */
static geodec_status move(const geodec_world_options *o, const geodec__world_shape *s, const double *w, state *at,
                          bool *inside, geodec_err *err)
{
    state next = *at;
    const double length = length_of(s, at->u, w);
    *inside = false;
    if (!(length > 0)) return GEODEC_OK; /* no direction; drawn again */
    for (int a = 0; a < s->parameters; a++) next.d[a] = w[a] / length;
    const geodec_status st = s->ops->go(s, next.u, next.d, o->step * length, NULL);
    if (st == GEODEC_NUMERIC) return GEODEC_OK; /* beyond the set */
    if (st != GEODEC_OK) GEODEC_FAIL(st, "a step along the set");
    *inside = s->ops->inside(s, next.u);
    if (*inside) *at = next;
    return GEODEC_OK;
}

/* w: the vector of the step that was made. */
static geodec_status step(const geodec_world_options *o, const geodec__world_shape *s, state *at, geodec_rng *r,
                          bool *turned, double *w, geodec_err *err)
{
    bool inside;
    follow(o, s, at);
    GEODEC_PASS(choose(o, s, at, r, w, err));
    GEODEC_PASS(move(o, s, w, at, &inside, err));
    for (int k = 0; !inside && k < TRIES; k++) {
        *turned = true;
        GEODEC_PASS(isotropic(s, at->u, true, r, w, err));
        GEODEC_PASS(move(o, s, w, at, &inside, err));
    }
    if (!inside)
        GEODEC_FAIL(GEODEC_RANGE, "a step of %g does not stay in the piece of the %s, of the size %g", o->step,
                    geodec_world_set_names[o->set], s->size);
    return GEODEC_OK;
}

/* The orbit of text number t, or -1 for one of its own: text t recurs where floor(recur (t + 1)) > floor(recur t). */
static int64_t orbit_of(const geodec_world_options *o, int64_t t)
{
    const double before = floor(o->recur * (double)t);
    return floor(o->recur * (double)(t + 1)) > before ? (int64_t)before % o->orbits : -1;
}

/* At the start of the text of row i; for a text that recurs, at its first position on the orbit. */
static geodec_status begin(const geodec_world_options *o, const geodec__world_shape *s, int64_t i, int64_t orbit,
                           int32_t position, geodec_rng *r, state *at, geodec_err *err)
{
    double passed[PARAMETERS];
    bool turned = false;
    *r = geodec_rng_stream(o->seed, orbit < 0 ? geodec_rng_id("worlds text", (uint64_t)i)
                                              : geodec_rng_id("worlds orbit", (uint64_t)orbit));
    s->ops->draw(s, r, at->u);
    GEODEC_PASS(isotropic(s, at->u, true, r, at->d, err));
    for (int32_t k = 0; orbit >= 0 && k < position; k++) GEODEC_PASS(step(o, s, at, r, &turned, passed, err));
    return GEODEC_OK;
}

void geodec__world_rows(const geodec_world_options *o, geodec_world *w)
{
    for (int64_t i = 0; i < o->points; i++) {
        const bool apart = o->sampling == GEODEC_WORLD_INDEPENDENT;
        w->sequence[i] = o->sequence ? o->sequence[i] : (int32_t)(apart ? i : i / o->text_length);
        w->position[i] = o->position ? o->position[i] : (int32_t)(apart ? 0 : i % o->text_length);
        w->texts += i == 0 || w->sequence[i] != w->sequence[i - 1];
    }
}

geodec_status geodec__world_texts(const geodec_world_options *o, const geodec__world_shape *s, geodec_world *w,
                                  double *direction, double *vector, geodec_err *err)
{
    const int64_t p = s->parameters;
    int64_t text = 0;
    geodec_rng r = {0};
    state at = {0};
    double passed[PARAMETERS];
    geodec__world_rows(o, w);
    for (int64_t i = 0; i < o->points; i++) {
        bool turned = false;
        const bool first = i == 0 || w->sequence[i] != w->sequence[i - 1];
        if (o->sampling == GEODEC_WORLD_INDEPENDENT) {
            r = geodec_rng_stream(o->seed, geodec_rng_id("worlds point", (uint64_t)i));
            s->ops->draw(s, &r, at.u);
        } else if (first) {
            const int64_t orbit = orbit_of(o, text++);
            w->recurring += orbit >= 0;
            GEODEC_PASS_MSG(begin(o, s, i, orbit, w->position[i], &r, &at, err), "row %lld", (long long)i);
        } else {
            for (int32_t k = w->position[i - 1]; k < w->position[i]; k++)
                GEODEC_PASS_MSG(step(o, s, &at, &r, &turned,
                                     w->position[i] == w->position[i - 1] + 1 ? vector + i * p : passed, err),
                                "row %lld", (long long)i);
        }
        follow(o, s, &at);
        memcpy(w->parameter + i * p, at.u, (size_t)p * sizeof *at.u);
        memcpy(direction + i * p, at.d, (size_t)p * sizeof *at.d);
        w->turned[i] = turned;
        w->turns += turned;
    }
    return GEODEC_OK;
}
