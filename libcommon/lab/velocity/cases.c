#include "lab/velocity/cases.h"

#include "base/mem.h"

geodec_status geodec_velocity_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                        const geodec_harness_sites *f, const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_velocity_cases *s = ctx;
    const int32_t layer = s->charts.layer[index];
    geodec_velocity_initial_predictions e = {0};
    const geodec_initial_source source = {.view = &s->charts.view,
                                          .layer = s->charts.layer,
                                          .n_layer = s->charts.n_layer,
                                          .model = &s->charts.source,
                                          .split = &s->split,
                                          .pool = s->charts.pool};
    int64_t count, *row = NULL;
    if (s->n_cases == GEODEC_VELOCITY_CASES)
        GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)GEODEC_VELOCITY_CASES);
    GEODEC_TRY(geodec_velocity_initial_starts(&c->t, &s->split, &s->o, &count, &row, err));
    GEODEC_TRY(geodec_velocity_initial_predict(&source, c, layer, count, row, &e, err));
    geodec_velocity_initial_case *k = s->cases + s->n_cases;
    *k = (geodec_velocity_initial_case){.metric = metric, .layer = layer};
    GEODEC_TRY(geodec_velocity_initial_run(&c->t, f, &e.view, &s->split, &s->o, s->charts.pool, s->charts.hooks,
                                           &k->figures, err));
    s->n_cases++;
done:
    geodec_velocity_initial_predictions_clear(&e);
    geodec_mem_free(row);
    return st;
}

void geodec_velocity_cases_say(const geodec_hooks *hooks, const geodec_velocity_cases *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_velocity_initial_case *k = s->cases + i;
        const geodec_velocity_initial *v = &k->figures;
        geodec_hooks_log(hooks, GEODEC_LOG_INFO, "%s layer %d: %lld starts of %lld texts", k->metric, k->layer,
                         (long long)v->starts, (long long)v->texts);
        for (int p = 0; p < GEODEC_INITIAL_SURROGATES; p++) {
            if (v->counted[p][0] == 0) continue;
            geodec_hooks_log(
                hooks, GEODEC_LOG_INFO,
                "  %-14s cosine %+.3f [%+.3f, %+.3f], in the metric %+.3f of %lld, another's step %+.3f, leak %.3f, "
                "above %g %.0f %%",
                geodec_velocity_initial_name((geodec_velocity_initial_surrogate)p), v->cosine[p][0].value,
                v->cosine[p][0].low, v->cosine[p][0].high, v->cosine[p][1].value, (long long)v->counted[p][1],
                v->unrelated[p].value, v->leak[p].value, s->o.close, 100 * v->close[p].value);
        }
    }
}
