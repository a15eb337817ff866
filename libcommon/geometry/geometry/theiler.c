#include "geometry/theiler.h"

#include "base/extremes_internal.h"
#include "base/mem.h"
#include "geometry/twonn_internal.h"
#include "geometry/twonn_sphere.h"
#include "linalg/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TESTED = 4 /* points of a text in a part, from which its order is tested */ };

/* ---- points in the order of texts -------------------------------------------------------------------------------- */

typedef struct place {
    int32_t text, position, row;
} place;

static int by_place(const void *pa, const void *pb)
{
    const place *a = pa, *b = pb;
    if (a->text != b->text) return a->text < b->text ? -1 : 1;
    if (a->position != b->position) return a->position < b->position ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The n points row[i] (NULL: i) in order, in new memory. */
static geodec_status order(int64_t n, const int32_t *row, const int32_t *text, const int32_t *position, place **out,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    place *o = NULL;
    GEODEC_NEW(o, n);
    for (int64_t i = 0; i < n; i++) {
        const int32_t r = row ? row[i] : (int32_t)i;
        o[i] = (place){text[r], position[r], (int32_t)i};
    }
    qsort(o, (size_t)n, sizeof *o, by_place);
    *out = o;
done:
    return st;
}

/* The largest number of points in any `window` positions of a text. */
static int64_t count_parts(int64_t n, const place *o, int64_t window)
{
    int64_t most = 1;
    for (int64_t i = 0, first = 0; i < n; i++) {
        while (o[first].text != o[i].text || (int64_t)o[i].position - o[first].position >= window) first++;
        most = geodec__max(most, i - first + 1);
    }
    return most;
}

/* The number of positions from the first to the last of the longest text. */
static int64_t longest_text(int64_t n, const place *o)
{
    int64_t most = 0;
    for (int64_t i = 0, first = 0; i < n; i++) {
        if (o[first].text != o[i].text) first = i;
        most = geodec__max(most, (int64_t)o[i].position - o[first].position + 1);
    }
    return most;
}

geodec_status geodec_theiler_divide(int64_t n, const int32_t *text, const int32_t *position, int64_t window,
                                    geodec_theiler_parts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    place *o = NULL;
    geodec_theiler_parts p = {.parts = 1, .blocks = n};
    GEODEC_TRY(order(n, NULL, text, position, &o, err));
    p.parts = window > 1 ? count_parts(n, o, window) : 1;
    if (p.parts > 1) {
        p.blocks = (n + p.parts - 1) / p.parts;
        GEODEC_NEW_EACH(n, p.part, p.block);
        for (int64_t i = 0; i < n; i++) {
            p.part[o[i].row] = (int32_t)(i % p.parts);
            p.block[o[i].row] = (int32_t)(i / p.parts);
        }
    }
    GEODEC_MOVE(*out, p);
done:
    geodec_mem_free(o);
    geodec_theiler_clear(&p);
    return st;
}

void geodec_theiler_clear(geodec_theiler_parts *p)
{
    GEODEC_FREE(p->part, p->block);
    *p = (geodec_theiler_parts){0};
}

/* ---- the window ---------------------------------------------------------------------------------------------------
 */

/* Pairs of ratios: of one text; of texts whose order is tested; in time, and what order without meaning gives. */
typedef struct tally {
    int64_t same, tested, in_time;
    double expected, variance;
} tally;

/* A search among different points x [n][d] whose order is o. */
typedef struct texts {
    int64_t n, d;
    const double *x;
    const place *o;
    geodec_pool *pool;
    const geodec_hooks *hooks;
    double *part;            /* [n][d] points of a part */
    int32_t *index;          /* [n][2] their neighbours */
    double *d2;              /* [n][2] */
    int32_t *length, *first; /* [n] of the run of their text in the part */
} texts;

static void count_pair(const texts *t, int64_t a, int64_t b, tally *y)
{
    if (t->first[a] != t->first[b]) return;
    const int64_t m = t->length[a];
    y->same++;
    if (m < TESTED) return;
    y->tested++;
    y->in_time += a - b == 1 || b - a == 1;
    y->expected += 2. / (double)m;
    y->variance += 2. / (double)m * (1 - 2. / (double)m);
}

/* Neighbours within part p of `parts`, and its pairs. */
static geodec_status search_part(texts *t, int64_t p, int64_t parts, tally *y, geodec_err *err)
{
    const int64_t m = (t->n - p + parts - 1) / parts;
    for (int64_t a = 0; a < m; a++)
        memcpy(t->part + a * t->d, t->x + t->o[p + a * parts].row * t->d, (size_t)t->d * sizeof *t->part);
    for (int64_t a = 0, end; a < m; a = end) {
        for (end = a + 1; end < m && t->o[p + end * parts].text == t->o[p + a * parts].text;) end++;
        for (int64_t b = a; b < end; b++) {
            t->first[b] = (int32_t)a;
            t->length[b] = (int32_t)(end - a);
        }
    }
    GEODEC_PASS(geodec_knn_search(m, t->d, t->part, 0, NULL, 2, t->index, t->d2, t->pool, t->hooks, err));
    for (int64_t a = 0; a < m; a++) {
        const int64_t b = t->index[2 * a], c = t->index[2 * a + 1];
        count_pair(t, a, b, y);
        count_pair(t, a, c, y);
        count_pair(t, b, c, y);
    }
    return GEODEC_OK;
}

static bool too_many(const tally *y, int64_t n)
{
    const double excess = (double)y->in_time - y->expected;
    return excess > GEODEC_THEILER_EXCESS * (double)n && excess > GEODEC_THEILER_SIGMA * sqrt(2 * y->variance + 1);
}

/* Order is no longer tested although pairs of a text are more frequent than among m points of any text. */
static bool untold(const texts *t, const tally *y, int64_t parts)
{
    const double m = (double)t->n / (double)parts;
    double others = 0; /* of the text of a point, in the whole */
    for (int64_t i = 0, first = 0; i < t->n; i++) {
        if (t->o[first].text != t->o[i].text) first = i;
        others += 2 * (double)(i - first) / (double)t->n;
    }
    const double chance = 3 * others / (double)parts / m;
    return 2 * y->tested < y->same && (double)y->same > (GEODEC_THEILER_EXCESS + chance) * (double)t->n;
}

/* nearest [n]: the place of the nearest point of each, from the search in one part. */
static geodec_status choose(texts *t, geodec_theiler_window *out, int32_t *nearest, geodec_err *err)
{
    const int64_t longest = longest_text(t->n, t->o);
    int64_t w = 1, parts = 0;
    for (;;) {
        const int64_t now = count_parts(t->n, t->o, w);
        tally y = {0};
        if (t->n / now < GEODEC_THEILER_LEAST) {
            out->remain = true;
            return GEODEC_OK;
        }
        out->window = w;
        if (now != parts) {
            parts = now;
            for (int64_t p = 0; p < parts; p++) GEODEC_PASS(search_part(t, p, parts, &y, err));
            if (parts == 1)
                for (int64_t a = 0; a < t->n; a++) nearest[a] = t->index[2 * a];
            const bool more = too_many(&y, t->n);
            if (!more && parts > 1 && w < longest && untold(t, &y, parts)) {
                w = longest;
                continue;
            }
            if (!more) return GEODEC_OK;
        }
        if (w >= longest) return GEODEC_OK;
        w = w < 3 ? w + 1 : (w & (w - 1)) == 0 ? w + w / 2 : w / 3 * 4;
        w = geodec__min(w, longest);
    }
}

/* The shares of the nearest neighbours. */
static void shares(const texts *t, const int32_t *nearest, geodec_theiler_window *out)
{
    const int64_t w = geodec__max(out->window, 2), n = t->n;
    int64_t near = 0, pairs = 0;
    for (int64_t i = 0, first = 0; i < n; i++) {
        const place *a = &t->o[i], *b = &t->o[nearest[i]];
        near += a->text == b->text && labs((long)a->position - (long)b->position) < w;
        while (t->o[first].text != a->text || (int64_t)a->position - t->o[first].position >= w) first++;
        pairs += i - first;
    }
    out->near = (double)near / (double)n;
    out->chance = 2 * (double)pairs / (double)n / (double)(n - 1);
}

geodec_status geodec_theiler_find(int64_t n, int64_t d, const double *x, const int32_t *text, const int32_t *position,
                                  int64_t asked, geodec_pool *pool, const geodec_hooks *hooks,
                                  geodec_theiler_window *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *point = NULL;
    int32_t *row = NULL, *nearest = NULL;
    place *o = NULL;
    texts t = {.d = d, .pool = pool, .hooks = hooks};
    *out = (geodec_theiler_window){.window = geodec__max(asked, 1)};
    GEODEC_TRY(geodec__twonn_points(n, d, x, &point, &row, &t.n, err));
    GEODEC_TRY(order(t.n, row, text, position, &o, err));
    t.x = point;
    t.o = o;
    if (count_parts(t.n, o, INT64_MAX) == 1) goto done;
    GEODEC_NEW(t.part, t.n * d);
    GEODEC_NEW_EACH(2 * t.n, t.index, t.d2);
    GEODEC_NEW_EACH(t.n, t.length, t.first, nearest);
    if (asked < 0) {
        GEODEC_TRY(choose(&t, out, nearest, err));
    } else {
        tally ignored = {0};
        GEODEC_TRY(search_part(&t, 0, 1, &ignored, err));
        for (int64_t a = 0; a < t.n; a++) nearest[a] = t.index[2 * a];
    }
    shares(&t, nearest, out);
done:
    GEODEC_FREE(point, row, o, nearest, t.part, t.index, t.d2, t.length, t.first);
    return st;
}

/* ---- the estimate -------------------------------------------------------------------------------------------------
 */

void geodec_theiler_of(const geodec_twonn *t, int64_t parts, geodec_theiler *out)
{
    const int64_t n = (t->points - t->duplicates) / parts;
    *out = (geodec_theiler){.twonn = *t,
                            .part_points = n,
                            .dimension = geodec_twonn_sphere_dimension(1 / t->ml, n),
                            .low = geodec_twonn_sphere_dimension(1 / t->ml_low, n),
                            .high = geodec_twonn_sphere_dimension(1 / t->ml_high, n)};
}

geodec_status geodec_theiler_estimate(int64_t n, int64_t d, const double *x, const geodec_theiler_parts *p,
                                      const geodec_twonn_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                      geodec_theiler *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *point = NULL, *part = NULL, *d2 = NULL;
    int32_t *row = NULL, *member = NULL, *index = NULL, *block = NULL;
    int64_t kept = 0, at = 0;
    geodec_twonn t = {.points = n, .ml = NAN, .fit = NAN};
    if (p->parts <= 1) {
        st = geodec_twonn_estimate(n, d, x, o, pool, hooks, &t, err);
        geodec_theiler_of(&t, 1, out);
        return st;
    }
    t.ml_low = t.ml_high = t.fit_low = t.fit_high = NAN;
    geodec_theiler_of(&t, p->parts, out);
    GEODEC_TRY(geodec__twonn_points(n, d, x, &point, &row, &kept, err));
    GEODEC_NEW(part, kept * d);
    GEODEC_NEW_EACH(2 * kept, index, d2);
    GEODEC_NEW_EACH(kept, block, member);
    /* members of part q at start[q] .. start[q+1]-1, by counting */
    for (int64_t q = 0; q < p->parts; q++) {
        const int64_t first = at;
        for (int64_t i = 0; i < kept; i++)
            if (p->part[row[i]] == q) member[at++] = (int32_t)i;
        const int64_t m = at - first;
        for (int64_t a = 0; a < m; a++) {
            memcpy(part + a * d, point + member[first + a] * d, (size_t)d * sizeof *part);
            block[first + a] = p->block[row[member[first + a]]];
        }
        if (m < 4)
            GEODEC_THROW(GEODEC_SCARCE, "TwoNN: a part of the texts has %lld different points; 4 are needed",
                         (long long)m);
        GEODEC_TRY(geodec_knn_search(m, d, part, 0, NULL, 2, index, d2 + 2 * first, pool, hooks, err));
    }
    st = geodec__twonn_blocks(kept, d2, block, p->blocks, o, &t, err);
    t.points = n;
    t.duplicates = n - kept;
    geodec_theiler_of(&t, p->parts, out);
done:
    GEODEC_FREE(point, row, part, d2, member, index, block);
    return st;
}

bool geodec_theiler_scarce(const geodec_theiler *t) { return t->dimension > 2 * log10((double)t->part_points); }
