#include "lab/worlds/like.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "chain/cloud.h"
#include "lab/worlds/worlds_internal.h"

geodec_world_like_options geodec_world_like_defaults(void)
{
    return (geodec_world_like_options){.rest = true, .noise = -1};
}

enum { TRIAL = 4096 }; /* points whose variance gives the scale */

/* Variance of the uniform set of radius 1 at strength 1, and L. */
static geodec_status trial(const geodec_world_options *o, double *variance, double *size, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_world w = {0};
    geodec_world_options t = *o;
    t.sampling = GEODEC_WORLD_INDEPENDENT;
    t.sequence = t.position = NULL;
    t.points = TRIAL;
    t.strength = 1;
    t.radius = 1;
    t.noise = 0;
    t.spectrum = NULL;
    t.ambient = geodec_world_natural(&t);
    GEODEC_TRY(geodec_world_make(&t, &w, err));
    *variance = w.set_variance;
    *size = w.cap * w.radius;
done:
    geodec_world_clear(&w);
    return st;
}

/* Mean square step of the first m coordinates between neighbouring positions; 0 without any. */
static double mean_step2(const geodec_cloud *c, int64_t m)
{
    double sum = 0;
    int64_t count = 0;
    if (m > c->k) m = c->k;
    for (int64_t i = 1; i < c->points; i++) {
        if (c->sequence[i] != c->sequence[i - 1] || c->position[i] != c->position[i - 1] + 1) continue;
        sum += geodec__gap2(m, c->coordinate + i * c->k, c->coordinate + (i - 1) * c->k);
        count++;
    }
    return count > 0 ? sum / (double)count : 0;
}

/* spectrum [D], the noise in the directions of the set, and the variances of the data. */
static void divide(const geodec_cloud *c, const geodec_world_like_options *take, int64_t m, bool gaussian,
                   geodec_world_like *l)
{
    const double noise = take->noise >= 0 ? take->noise : geodec_cloud_noise(c);
    for (int64_t i = 0; i < c->d; i++) {
        const double value = i < c->values ? fmax(0, c->eigenvalue[i]) : 0;
        l->spectrum[i] = value;
        l->total += value;
        if (i < m) l->span += value;
    }
    l->noise = gaussian ? 0 : noise;
    for (int64_t i = 0; i < (take->rest ? m : c->d) && !gaussian; i++) l->spectrum[i] = noise * noise;
}

geodec_status geodec_world_like_cloud(const geodec_cloud *c, const geodec_world_like_options *take,
                                      geodec_world_options *o, geodec_world_like *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_world_like l = {0};
    const bool gaussian = o->set == GEODEC_WORLD_GAUSSIAN;
    double variance = 1, size = 1;
    o->points = c->points;
    o->ambient = c->d;
    if (!take->keep_n) o->n = o->set == GEODEC_WORLD_TORUS ? 2 : (int32_t)c->k_int;
    if (!take->keep_n && o->n > GEODEC__WORLD_N) o->n = GEODEC__WORLD_N;
    if (!take->keep_n && o->n < 2) o->n = 2;
    GEODEC_NEW(l.spectrum, c->d);
    GEODEC_NEW_COPY(l.sequence, c->sequence, c->points);
    GEODEC_NEW_COPY(l.position, c->position, c->points);
    const int64_t m = gaussian ? c->d : geodec_world_natural(o);
    if (m > c->d)
        GEODEC_THROW(GEODEC_RANGE, "the %s lies in %lld dimensions, more than the %lld of the data",
                     geodec_world_set_names[o->set], (long long)m, (long long)c->d);
    divide(c, take, m, gaussian, &l);
    if (gaussian) {
        o->variance = l.spectrum;
        o->noise = 0;
        o->spectrum = NULL;
    } else {
        const double wanted = l.span - (double)m * l.noise * l.noise, step2 = mean_step2(c, m);
        if (!(wanted > 0)) GEODEC_THROW(GEODEC_NUMERIC, "the noise of the data leaves no variance for a set");
        GEODEC_TRY(trial(o, &variance, &size, err));
        o->radius = sqrt(wanted / variance);
        o->tube *= o->radius;
        o->length *= o->radius;
        o->scale *= o->radius;
        o->noise = l.noise;
        o->spectrum = l.spectrum;
        l.step = sqrt(fmax(0, step2 - 2 * (double)m * l.noise * l.noise));
        size *= o->radius;
        l.limited = !take->keep_step && l.step > size / 2;
        if (!take->keep_step) o->step = l.limited ? size / 2 : l.step > 0 ? l.step : size / 10;
    }
    o->sequence = l.sequence;
    o->position = l.position;
    GEODEC_MOVE(*out, l);
done:
    geodec_world_like_clear(&l);
    return st;
}

void geodec_world_like_clear(geodec_world_like *l)
{
    GEODEC_FREE(l->spectrum, l->sequence, l->position);
    *l = (geodec_world_like){0};
}
