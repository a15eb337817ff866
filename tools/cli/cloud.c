#include "cli/cloud.h"

#include <math.h>
#include <stdio.h>

geodec_status cloud_dim(const cli *c, const geodec_cloud *cloud, int64_t asked, int64_t otherwise, int64_t *n,
                        geodec_err *err)
{
    *n = asked > 0 ? asked : otherwise;
    if (*n > cloud->k)
        GEODEC_FAIL(GEODEC_RANGE, "--dim: %s has %lld coordinates, not %lld", c->args[0], (long long)cloud->k,
                    (long long)*n);
    double used = 0, kept = 0;
    for (int64_t i = 0; i < cloud->k && i < cloud->values; i++) {
        kept += cloud->eigenvalue[i];
        if (i < *n) used += cloud->eigenvalue[i];
    }
    if (kept > 0 && !c->needs)
        cli_say(c, "in %lld of %lld coordinates, with %.1f %% of the variance of the states", (long long)*n,
                (long long)cloud->d, 100 * cloud->made.explained * used / kept);
    return GEODEC_OK;
}

void cloud_say_points(const cli *c, int64_t layer, const geodec_cloud_summary *s)
{
    const geodec_cloud_subset *g = &s->control[GEODEC_CLOUD_SUBSETS - 1];
    if (s->sketch_width > 0)
        cli_say(c, "components from a sketch of width %lld: residual %.1e of the first eigenvalue",
                (long long)s->sketch_width, s->sketch_residual);
    if (s->extreme > 0)
        cli_say(c,
                "%lld rows of extreme norm%s, at most %.1f times the median; they have %.1f %% of the squared norms%s",
                (long long)s->extreme, s->dropped ? " left out" : "", s->extreme_norm, 100 * s->extreme_share,
                s->dropped ? "" : "; --drop-outliers leaves them out");
    cli_say(c, "layer %lld: %lld points (%lld duplicates dropped), d %lld, K %lld for %.1f %% (Gaussian control %lld)",
            (long long)layer, (long long)s->points, (long long)s->duplicates, (long long)s->d, (long long)s->k,
            100 * s->explained, (long long)g->components);
}

/* What --k-int means where the estimate is missing or cut. */
static void say_k_int(const cli *c, const geodec_cloud_summary *s)
{
    const double fit = s->subset[GEODEC_CLOUD_SUBSETS - 1].theiler.twonn.fit;
    if (!isfinite(fit))
        cli_say(c, "k_int %lld: all kept coordinates, because TwoNN is not measured", (long long)s->k_int);
    else if (s->k_int == s->k && fit >= (double)s->k + 0.5)
        cli_say(c, "k_int %lld: later stages have no more coordinates; a larger --variance keeps more",
                (long long)s->k_int);
}

/* The recommended dimension, and what it is in doubt for. */
static void say_dimension(const cli *c, const geodec_cloud_summary *s)
{
    const geodec_theiler *least = &s->subset[0].theiler, *t = &s->subset[GEODEC_CLOUD_SUBSETS - 1].theiler,
                         *g = &s->control[GEODEC_CLOUD_SUBSETS - 1].theiler;
    char window[96] = "no time neighbours to leave out";
    if (s->theiler_parts > 1)
        (void)snprintf(window, sizeof window, "points of a text at least %lld positions apart",
                       (long long)s->theiler_window);
    cli_say(c, "dimension %.2f [%.2f, %.2f] (Gaussian control %.2f): TwoNN corrected for %lld points, %s", t->dimension,
            t->low, t->high, g->dimension, (long long)t->part_points, window);
    if (s->doubt & (GEODEC_CLOUD_DOUBT_TIME | GEODEC_CLOUD_DOUBT_REMAINS))
        geodec_hooks_log(
            &c->hooks, GEODEC_LOG_WARN,
            "time neighbours: the nearest neighbour of %.1f %% of the points is of the same text, less than "
            "%lld positions away (by chance %.1f %%); %s",
            100 * s->time_near, (long long)(s->theiler_window > 2 ? s->theiler_window : 2), 100 * s->time_chance,
            s->doubt & GEODEC_CLOUD_DOUBT_REMAINS
                ? "there are too few points to leave all of them out, so the dimension is of paths"
                : "plain TwoNN measures paths, the dimension leaves them out");
    if ((s->doubt & GEODEC_CLOUD_DOUBT_FEW) && t->dimension > 2 * log10((double)t->part_points))
        geodec_hooks_log(&c->hooks, GEODEC_LOG_WARN,
                         "too few points: %lld support a dimension of at most %.1f (Eckmann and Ruelle 1992)",
                         (long long)t->part_points, 2 * log10((double)t->part_points));
    else if (s->doubt & GEODEC_CLOUD_DOUBT_FEW)
        geodec_hooks_log(&c->hooks, GEODEC_LOG_WARN,
                         "too few points: the dimension of a quarter of them is %.2f [%.2f, %.2f]", least->dimension,
                         least->low, least->high);
}

void cloud_say_twonn(const cli *c, const geodec_cloud_summary *s)
{
    const geodec_cloud_subset *r = &s->subset[GEODEC_CLOUD_SUBSETS - 1], *g = &s->control[GEODEC_CLOUD_SUBSETS - 1];
    const geodec_twonn *t = &r->twonn;
    if (!isfinite(t->fit)) {
        cli_say(c,
                "TwoNN not measured: ties dominate (%lld of %lld points have two different neighbour distances, with "
                "%lld different ratios)",
                (long long)t->used, (long long)t->points, (long long)t->ratios);
        say_k_int(c, s);
        return;
    }
    cli_say(c,
            "TwoNN %.2f [%.2f, %.2f] maximum likelihood, %.2f [%.2f, %.2f] trimmed fit (Gaussian control %.2f, %.2f), "
            "from %lld ratios; k_int %lld",
            t->ml, t->ml_low, t->ml_high, t->fit, t->fit_low, t->fit_high, g->twonn.ml, g->twonn.fit,
            (long long)t->used, (long long)s->k_int);
    say_dimension(c, s);
    if (s->k < s->d)
        cli_say(c,
                "TwoNN of the %lld kept coordinates, of which later stages use k_int: %.2f, %.2f (Gaussian control "
                "%.2f, %.2f)",
                (long long)s->k, r->kept.ml, r->kept.fit, g->kept.ml, g->kept.fit);
    if (s->k < s->d && isfinite(r->kept.fit) && (r->kept.fit_high < t->fit_low || r->kept.fit_low > t->fit_high))
        geodec_hooks_log(&c->hooks, GEODEC_LOG_WARN,
                         "the kept coordinates (%.1f %% of the variance) do not have the dimension of the states: what "
                         "they lose rules the small distances; a larger --variance keeps more",
                         100 * s->explained);
    say_k_int(c, s);
}
