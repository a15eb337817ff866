#include "lab/verdict/rule.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { FREE_MAX = 24, SEEDS_MAX = 256, TRIALS = 200000 };

typedef struct search {
    geodec_expr_lookup fixed;
    void *fixed_ctx;
    const char *name[FREE_MAX];
    double value[FREE_MAX];
    geodec_expr_state state[FREE_MAX];
    bool asked[FREE_MAX];
    int n;
} search;

static geodec_expr_state look(void *ctx, const char *name, double *value)
{
    const search *s = ctx;
    for (int k = 0; k < s->n; k++)
        if (strcmp(s->name[k], name) == 0) {
            *value = s->value[k];
            return s->state[k];
        }
    return s->fixed ? s->fixed(s->fixed_ctx, name, value) : GEODEC_EXPR_MISSING;
}

/* The names without a fixed value, and the numbers to try. */
static geodec_status collect(const geodec_rule *r, search *s, double *seed, int *n_seeds, geodec_err *err)
{
    static const double plain[] = {0, 1, -1, 2, 0.5, 10, 1000, 1e-3, 1e-12, 1e-30};
    int n = 0;
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) seed[n++] = plain[k];
    for (int b = 0; b < r->n; b++) {
        const geodec_expr *e = r->branch[b].condition;
        const char *name;
        double x;
        for (int i = 0; e && n < SEEDS_MAX && geodec_expr_number(e, i, &x); i++) seed[n++] = x;
        for (int i = 0; e && (name = geodec_expr_name(e, i, NULL, NULL)); i++) {
            bool known = false;
            for (int k = 0; k < s->n; k++) known |= strcmp(s->name[k], name) == 0;
            if (known) continue;
            const geodec_expr_state state = s->fixed ? s->fixed(s->fixed_ctx, name, &x) : GEODEC_EXPR_MISSING;
            if (state == GEODEC_EXPR_KNOWN && n < SEEDS_MAX) seed[n++] = x;
            if (state == GEODEC_EXPR_KNOWN && n < SEEDS_MAX)
                seed[n++] = x / 100; /* the share for a printed percentage */
            if (state != GEODEC_EXPR_MISSING) continue;
            if (s->n == FREE_MAX) GEODEC_FAIL(GEODEC_LIMIT, "a rule with more than %d values", FREE_MAX);
            geodec_rule_uses(r, name, &s->asked[s->n], &known);
            s->name[s->n++] = name;
        }
    }
    *n_seeds = n;
    return GEODEC_OK;
}

static void sample(search *s, geodec_rng *rng, const double *seed, int n_seeds)
{
    static const double factor[] = {1, 1, 1, 1, 0.5, 0.9, 0.999, 1.001, 1.1, 2, 3, 0.1, -1};
    for (int k = 0; k < s->n; k++) {
        const uint64_t how = geodec_rng_below(rng, 8);
        double x = seed[geodec_rng_below(rng, (uint64_t)n_seeds)];
        if (how == 0 && k > 0) x = s->value[geodec_rng_below(rng, (uint64_t)k)];
        if (how == 1) x += seed[geodec_rng_below(rng, (uint64_t)n_seeds)];
        if (how == 2) x *= seed[geodec_rng_below(rng, (uint64_t)n_seeds)];
        if (how == 3) { /* the other factor of a quotient or product with a known number */
            const double y = seed[geodec_rng_below(rng, (uint64_t)n_seeds)];
            if (y != 0) x /= y;
        }
        s->value[k] = x * factor[geodec_rng_below(rng, sizeof factor / sizeof *factor)];
        s->state[k] = isfinite(s->value[k]) ? GEODEC_EXPR_KNOWN : GEODEC_EXPR_INFINITE;
        if (s->asked[k] && geodec_rng_below(rng, 4) == 0)
            s->state[k] = geodec_rng_below(rng, 2) ? GEODEC_EXPR_MISSING : GEODEC_EXPR_NAN;
    }
}

geodec_status geodec_rule_reach(const geodec_rule *r, geodec_expr_lookup fixed, void *fixed_ctx, bool *found,
                                geodec_rule_example example, void *ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    search *s = NULL;
    double seed[SEEDS_MAX];
    int n_seeds = 0, open = r->n - 1; /* branches with a condition; the last has none */
    GEODEC_NEW(s, 1);
    *s = (search){.fixed = fixed, .fixed_ctx = fixed_ctx};
    for (int b = 0; b < r->n; b++) found[b] = false;
    GEODEC_TRY(collect(r, s, seed, &n_seeds, err));
    geodec_rng rng = geodec_rng_stream(1, geodec_rng_id("rule reach", 0));
    for (int t = 0; t < TRIALS && (open > 0 || (!fixed && !found[r->n - 1])); t++) {
        int b;
        sample(s, &rng, seed, n_seeds);
        if (geodec_rule_decide(r, look, s, &b, NULL) != GEODEC_OK || found[b]) continue;
        found[b] = true;
        open -= b < r->n - 1;
        if (example) example(ctx, b, s->n, s->name, s->value);
    }
done:
    geodec_mem_free(s);
    return st;
}
