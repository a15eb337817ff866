#include "documents/plan.h"

#include "base/extremes_internal.h"
#include "base/split.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void geodec_plan_prompts(int64_t have, int64_t *count, int64_t *length)
{
    if (have < 1) {
        *count = 0;
        return;
    }
    if (have / *count >= *length) return;
    int64_t least = *length < GEODEC_PROMPT_LEAST ? *length : GEODEC_PROMPT_LEAST;
    if (least > have) least = have;
    if (have / *count >= least) {
        *length = have / *count;
    } else {
        *length = least;
        *count = have / least;
    }
}

typedef struct table {
    geodec_plan *p;
    int n;
} table;

static void GEODEC_PRINTF(4, 5) row(table *t, const char *name, const char *value, const char *reason, ...)
{
    geodec_plan_row *r = &t->p->row[t->n++];
    va_list list;
    r->name = name;
    (void)snprintf(r->value, sizeof r->value, "%s", value);
    va_start(list, reason);
    (void)vsnprintf(r->reason, sizeof r->reason, reason, list);
    va_end(list);
    for (char *c = r->reason; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
}

#define NUMBER(t, name, v, ...)                                                                                        \
    do {                                                                                                               \
        char text_[32];                                                                                                \
        (void)snprintf(text_, sizeof text_, "%" PRId64, (int64_t)(v));                                                 \
        row(t, name, text_, __VA_ARGS__);                                                                              \
    } while (0)

/* A size and its reason: as requested, or the bound. */
static void GEODEC_PRINTF(5, 6) size_row(table *t, const char *name, int64_t asked, int64_t got, const char *bound, ...)
{
    char text[160];
    va_list list;
    va_start(list, bound);
    (void)vsnprintf(text, sizeof text, bound, list);
    va_end(list);
    if (asked == got)
        NUMBER(t, name, got, "as asked for");
    else
        NUMBER(t, name, got, "%lld asked for; %s", (long long)asked, text);
}

static int64_t at_least_one(int64_t a) { return a < 1 ? 1 : a; }

/* Documents that begin within the first `tokens` tokens. */
static int64_t documents_within(const geodec_documents *d, const int64_t *length, int64_t tokens)
{
    int64_t n = 0;
    for (int64_t seen = 0; n < d->n && seen < tokens; n++) seen += length[n];
    return n;
}

/* The largest number of pieces of `each` tokens that the work allows, at least `least`. */
static int64_t pieces_within(double tokens, int64_t each, int64_t least)
{
    const double pieces = tokens / (double)each;
    return pieces <= (double)least ? least : pieces > 1e15 ? INT64_MAX : (int64_t)pieces;
}

geodec_status geodec_plan_make(const geodec_plan_model *m, const geodec_documents *d, const int64_t *length,
                               const geodec_plan_sizes *asked, geodec_plan *out, geodec_err *err)
{
    geodec_plan p = {.sizes = *asked};
    geodec_plan_sizes *s = &p.sizes;
    table t = {.p = &p};
    int64_t text_tokens = 0;
    char bound[160];
    if (m->context < 1 || asked->tokens < 1 || asked->points < 1 || asked->store_texts < 1 || asked->store_length < 1 ||
        asked->prompts < 1 || asked->prompt_length < 1 || asked->new_tokens < 1)
        GEODEC_FAIL(GEODEC_RANGE, "a size or a context below 1");
    for (int64_t i = 0; i < d->n; i++) text_tokens += length[i];
    const int64_t own = text_tokens - (m->bos ? d->n : 0); /* without BOS */
    row(&t, "separator", geodec_documents_separator_name(d->rule), "%s", d->why);
    NUMBER(&t, "documents", d->n, "mean %.1f tokens", d->n ? (double)own / (double)d->n : 0.0);
    NUMBER(&t, "bytes", d->bytes, "of all documents, separators left out");
    NUMBER(&t, "text_tokens", own, "in this vocabulary, %s", m->bos ? "BOS of each document left out" : "no BOS");
    NUMBER(&t, "context", m->context, "of the model");
    NUMBER(&t, "layers", m->layers, "of the model");
    NUMBER(&t, "width", m->width, "of the model");
    NUMBER(&t, "vocabulary", m->vocabulary, "of the model");
    const double allowed = asked->work > 0 ? asked->work / (double)at_least_one(m->weights) : INFINITY;
    char work[80];
    (void)snprintf(work, sizeof work, "the work of %lld weights is limited to %.2g", (long long)m->weights,
                   asked->work);
    const int64_t most = pieces_within(allowed, 1, GEODEC_PLAN_TOKENS_LEAST);
    s->tokens = at_least_one(geodec__min(geodec__min(asked->tokens, most), text_tokens));
    if (s->tokens == most && most < text_tokens)
        size_row(&t, "tokens", asked->tokens, s->tokens, "%s", work);
    else
        size_row(&t, "tokens", asked->tokens, s->tokens, "the text has %lld%s", (long long)text_tokens,
                 m->bos ? " with BOS" : "");
    s->points = geodec__min(asked->points, s->tokens);
    size_row(&t, "points", asked->points, s->points, "%lld tokens are read", (long long)s->tokens);
    s->store_length = geodec__min(asked->store_length, m->context);
    s->store_texts = geodec__min(asked->store_texts, pieces_within(allowed, s->store_length, GEODEC_PLAN_TEXTS_LEAST));
    size_row(&t, "store_texts", asked->store_texts, s->store_texts, "%s", work);
    size_row(&t, "store_length", asked->store_length, s->store_length, "the model's context is %lld",
             (long long)m->context);
    s->new_tokens = at_least_one(geodec__min(asked->new_tokens, m->context / 2));
    const int64_t lead = m->bos ? 1 : 0, room = at_least_one(m->context - s->new_tokens);
    const int64_t fits = at_least_one(geodec__min(asked->prompt_length, room)), text = at_least_one(fits - lead);
    const int64_t decoded = pieces_within(allowed, GEODEC_PLAN_DECODINGS * s->new_tokens, GEODEC_PLAN_PROMPTS_LEAST);
    const bool fewer = decoded < s->prompts;
    int64_t piece = text;
    s->prompts = geodec__min(s->prompts, decoded);
    geodec_plan_prompts(own, &s->prompts, &piece);
    if (s->prompts < 1) s->prompts = 1;
    s->prompt_length = piece == text ? fits : piece + lead;
    (void)snprintf(bound, sizeof bound, "the text has %lld tokens, enough for %lld pieces of %lld", (long long)own,
                   (long long)s->prompts, (long long)piece);
    size_row(&t, "prompts", asked->prompts, s->prompts, "%s", fewer && s->prompts == decoded ? work : bound);
    if (fits != asked->prompt_length && piece == text)
        (void)snprintf(bound, sizeof bound, "the context of %lld has room for %lld and %lld new tokens",
                       (long long)m->context, (long long)room, (long long)s->new_tokens);
    size_row(&t, "prompt_length", asked->prompt_length, s->prompt_length, "%s", bound);
    size_row(&t, "new_tokens", asked->new_tokens, s->new_tokens, "half of the context of %lld", (long long)m->context);
    const int64_t read = documents_within(d, length, s->tokens);
    const bool windows = d->rule == GEODEC_SEPARATOR_WINDOW;
    p.by_document = read >= GEODEC_SPLIT_DOCUMENTS && !windows;
    row(&t, "split", geodec_split_name(p.by_document),
        windows ? "the documents are windows of one text: %lld are read" : "%lld documents are read", (long long)read);
    if (allowed >= GEODEC_PLAN_REFERENCE)
        row(&t, "reference", "yes", "float64 evaluations with derivatives are measured");
    else
        row(&t, "reference", "no", "no float64 evaluations with derivatives: %s", work);
    *out = p;
    return GEODEC_OK;
}
