/* Sequences cut into windows. A continued window consists of BOS and the tokens that follow. */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "export/export_internal.h"

#include <stdlib.h>

#include <string.h>

void geodec__export_plan_init(geodec__plan *p, const geodec_model *m, const geodec_export_options *o,
                              const geodec_export_source *source)
{
    *p = (geodec__plan){.o = o, .source = source, .bos = geodec_tokenizer_start(geodec_model_tokenizer(m))};
}

void geodec__export_plan_clear(geodec__plan *p) { GEODEC_FREE(p->token, p->span); }

bool geodec__export_span_keeps(const geodec_export_options *o, const geodec__span *s, int32_t i)
{
    const int64_t position = s->start + i - s->repeated;
    if (o->positions == GEODEC_EXPORT_ALL) return true;
    if (s->repeated && i == 0) return false;
    switch (o->positions) {
    case GEODEC_EXPORT_LAST:
        return s->ends && i + 1 == s->n;
    case GEODEC_EXPORT_EVERY:
        return position % o->every == 0;
    default:
        return position >= o->from && position < o->to;
    }
}

/* The next window, with at most `room` tokens; *got false at the end of the source. */
static geodec_status cut(geodec__plan *p, int64_t room, bool *got, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *got = false;
    if (room == 0) goto done;
    while (!p->ended && p->at >= p->n_rest) {
        GEODEC_TRY(p->source->next(p->source->ctx, &p->rest, &p->n_rest, err));
        p->at = 0;
        p->ended = p->n_rest < 0;
        p->documents += !p->ended;
    }
    if (p->ended) goto done;
    GEODEC_GROW(p->span, p->n, p->span_room, 1);
    GEODEC_GROW(p->token, p->n_token, p->token_room, p->o->window);
    if (p->sequences >= INT32_MAX) GEODEC_THROW(GEODEC_LIMIT, "more than %d windows", INT32_MAX);
    geodec__span s = {.token = p->n_token, .start = p->at, .row = p->n_rows};
    int32_t *token = p->token + p->n_token;
    s.sequence = (int32_t)p->sequences;
    s.document = (int32_t)(p->documents - 1);
    s.repeated = p->at > 0 && p->bos >= 0 && room > 1;
    if (s.repeated) token[s.n++] = p->bos;
    const int64_t own = geodec__min(room - s.n, p->n_rest - p->at);
    memcpy(token + s.n, p->rest + p->at, (size_t)own * sizeof *token);
    s.n += (int32_t)own;
    p->at += own;
    s.ends = p->at == p->n_rest;
    for (int32_t i = 0; i < s.n; i++) s.kept += geodec__export_span_keeps(p->o, &s, i);
    p->n_token += s.n;
    p->n_rows += s.kept;
    p->tokens += s.n;
    p->rows += s.kept;
    p->sequences++;
    p->span[p->n++] = s;
    *got = true;
done:
    return st;
}

geodec_status geodec__export_plan_next(geodec__plan *p, int64_t max_windows, int64_t max_tokens, geodec_err *err)
{
    bool got = true;
    p->n = p->n_token = p->n_rows = 0;
    while (got && p->n < max_windows && (p->n == 0 || max_tokens - p->n_token >= p->o->window)) {
        const int64_t left = p->o->max_tokens ? p->o->max_tokens - p->tokens : p->o->window;
        GEODEC_PASS(cut(p, geodec__min(left, p->o->window), &got, err));
    }
    return GEODEC_OK;
}

geodec_status geodec__export_plan_sum(const geodec__plan *p, geodec_export_summary *sum, geodec_err *err)
{
    if (p->tokens == 0) GEODEC_FAIL(GEODEC_FORMAT, "no tokens to read");
    if (p->rows == 0) GEODEC_FAIL(GEODEC_FORMAT, "no row is at the positions selected");
    sum->rows = p->rows;
    sum->sequences = p->sequences;
    sum->documents = p->documents;
    sum->tokens = p->tokens;
    return GEODEC_OK;
}

/* The number that ends at `end`; -1 if there is none. */
static int64_t number(const char *text, char end, const char **next)
{
    char *stop = NULL;
    const long long v = *text >= '0' && *text <= '9' ? strtoll(text, &stop, 10) : -1;
    if (v < 0 || *stop != end) return -1;
    *next = stop + 1;
    return v;
}

geodec_status geodec_export_parse_positions(const char *positions, geodec_export_options *o, geodec_err *err)
{
    const char *rest = positions;
    if (strcmp(positions, "all") == 0) {
        o->positions = GEODEC_EXPORT_ALL;
    } else if (strcmp(positions, "last") == 0) {
        o->positions = GEODEC_EXPORT_LAST;
    } else if (strncmp(positions, "every:", 6) == 0 && (o->every = number(positions + 6, '\0', &rest)) > 0) {
        o->positions = GEODEC_EXPORT_EVERY;
    } else if ((o->from = number(positions, ':', &rest)) >= 0 && (o->to = number(rest, '\0', &rest)) > o->from) {
        o->positions = GEODEC_EXPORT_RANGE;
    } else {
        GEODEC_FAIL(GEODEC_INVAL, "--positions: '%s' is none of all, last, every:K, FROM:TO", positions);
    }
    return GEODEC_OK;
}
