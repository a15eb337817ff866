#include "lab/geodesicity/cases.h"

#include "base/mem.h"

geodec_status geodec_geodesicity_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                           const geodec_harness_sites *f, const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_geodesicity_cases *s = ctx;
    geodec_geodesicity *figures = NULL;
    int64_t count;
    GEODEC_TRY(geodec_geodesicity_run(&c->t, f, &s->o, s->charts.pool, s->charts.hooks, &count, &figures, err));
    for (int64_t i = 0; i < count; i++) {
        if (s->n_cases == GEODEC_GEODESICITY_CASES)
            GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)GEODEC_GEODESICITY_CASES);
        s->cases[s->n_cases++] =
            (geodec_geodesicity_case){.along = index < 0 ? "layers" : "tokens",
                                      .metric = metric,
                                      .layer = s->charts.layer[index < 0 ? figures[i].place : index],
                                      .figures = figures[i]};
    }
done:
    geodec_mem_free(figures);
    return st;
}

void geodec_geodesicity_cases_say(const geodec_hooks *hooks, const geodec_geodesicity_cases *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_geodesicity_case *k = s->cases + i;
        const geodec_geodesicity *f = &k->figures;
        const geodec_estimate d = f->difference[GEODEC_PREDICT_GEODESIC][0][0];
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%s %s layer %d: error in steps one ahead: geodesic %.3f (line %+.3f [%.3f, %.3f]), line %.3f, shuffled "
            "%.3f, random %.3f, stay %.3f, linear %.3f / %.3f; broken %lld of %lld",
            k->along, k->metric, k->layer, f->error[GEODEC_PREDICT_GEODESIC][0][0].value, d.value, d.low, d.high,
            f->error[GEODEC_PREDICT_LINE][0][0].value, f->error[GEODEC_PREDICT_SHUFFLED][0][0].value,
            f->error[GEODEC_PREDICT_RANDOM][0][0].value, f->error[GEODEC_PREDICT_STAY][0][0].value,
            f->error[GEODEC_PREDICT_LINEAR_X][0][0].value, f->error[GEODEC_PREDICT_LINEAR_XV][0][0].value,
            (long long)f->broken[GEODEC_PREDICT_GEODESIC], (long long)f->starts);
    }
}
