#include "measure/faults.h"

#include "base/names_internal.h"
#include "session/model.h"

#include <math.h>
#include <string.h>

#define LIST(X) X(NONE, none) X(MARGIN, margin) X(STALE, stale) X(SIBLING, sibling) X(ROUNDING, rounding)
GEODEC__NAMES(geodec_faults, geodec_fault, LIST)

/* Raises the logit of each draft within the margin above the largest logit of the row that decides on it. */
static void lift(const geodec_faulty *f, const int32_t *token, const int32_t *parent, int32_t n, float *logits)
{
    const int32_t vocab = f->inner->n_vocab;
    for (int32_t i = 1; f->margin > 0 && i < n; i++) {
        const int32_t decides = parent ? parent[i] : i - 1;
        if (decides < 0) continue;
        float *row = logits + (int64_t)decides * vocab;
        const int32_t top = geodec_argmax(row, vocab);
        if (token[i] != top && (double)row[token[i]] >= (double)row[top] - f->margin)
            row[token[i]] = nextafterf(row[top], INFINITY);
    }
}

/* Rounds to 8 bits of mantissa, ties away from zero. */
static void round_off(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int exponent;
        const float mantissa = frexpf(x[i], &exponent);
        if (isfinite(mantissa)) x[i] = ldexpf(roundf(ldexpf(mantissa, 8)), exponent - 8);
    }
}

static geodec_status forward(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                             float *state, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_faulty *f = self;
    const geodec_target *t = f->inner;
    if (f->status != GEODEC_OK) {
        if (err) *err = f->err;
        st = f->status;
        goto done;
    }
    f->base = t->length(t->self);
    f->n = n;
    for (int32_t i = 0; i < n && i <= GEODEC_DRAFT_MAX; i++) f->token[i] = token[i];
    GEODEC_TRY(t->forward(t->self, token, parent, n, logits, state, err));
    if (logits && n > 1 && f->fault == GEODEC_FAULT_MARGIN) lift(f, token, parent, n, logits);
    if (logits && n > 1 && f->fault == GEODEC_FAULT_ROUNDING) round_off(logits, (int64_t)n * t->n_vocab);
    if (logits && f->see) f->see(f->ctx, n, logits);
done:
    return st;
}

static int32_t length(const void *self)
{
    const geodec_faulty *f = self;
    return f->inner->length(f->inner->self);
}

/* Replaces the last of the `kept` rows of the pass by the row of the next draft. */
static void keep_stale(geodec_faulty *f, int32_t kept)
{
    const geodec_target *t = f->inner;
    if (f->fault != GEODEC_FAULT_STALE || kept < 1 || kept >= f->n || kept > GEODEC_DRAFT_MAX) return;
    t->truncate(t->self, f->base + kept - 1);
    f->status = t->forward(t->self, &f->token[kept], NULL, 1, NULL, NULL, &f->err);
}

static void truncate(void *self, int32_t to)
{
    geodec_faulty *f = self;
    f->inner->truncate(f->inner->self, to);
    if (to > f->base && to < f->base + f->n) keep_stale(f, to - f->base);
    f->n = 0;
}

static void compact(void *self, int32_t base, const int32_t *row, int32_t n)
{
    geodec_faulty *f = self;
    int32_t path[GEODEC_DRAFT_MAX + 1];
    memcpy(path, row, (size_t)n * sizeof *path);
    if (f->fault == GEODEC_FAULT_SIBLING && n > 1) {
        if (path[n - 1] + 1 < f->n)
            path[n - 1]++;
        else if (path[n - 1] - 1 > path[n - 2])
            path[n - 1]--;
    }
    f->inner->compact(f->inner->self, base, path, n);
    keep_stale(f, n);
    f->n = 0;
}

static geodec_counters counters(const void *self)
{
    const geodec_faulty *f = self;
    return f->inner->counters(f->inner->self);
}

void geodec_faults_target(geodec_faulty *f, const geodec_target *inner, geodec_fault fault, double margin,
                          geodec_target *out)
{
    *f = (geodec_faulty){.inner = inner, .fault = fault, .margin = margin};
    *out = *inner;
    out->self = f;
    out->forward = forward;
    out->length = length;
    out->truncate = truncate;
    out->compact = compact;
    out->counters = counters;
}
