#include "measure/rejections.h"

#include "base/mem.h"
#include "measure/faults.h"
#include "session/model.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

void geodec_rejections_token_classes(const geodec_tokenizer *t, uint8_t *class)
{
    enum { PUNCTUATION, BLANK, START, INSIDE, OTHER };
    static const char metaspace[] = "\xe2\x96\x81", byte_space[] = "\xc4\xa0", byte_line[] = "\xc4\x8a";
    for (int32_t id = 0; id < geodec_tokenizer_size(t); id++) {
        size_t n = 0;
        const char *s = geodec_tokenizer_piece(t, id, &n);
        class[id] = OTHER;
        if (geodec_tokenizer_is_control(t, id) || n == 0 || (n == 6 && memcmp(s, "<0x", 3) == 0)) continue;
        /* Both kinds of vocabulary encode blanks as a special character. */
        size_t at = 0;
        for (;;) {
            if (at + 3 <= n && memcmp(s + at, metaspace, 3) == 0)
                at += 3;
            else if (at + 2 <= n && (memcmp(s + at, byte_space, 2) == 0 || memcmp(s + at, byte_line, 2) == 0))
                at += 2;
            else if (at < n && isspace((unsigned char)s[at]))
                at++;
            else
                break;
        }
        if (at == n)
            class[id] = BLANK;
        else if (isalnum((unsigned char)s[at]) || (unsigned char)s[at] >= 0x80)
            class[id] = at > 0 ? START : INSIDE;
        else
            class[id] = PUNCTUATION;
    }
}

/* A round is observed twice: its drafts when they are proposed, its rows when the model has forwarded them. */
typedef struct recorder {
    geodec_drafter base;
    geodec_drafter_ops ops;
    geodec_drafter *inner;
    const geodec_target *target;
    const geodec_decode_options *opt;
    const uint8_t *class;
    geodec_rejections *sum;
    geodec_draft draft[GEODEC_DRAFT_MAX];
    int32_t n;     /* drafts of the round, 0 before the first round */
    int64_t index; /* of the first */
    float *logits; /* [GEODEC_DRAFT_MAX + 1][n_vocab] of the last pass */
    int32_t rows;
} recorder;

static geodec_status begin(geodec_drafter *d, geodec_err *err)
{
    ((recorder *)d)->n = 0;
    return geodec_drafter_begin(((recorder *)d)->inner, err);
}

static geodec_status propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                             geodec_err *err)
{
    recorder *r = (recorder *)d;
    GEODEC_PASS(geodec_drafter_propose(r->inner, q, out, n, err));
    r->n = *n;
    r->index = q->index;
    memcpy(r->draft, out, (size_t)*n * sizeof *out);
    return GEODEC_OK;
}

static void tally(recorder *r, int32_t i, bool rejected)
{
    const geodec_draft *x = &r->draft[i];
    geodec_rejections *s = r->sum;
    const bool known = x->token >= 0 && x->token < r->target->n_vocab;
    for (int k = rejected ? 0 : 1; k < 2; k++) {
        s->class[k][known ? r->class[x->token] : GEODEC_TOKEN_CLASSES - 1]++;
        s->position[k][i]++;
        s->source[k][x->source]++;
        s->warm_up[k][r->index + i < GEODEC_REJECT_WARM_UP]++;
    }
    s->reached++;
    if (!rejected) return;
    const geodec_guard guard = {0, r->opt->stop, r->opt->n_stop};
    const float *row = r->logits + (int64_t)i * r->target->n_vocab;
    const int32_t own = geodec_argmax(row, r->target->n_vocab);
    int64_t above = known ? 0 : r->target->n_vocab;
    double total = 0;
    for (int32_t v = 0; v < r->target->n_vocab; v++) {
        total += exp((double)row[v] - (double)row[own]);
        above += known && (row[v] > row[x->token] || (row[v] == row[x->token] && v < x->token));
    }
    const double p = known ? exp((double)row[x->token] - (double)row[own]) / total : 0;
    s->rejected++;
    s->rank[above < 2 ? 0 : above < 10 ? 1 : 2]++;
    s->probability[p < 1e-4 ? 0 : p < 1e-3 ? 1 : p < 1e-2 ? 2 : p < 0.1 ? 3 : 4]++;
    s->stop[geodec_guard_is_stop(&guard, x->token) ? 1 : geodec_guard_is_stop(&guard, own) ? 2 : 0]++;
}

/* Follows the drafts of a round to the first that is not the model's argmax, or to a stop token. */
static void close_round(recorder *r)
{
    const geodec_guard guard = {0, r->opt->stop, r->opt->n_stop};
    for (int32_t i = 0; i < r->n && i + 1 < r->rows; i++) {
        const int32_t own = geodec_argmax(r->logits + (int64_t)i * r->target->n_vocab, r->target->n_vocab);
        tally(r, i, r->draft[i].token != own);
        if (r->draft[i].token != own || geodec_guard_is_stop(&guard, own)) break;
    }
    r->n = 0;
}

static geodec_status observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    return geodec_drafter_observe(((recorder *)d)->inner, rows, err);
}

static void destroy(geodec_drafter *d) { (void)d; }

/* Called with the rows of a target pass; those of the prompt have no logits. */
static void see_pass(void *ctx, int32_t n, const float *logits)
{
    recorder *r = ctx;
    memcpy(r->logits, logits, (size_t)n * (size_t)r->target->n_vocab * sizeof *logits);
    r->rows = n;
    close_round(r);
}

geodec_status geodec_rejections_decode(const geodec_target *target, const int32_t *prompt, int64_t n,
                                       geodec_drafter *drafter, const geodec_decode_options *options,
                                       const uint8_t *class, geodec_rejections *sum, geodec_decoded *out,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_faulty watched;
    geodec_target t;
    recorder r = {.inner = drafter, .target = target, .opt = options, .class = class, .sum = sum};
    if (!drafter) GEODEC_THROW(GEODEC_INVAL, "counting rejections needs a drafter");
    if (options->budget > 0 || options->sampling.temperature > 0 || options->min_tokens > 0)
        GEODEC_THROW(GEODEC_INVAL, "rejections are counted of greedy chains without a guard");
    GEODEC_NEW(r.logits, (int64_t)(GEODEC_DRAFT_MAX + 1) * target->n_vocab);
    r.ops = *drafter->ops;
    r.ops.begin = begin;
    r.ops.observe = observe;
    r.ops.propose = propose;
    r.ops.destroy = destroy;
    r.ops.root = NULL;
    r.ops.children = NULL;
    r.ops.adopt = NULL;
    r.base.ops = &r.ops;
    geodec_faults_target(&watched, target, GEODEC_FAULT_NONE, 0, &t);
    watched.see = see_pass;
    watched.ctx = &r;
    if (t.max_batch > GEODEC_DRAFT_MAX + 1) t.max_batch = GEODEC_DRAFT_MAX + 1;
    GEODEC_TRY(geodec_decode(&t, prompt, n, &r.base, options, out, err));
done:
    geodec_mem_free(r.logits);
    return st;
}
