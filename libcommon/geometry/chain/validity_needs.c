#include "chain/validity_needs.h"

#include "base/clock.h"
#include "chain/metric.h"

enum { STARTS = 2 /* of a trial */ };

typedef struct trial {
    const geodec_space *s;
    geodec_validity_options o;
    int64_t starts;
    const double *x0, *v0;
    uint64_t seed;
    geodec_pool *pool;
    const geodec_hooks *hooks;
} trial;

static double now(void) { return geodec_clock_process_seconds(); }

/* Processor seconds of the experiment on a start, in `directions` directions. which: -2 the field, -1 the sphere, 0 ..
 * the cases. */
static geodec_status time_start(const trial *t, int which, int64_t directions, double *seconds, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_validity_options o = t->o;
    geodec_validity v = {0};
    const double begin = now();
    o.perturbations = directions;
    o.bootstrap = 0;
    o.sweep = NULL;
    if (which == -2)
        GEODEC_TRY(geodec_validity_run(t->s, &o, t->pool, t->hooks, t->starts, t->x0, t->v0, NULL, t->seed, &v, err));
    else if (which == -1)
        GEODEC_TRY(geodec_validity_sphere(t->s->n, &o, t->pool, t->hooks, t->starts, t->seed, &v, err));
    else
        GEODEC_TRY(geodec_validity_case(which, t->s->n, &o, t->pool, t->hooks, t->starts, t->seed, &v, err));
    *seconds = (now() - begin) / (double)t->starts;
done:
    geodec_validity_clear(&v);
    return st;
}

/* A start in all directions: its reference path, and each direction. */
static geodec_status time_all(const trial *t, int which, double *seconds, geodec_err *err)
{
    double one, two;
    GEODEC_PASS(time_start(t, which, 1, &one, err));
    GEODEC_PASS(time_start(t, which, 2, &two, err));
    const double direction = two > one ? two - one : 0.5 * two, rest = one > direction ? one - direction : 0;
    *seconds = rest + direction * (double)t->o.perturbations;
    return GEODEC_OK;
}

static geodec_status settle(trial *t, geodec_validity_options *o, const geodec_validity_plan *p, int64_t starts,
                            double *seconds, geodec_err *err)
{
    geodec_validity_options own = t->o;
    int halvings;
    double change;
    const double begin = now();
    GEODEC_PASS(geodec_validity_settle(t->s, &own, t->pool, t->hooks, starts, t->x0, t->v0, p->tolerance, p->most,
                                       &halvings, &change, err));
    *seconds = now() - begin;
    *o = own;
    return GEODEC_OK;
}

geodec_status geodec_validity_needs(const geodec_space *s, geodec_validity_options *o, const geodec_validity_plan *p,
                                    int64_t starts, const double *x0, const double *v0, double budget,
                                    geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs, geodec_err *err)
{
    trial t = {.s = s,
               .o = *o,
               .starts = starts < STARTS ? starts : STARTS,
               .x0 = x0,
               .v0 = v0,
               .seed = p->seed,
               .pool = pool,
               .hooks = hooks};
    double settled = 0, field, controls = 0, one;
    if (p->tolerance > 0) {
        GEODEC_PASS(settle(&t, o, p, t.starts, &settled, err));
        settled *= (double)starts / (double)t.starts;
        if (settled <= 4 * budget && starts > t.starts) GEODEC_PASS(settle(&t, o, p, starts, &settled, err));
        t.o = *o;
    }
    GEODEC_PASS(time_all(&t, -2, &field, err));
    t.starts = STARTS;
    for (int w = -1; w < GEODEC_VALIDITY_CASES; w++) {
        GEODEC_PASS(time_all(&t, w, &one, err));
        controls += one;
    }
    geodec_needs_size(needs, "starts", (double)starts);
    geodec_needs_size(needs, "directions", (double)o->perturbations);
    geodec_needs_size(needs, "dimension", s->n);
    geodec_needs_size(needs, "steps", (double)o->path.steps);
    geodec_needs_time(needs, "step", 0, settled);
    geodec_needs_time(needs, "starts", 0, field * (double)starts / (double)p->shares);
    geodec_needs_time(needs, "controls", 0, controls * (double)p->sphere_starts / (double)p->shares);
    return GEODEC_OK;
}
