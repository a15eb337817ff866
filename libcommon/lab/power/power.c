#include "lab/power/power.h"

#include "base/mem.h"
#include "linalg/stats.h"

#include <math.h>
#include <stdlib.h>

#define Z 1.96

void geodec_power_clear(geodec_power *p)
{
    if (!p) return;
    GEODEC_FREE(p->level);
    *p = (geodec_power){.n = 0};
}

static int by_strength(const void *a, const void *b)
{
    const double x = ((const geodec_power_trial *)a)->strength, y = ((const geodec_power_trial *)b)->strength;
    return (x > y) - (x < y);
}

static void wilson(geodec_power_level *l)
{
    const double n = (double)l->n, p = (double)l->found / n, z2 = Z * Z / n;
    const double middle = p + z2 / 2, half = Z * sqrt(p * (1 - p) / n + z2 / (4 * n));
    l->share = p;
    l->low = l->found == 0 ? 0 : (middle - half) / (1 + z2);
    l->high = l->found == l->n ? 1 : (middle + half) / (1 + z2);
}

/* Pool adjacent violators: from each level on, the mean of the block that it ends in. */
static void isotonic(int64_t n, geodec_power_level *l)
{
    for (int64_t i = 0; i < n; i++) {
        double found = (double)l[i].found, all = (double)l[i].n;
        int64_t first = i;
        while (first > 0 && l[first - 1].fitted > found / all) {
            const double before = l[first - 1].fitted;
            do {
                first--;
                found += (double)l[first].found;
                all += (double)l[first].n;
            } while (first > 0 && l[first - 1].fitted == before);
        }
        for (int64_t k = first; k <= i; k++) l[k].fitted = found / all;
    }
}

static double least_strength(int64_t n, const geodec_power_level *l)
{
    for (int64_t i = 0; i < n; i++) {
        if (l[i].fitted < GEODEC_POWER_LEAST) continue;
        if (i == 0 || l[i - 1].fitted <= 0) return l[i].strength;
        const double t = (GEODEC_POWER_LEAST - l[i - 1].fitted) / (l[i].fitted - l[i - 1].fitted);
        return l[i - 1].strength + t * (l[i].strength - l[i - 1].strength);
    }
    return INFINITY;
}

static void power_at(double size, geodec_power *p)
{
    const geodec_power_level *l = p->level;
    p->power = p->power_low = p->power_high = NAN;
    if (!(size >= l[0].strength && size <= l[p->levels - 1].strength)) return;
    int64_t i = 0;
    while (i + 1 < p->levels && l[i + 1].strength <= size) i++;
    p->power = l[i].fitted;
    p->power_low = l[i].low;
    p->power_high = l[i].high;
    if (i + 1 < p->levels)
        p->power += (size - l[i].strength) / (l[i + 1].strength - l[i].strength) * (l[i + 1].fitted - l[i].fitted);
    if (p->power > p->power_high) p->power_high = p->power;
    if (p->power < p->power_low) p->power_low = p->power;
}

static geodec_status recovery(int64_t n, const double *x, const double *y, geodec_power *p, geodec_err *err)
{
    geodec_stats_line line;
    double sum = 0;
    p->slope = p->slope_low = p->slope_high = p->spread = NAN;
    if (n < 3) return GEODEC_OK;
    const geodec_status st = geodec_stats_fit_line(n, x, y, NULL, &line, err);
    if (st == GEODEC_SINGULAR) return GEODEC_OK; /* one strength */
    if (st != GEODEC_OK) return st;
    for (int64_t i = 0; i < n; i++) {
        const double d = y[i] - line.intercept - line.slope * x[i];
        sum += d * d;
    }
    p->slope = line.slope;
    p->slope_low = line.slope - Z * line.slope_se;
    p->slope_high = line.slope + Z * line.slope_se;
    p->spread = sqrt(sum / (double)n);
    return GEODEC_OK;
}

geodec_status geodec_power_fit(int64_t n, const geodec_power_trial *trial, double size, geodec_power *out,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_power p = {.n = n, .none = NAN};
    geodec_power_trial *t = NULL;
    double *x = NULL, *y = NULL;
    int64_t measured = 0;
    if (n < 1) GEODEC_THROW(GEODEC_RANGE, "no trials");
    GEODEC_NEW(t, n);
    GEODEC_NEW_EACH(n, x, y);
    GEODEC_NEW(p.level, n);
    for (int64_t i = 0; i < n; i++) {
        t[i] = trial[i];
        if (!isfinite(t[i].strength)) GEODEC_THROW(GEODEC_RANGE, "a strength is not a number");
    }
    qsort(t, (size_t)n, sizeof *t, by_strength);
    for (int64_t i = 0; i < n;) {
        geodec_power_level *l = &p.level[p.levels++];
        const int64_t first = measured;
        *l = (geodec_power_level){.strength = t[i].strength};
        for (; i < n && t[i].strength == l->strength; i++) {
            l->n++;
            l->found += t[i].found == 1;
            l->failed += t[i].found < 0;
            if (!isfinite(t[i].measured)) continue;
            x[measured] = t[i].strength;
            y[measured++] = t[i].measured;
        }
        l->mean = geodec_stats_mean(measured - first, y + first);
        l->sd = sqrt(geodec_stats_variance(measured - first, y + first));
        p.failed += l->failed;
        wilson(l);
    }
    isotonic(p.levels, p.level);
    p.least = least_strength(p.levels, p.level);
    power_at(size, &p);
    if (p.level[0].strength == 0) p.none = p.level[0].share;
    GEODEC_TRY(recovery(measured, x, y, &p, err));
    *out = p;
    p.level = NULL;
done:
    GEODEC_FREE(t, x, y, p.level);
    return st;
}
