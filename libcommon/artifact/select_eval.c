/* Values of the expressions of artifact/select.h in one row, and their sums over the rows of a group. */
#include "artifact/select_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const geodec__select_value *v) { return v->text ? v->text : v->own; }

/* A complete number, with blanks around it allowed. */
static bool read_number(const char *text, double *x)
{
    char *end = NULL;
    *x = strtod(text, &end);
    return end != text && end[strspn(end, " ")] == 0;
}

geodec_status geodec__select_number(const geodec__select_value *v, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *x = v->x;
    if (v->kind == GEODEC__SELECT_TEXT && !read_number(text_of(v), x))
        GEODEC_THROW(GEODEC_INVAL, "'%.40s' is not a number", text_of(v));
done:
    return st;
}

const char *geodec__select_text(const geodec__select_value *v, int digits, char buf[GEODEC_FORMAT_ROOM])
{
    switch (v->kind) {
    case GEODEC__SELECT_TEXT:
        return text_of(v);
    case GEODEC__SELECT_F64:
        return geodec_format_f64(v->x, buf);
    case GEODEC__SELECT_F32:
        return geodec_format_f32((float)v->x, buf);
    case GEODEC__SELECT_INT:
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%" PRId64, (int64_t)v->bits);
        return buf;
    case GEODEC__SELECT_UINT:
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%" PRIu64, v->bits);
        return buf;
    case GEODEC__SELECT_COMPUTED:
        break;
    }
    if (isfinite(v->x) && floor(v->x) == v->x && fabs(v->x) < 0x1p53)
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%.0f", v->x == 0 ? 0.0 : v->x);
    else if (digits > 0 && isfinite(v->x))
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%.*g", digits, v->x);
    else
        return geodec_format_f64(v->x, buf);
    return buf;
}

static bool condition(double x) { return x != 0 && !isnan(x); }

static double combine(geodec__select_op op, double a, double b)
{
    switch (op) {
    case SELECT_ADD:
        return a + b;
    case SELECT_SUBTRACT:
        return a - b;
    case SELECT_MULTIPLY:
        return a * b;
    case SELECT_DIVIDE:
        return a / b;
    case SELECT_REMAINDER:
        return fmod(a, b);
    case SELECT_POW:
        return pow(a, b);
    case SELECT_MIN:
        return isnan(a) || isnan(b) ? (double)NAN : fmin(a, b);
    case SELECT_MAX:
        return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b);
    case SELECT_LT:
        return a < b;
    case SELECT_LE:
        return a <= b;
    case SELECT_GT:
        return a > b;
    case SELECT_GE:
        return a >= b;
    case SELECT_EQ:
        return a == b;
    default:
        return a != b;
    }
}

/* Two texts are compared as texts, anything else as numbers; a text that is not a number equals none. */
static geodec_status equal(const geodec__select_value *a, const geodec__select_value *b, bool *same, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double x, y;
    const bool texts = a->kind == GEODEC__SELECT_TEXT, both = texts && b->kind == GEODEC__SELECT_TEXT;
    if (both) {
        *same = strcmp(text_of(a), text_of(b)) == 0;
        goto done;
    }
    *same = false;
    if (texts && !read_number(text_of(a), &x)) goto done;
    if (b->kind == GEODEC__SELECT_TEXT && !read_number(text_of(b), &y)) goto done;
    GEODEC_TRY(geodec__select_number(a, &x, err));
    GEODEC_TRY(geodec__select_number(b, &y, err));
    *same = x == y;
done:
    return st;
}

static geodec_status number_of(geodec__select *s, int node, const geodec__select_pile *pile, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select_value v = {0};
    GEODEC_TRY(geodec__select_eval(s, node, pile, &v, err));
    GEODEC_TRY(geodec__select_number(&v, x, err));
done:
    return st;
}

/* ---- sums over a group ------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    const double x = ((const geodec__select_value *)a)->x, y = ((const geodec__select_value *)b)->x;
    return (x > y) - (x < y);
}

/* The k-th smallest value of the pile, from 1, unrounded; NaN when a value is NaN or there is none. */
static void order_statistic(const geodec__select_pile *p, int64_t k, geodec__select_value *out)
{
    bool nan = p->n == 0;
    for (int64_t i = 0; i < p->n; i++) nan = nan || isnan(p->v[i].x);
    if (nan) {
        *out = (geodec__select_value){.x = (double)NAN};
        return;
    }
    qsort(p->v, (size_t)p->n, sizeof *p->v, by_value);
    *out = p->v[k < 1 ? 0 : k > p->n ? p->n - 1 : k - 1];
}

/* Mean, and its standard error from the sample variance. */
static void moments(const geodec__select_pile *p, double *sum, double *mean, double *sem)
{
    double squares = 0;
    *sum = 0;
    for (int64_t i = 0; i < p->n; i++) *sum += p->v[i].x;
    *mean = p->n > 0 ? *sum / (double)p->n : (double)NAN;
    for (int64_t i = 0; i < p->n; i++) squares += (p->v[i].x - *mean) * (p->v[i].x - *mean);
    *sem = p->n > 1 ? sqrt(squares / (double)(p->n - 1) / (double)p->n) : (double)NAN;
}

static geodec_status eval_sum(geodec__select *s, const geodec__select_node *n, const geodec__select_pile *p,
                              geodec__select_value *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double sum, mean, sem, share;
    *out = (geodec__select_value){.kind = GEODEC__SELECT_COMPUTED};
    moments(p, &sum, &mean, &sem);
    switch (n->op) {
    case SELECT_SUM:
        out->x = sum;
        break;
    case SELECT_MEAN:
        out->x = mean;
        break;
    case SELECT_SEM:
        out->x = sem;
        break;
    case SELECT_COUNT:
        out->x = (double)p->n;
        break;
    case SELECT_MEDIAN:
        order_statistic(p, (p->n + 1) / 2, out);
        break;
    case SELECT_QUANTILE:
        GEODEC_TRY(number_of(s, n->c, NULL, &share, err));
        if (!(share >= 0 && share <= 1)) GEODEC_THROW(GEODEC_INVAL, "quantile(): %g is not between 0 and 1", share);
        order_statistic(p, (int64_t)(share * (double)p->n), out);
        break;
    default: /* first, only */
        if (n->op == SELECT_ONLY && p->n > 1)
            GEODEC_THROW(GEODEC_INVAL, "only(): %" PRId64 " rows instead of one", p->n);
        if (p->n > 0)
            *out = p->v[0];
        else
            out->x = (double)NAN;
        break;
    }
done:
    return st;
}

/* ---- one row ---------------------------------------------------------------------------------------------------- */

static geodec_status eval_list(geodec__select *s, const geodec__select_node *n, geodec__select_value *out,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__select_list *l = &s->list[n->k];
    double x;
    *out = l->whole;
    if (n->a < 0) goto done;
    GEODEC_TRY(number_of(s, n->a, NULL, &x, err));
    if (!(x >= 0 && x < (double)l->n) || x != floor(x))
        GEODEC_THROW(GEODEC_INVAL, "'@%s' has %" PRId64 " words and none of number %g", l->name, l->n, x);
    *out = (geodec__select_value){.kind = GEODEC__SELECT_TEXT, .text = l->item[(int64_t)x]};
done:
    return st;
}

/* The texts of up to three arguments, concatenated. */
static geodec_status concat(geodec__select *s, const geodec__select_node *n, const geodec__select_pile *pile,
                            geodec__select_value *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int part[] = {n->a, n->b, n->c};
    char room[GEODEC_FORMAT_ROOM];
    size_t at = 0;
    *out = (geodec__select_value){.kind = GEODEC__SELECT_TEXT};
    for (int k = 0; k < 3 && part[k] >= 0; k++) {
        geodec__select_value v = {0};
        GEODEC_TRY(geodec__select_eval(s, part[k], pile, &v, err));
        const char *text = geodec__select_text(&v, s->query->digits, room);
        const size_t length = strlen(text);
        if (at + length >= sizeof out->own)
            GEODEC_THROW(GEODEC_LIMIT, "concat(): more than %zu letters", sizeof out->own - 1);
        memcpy(out->own + at, text, length);
        at += length;
    }
done:
    return st;
}

static geodec_status eval_call(geodec__select *s, const geodec__select_node *n, const geodec__select_pile *pile,
                               geodec__select_value *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select_value v = {0};
    double a = 0, b = 0;
    if (n->op == SELECT_CONCAT) {
        GEODEC_TRY(concat(s, n, pile, out, err));
        goto done;
    }
    *out = (geodec__select_value){.kind = GEODEC__SELECT_COMPUTED};
    GEODEC_TRY(geodec__select_eval(s, n->a, pile, &v, err));
    if (n->op == SELECT_IF) {
        GEODEC_TRY(geodec__select_number(&v, &a, err));
        GEODEC_TRY(geodec__select_eval(s, condition(a) ? n->b : n->c, pile, out, err));
        goto done;
    }
    if (n->op == SELECT_KNOWN) {
        a = v.x;
        out->x = (v.kind != GEODEC__SELECT_TEXT || read_number(text_of(&v), &a)) && isfinite(a);
        goto done;
    }
    if (n->op == SELECT_WORDS) {
        out->kind = GEODEC__SELECT_TEXT;
        (void)snprintf(out->own, sizeof out->own, "%s", v.kind == GEODEC__SELECT_TEXT ? text_of(&v) : "");
        if (v.kind != GEODEC__SELECT_TEXT || strcmp(out->own, text_of(&v)) != 0)
            GEODEC_THROW(GEODEC_INVAL, "words() takes a name of up to %zu letters", sizeof out->own - 1);
        for (char *c = out->own; *c; c++) *c = *c == '_' ? ' ' : *c;
        goto done;
    }
    GEODEC_TRY(geodec__select_number(&v, &a, err));
    if (n->b >= 0) GEODEC_TRY(number_of(s, n->b, pile, &b, err));
    if (n->op == SELECT_FIXED) {
        if (!(b >= 0 && b <= 17 && fabs(a) < 1e9) && isfinite(a)) GEODEC_THROW(GEODEC_INVAL, "fixed(%g, %g)", a, b);
        out->kind = GEODEC__SELECT_TEXT;
        (void)snprintf(out->own, sizeof out->own, "%.*f", (int)b, a);
    } else {
        out->x = n->op == SELECT_ABS    ? fabs(a)
                 : n->op == SELECT_SQRT ? sqrt(a)
                 : n->op == SELECT_EXP  ? exp(a)
                 : n->op == SELECT_LOG  ? log(a)
                                        : combine(n->op, a, b);
    }
done:
    return st;
}

static geodec_status eval_operator(geodec__select *s, const geodec__select_node *n, const geodec__select_pile *pile,
                                   geodec__select_value *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select_value v = {0}, w = {0};
    double a = 0, b = 0;
    bool same;
    *out = (geodec__select_value){.kind = GEODEC__SELECT_COMPUTED};
    GEODEC_TRY(geodec__select_eval(s, n->a, pile, &v, err));
    if (n->op == SELECT_EQ || n->op == SELECT_NE) {
        GEODEC_TRY(geodec__select_eval(s, n->b, pile, &w, err));
        GEODEC_TRY(equal(&v, &w, &same, err));
        out->x = same == (n->op == SELECT_EQ);
        goto done;
    }
    GEODEC_TRY(geodec__select_number(&v, &a, err));
    if (n->op == SELECT_NEGATE || n->op == SELECT_NOT) {
        out->x = n->op == SELECT_NEGATE ? -a : !condition(a);
        goto done;
    }
    if (n->op == SELECT_AND || n->op == SELECT_OR) {
        out->x = condition(a);
        if (condition(a) == (n->op == SELECT_OR)) goto done;
        GEODEC_TRY(number_of(s, n->b, pile, &b, err));
        out->x = condition(b);
        goto done;
    }
    GEODEC_TRY(number_of(s, n->b, pile, &b, err));
    out->x = combine(n->op, a, b);
done:
    return st;
}

geodec_status geodec__select_eval(geodec__select *s, int node, const geodec__select_pile *pile,
                                  geodec__select_value *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__select_node *n = &s->node[node];
    double x;
    if (geodec__select_is_sum(n->op)) {
        GEODEC_TRY(eval_sum(s, n, &pile[n->k], out, err));
        goto done;
    }
    switch (n->op) {
    case SELECT_CONSTANT:
        *out = n->value;
        break;
    case SELECT_REF:
        geodec__select_element(s, n->k, 0, out);
        break;
    case SELECT_LIST:
        GEODEC_TRY(eval_list(s, n, out, err));
        break;
    case SELECT_INDEX:
    case SELECT_SIZE:
        *out = (geodec__select_value){.kind = GEODEC__SELECT_COMPUTED,
                                      .x = (double)(n->op == SELECT_INDEX ? s->at[n->k] : s->extent[n->k])};
        break;
    case SELECT_RUNNING:
    case SELECT_TOTAL:
        if (n->op == SELECT_RUNNING) {
            GEODEC_TRY(number_of(s, n->a, pile, &x, err));
            s->running[n->k] += x;
        }
        *out = (geodec__select_value){.kind = GEODEC__SELECT_COMPUTED,
                                      .x = n->op == SELECT_RUNNING ? s->running[n->k] : s->total[n->k]};
        break;
    case SELECT_ABS:
    case SELECT_SQRT:
    case SELECT_EXP:
    case SELECT_LOG:
    case SELECT_POW:
    case SELECT_MIN:
    case SELECT_MAX:
    case SELECT_IF:
    case SELECT_KNOWN:
    case SELECT_FIXED:
    case SELECT_WORDS:
    case SELECT_CONCAT:
        GEODEC_TRY(eval_call(s, n, pile, out, err));
        break;
    default:
        GEODEC_TRY(eval_operator(s, n, pile, out, err));
        break;
    }
done:
    return st;
}
