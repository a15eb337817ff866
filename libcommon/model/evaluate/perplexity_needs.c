#include "evaluate/perplexity_needs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/pilot.h"

enum { PREFIX = 1 << 17 };

typedef struct trial {
    const geodec_scorer_evaluation *p, *q;
    const geodec_perplexity_options *o;
    const char *text;
    size_t n;
    geodec_pool *pool;
    const geodec_hooks *hooks;
} trial;

static geodec_status score(void *ctx, int64_t windows, geodec_err *err)
{
    const trial *t = ctx;
    geodec_perplexity_options o = *t->o;
    geodec_perplexity_result r = {0};
    o.max_windows = windows;
    const geodec_status st = geodec_perplexity_text(t->p, t->q, &o, t->text, t->n, &r, t->pool, t->hooks, err);
    geodec_perplexity_free(&r);
    return st;
}

geodec_status geodec_perplexity_needs(const geodec_scorer_evaluation *p, const geodec_scorer_evaluation *q,
                                      const geodec_perplexity_options *o, const char *text, size_t n, double budget,
                                      geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_tokenizer *t = geodec_model_tokenizer(p->model);
    const bool bos = geodec_tokenizer_start(t) >= 0;
    trial part = {.p = p, .q = q, .o = o, .text = text, .n = n, .pool = pool, .hooks = hooks};
    int32_t *token = NULL;
    int64_t count = 0;
    geodec_pilot pilot;
    if (n > PREFIX) /* whole characters */
        for (part.n = PREFIX; part.n > PREFIX - 4 && ((unsigned char)text[part.n] & 0xc0) == 0x80; part.n--) continue;
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(geodec_scorer_tokens(t, text, part.n, o->parse_special, &token, &count, err));
    const double tokenized = geodec_clock_process_seconds() - begin, times = (double)n / (double)(part.n ? part.n : 1);
    const int64_t most = geodec_perplexity_count(o, bos, count);
    const int64_t windows = n > PREFIX ? geodec_perplexity_count(o, bos, (int64_t)((double)count * times)) : most;
    const int64_t least = geodec_pool_threads(pool) < most ? geodec_pool_threads(pool) : most;
    GEODEC_TRY(geodec_pilot_run(score, &part, least > 0 ? least : 1, most > 0 ? most : 1, budget, &pilot, err));
    geodec_needs_size(needs, "windows", (double)windows);
    geodec_needs_size(needs, "tokens", (double)count * times);
    geodec_needs_size(needs, "pilot_windows", (double)pilot.items);
    geodec_needs_time(needs, "text", tokenized * times + (pilot.fixed > tokenized ? pilot.fixed - tokenized : 0), 0);
    geodec_needs_time(needs, "windows", 0, pilot.item * (double)windows);
done:
    geodec_mem_free(token);
    return st;
}
