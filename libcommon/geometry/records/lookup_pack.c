/* Sorts the anchors into the order of a k-d tree and makes panels and boxes. */
#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/expm.h"
#include "records/lookup_internal.h"

#include <math.h>
#include <string.h>

enum { LANES = GEODEC__LOOKUP_LANES };

typedef struct ranked {
    double key;
    int32_t record;
} ranked;

typedef struct packer {
    geodec_lookup *l;
    double *weight; /* [n] weight of a squared difference along a coordinate: the mean of the diagonals of the
                       metrics */
    int32_t *order; /* [R] */
    ranked *keys;   /* [R] */
} packer;

static bool before(ranked a, ranked b) { return a.key < b.key || (a.key == b.key && a.record < b.record); }

/* Moves the `first` smallest of a [count] to the front (quickselect; all keys differ because they include the
 * record). */
static void select_first(ranked *a, int64_t count, int64_t first)
{
    int64_t lo = 0, hi = count - 1;
    while (lo < hi) {
        ranked p = a[lo + (hi - lo) / 2];
        if (before(a[hi], a[lo]))
            p = before(p, a[hi]) ? a[hi] : before(a[lo], p) ? a[lo] : p;
        else
            p = before(p, a[lo]) ? a[lo] : before(a[hi], p) ? a[hi] : p;
        int64_t i = lo - 1, j = hi + 1;
        for (;;) {
            do i++;
            while (before(a[i], p));
            do j--;
            while (before(p, a[j]));
            if (i >= j) break;
            const ranked t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
        if (first <= j + 1)
            hi = j;
        else
            lo = j + 1;
        if (first == j + 1) return;
    }
}

static int64_t widest(const packer *k, int64_t begin, int64_t count)
{
    const int64_t n = k->l->n;
    int64_t best = 0;
    double top = -1;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0, square = 0;
        for (int64_t r = begin; r < begin + count; r++) {
            const double x = k->l->q[k->order[r] * n + i] - k->l->centre[i];
            sum += x;
            square += x * x;
        }
        const double spread = (square - sum * sum / (double)count) * k->weight[i];
        if (spread > top) {
            top = spread;
            best = i;
        }
    }
    return best;
}

/* The first part takes 16 times a power of two, so that groups of sixteen panels are whole subtrees. */
static void split(packer *k, int64_t begin, int64_t count)
{
    while (count > LANES) {
        int64_t half = LANES;
        while (2 * half < count) half *= 2;
        const int64_t axis = widest(k, begin, count), n = k->l->n;
        for (int64_t r = 0; r < count; r++)
            k->keys[r] = (ranked){k->l->q[k->order[begin + r] * n + axis], k->order[begin + r]};
        select_first(k->keys, count, half);
        for (int64_t r = 0; r < count; r++) k->order[begin + r] = k->keys[r].record;
        split(k, begin, half); /* each level about halves the count, so the depth is logarithmic */
        begin += half;
        count -= half;
    }
}

static geodec_status take_order(geodec_lookup *l, int32_t *order, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    packer k = {.l = l, .order = order};
    const int64_t n = l->n;
    GEODEC_NEW(k.weight, n);
    GEODEC_NEW(k.keys, l->records);
    for (int64_t i = 0, at = 0; i < n; at += n - i++) {
        k.weight[i] = l->g ? 0 : 1;
        if (l->g)
            for (int64_t r = 0; r < l->records; r++) k.weight[i] += (double)l->g[r * (n * (n + 1) / 2) + at];
    }
    for (int64_t r = 0; r < l->records; r++) order[r] = (int32_t)r;
    split(&k, 0, l->records);
done:
    GEODEC_FREE(k.weight, k.keys);
    return st;
}

static geodec_status take_anchors(geodec_lookup *l, const int32_t *order, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = l->n;
    l->panels = (l->records + LANES - 1) / LANES;
    GEODEC_NEW(l->index, l->panels * LANES);
    GEODEC_NEW(l->anchor, l->panels * n * LANES);
    for (int64_t s = 0; s < l->panels * LANES; s++) {
        const int64_t r = order[s < l->records ? s : l->records - 1];
        l->index[s] = s < l->records ? (int32_t)r : -1;
        for (int64_t i = 0; i < n; i++)
            l->anchor[(s / LANES * n + i) * LANES + s % LANES] = (float)(l->q[r * n + i] - l->centre[i]);
    }
    if (l->records > GEODEC__LOOKUP_SMALL) goto done;
    GEODEC_NEW(l->minus, (l->records + 7) / 8 * n * 8);
    for (int64_t s = 0; s < (l->records + 7) / 8 * 8; s++)
        for (int64_t i = 0; i < n; i++)
            l->minus[(s / 8 * n + i) * 8 + s % 8] = -l->q[(s < l->records ? s : l->records - 1) * n + i];
done:
    return st;
}

/* Factors of the records' metrics; bound weights w, v [panels 16][n] in the order of the panels. */
static geodec_status take_metrics(geodec_lookup *l, float *w, float *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = l->n, packed = n * (n + 1) / 2;
    double *g = NULL, *row = NULL;
    geodec__lookup_bounds *b = NULL;
    GEODEC_NEW(g, n * n);
    GEODEC_NEW(row, packed);
    GEODEC_NEW(b, 1);
    GEODEC_NEW(l->factor, l->panels * packed * LANES);
    GEODEC_NEW(l->norm, l->panels);
    l->slack = 1;
    for (int64_t s = 0; s < l->panels * LANES; s++) {
        const int32_t r = l->index[s];
        if (r < 0) {
            memcpy(w + s * n, w + (s - 1) * n, (size_t)n * sizeof *w);
            memcpy(v + s * n, v + (s - 1) * n, (size_t)n * sizeof *v);
            continue;
        }
        for (int64_t i = 0; i < packed; i++) row[i] = (double)l->g[r * packed + i];
        geodec_sym_unpack(n, row, g);
        if (!l->kernels->bounds(n, g, b))
            GEODEC_THROW(GEODEC_NUMERIC, "the metric of record %d is not positive definite or not finite", (int)r);
        if (!(b->slack < GEODEC__LOOKUP_SLACK && b->norm < GEODEC__LOOKUP_FAR)) continue; /* bounds of zero */
        memcpy(w + s * n, b->w, (size_t)n * sizeof *w);
        memcpy(v + s * n, b->v, (size_t)n * sizeof *v);
        float *to = l->factor + s / LANES * packed * LANES + s % LANES;
        for (int64_t k = n - 1; k >= 0; k--)
            for (int64_t j = k; j < n; j++, to += LANES) *to = b->factor[k * n + j];
        if (b->norm > (double)l->norm[s / LANES]) l->norm[s / LANES] = nextafterf((float)b->norm, INFINITY);
        l->slack = fmax(l->slack, b->slack);
        l->stiff = fmax(l->stiff, b->norm);
    }
done:
    GEODEC_FREE(g, row, b);
    return st;
}

/* Box b of a level, from `below` items of the level below, item t at x(t, i). */
static void fill_box(int64_t n, int64_t b, float *out, const float *value, bool largest)
{
    for (int64_t i = 0; i < n; i++) {
        float *at = out + (b / LANES * n + i) * LANES + b % LANES;
        if (largest ? value[i] > *at : value[i] < *at) *at = value[i];
    }
}

static geodec_status take_boxes(geodec_lookup *l, const float *w, const float *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = l->n;
    float x[GEODEC_RBF_MAX_N];
    int64_t boxes = l->panels, members = LANES;
    do {
        geodec__lookup_level *at = &l->level[l->levels++];
        const int64_t size = (boxes + LANES - 1) / LANES * n * LANES;
        at->boxes = boxes;
        GEODEC_NEW_EACH(size, at->lo, at->hi);
        if (w) {
            GEODEC_NEW_EACH(size, at->w, at->v);
        }
        for (int64_t i = 0; i < size; i++) {
            at->lo[i] = INFINITY;
            at->hi[i] = -INFINITY;
            if (w) at->w[i] = at->v[i] = INFINITY;
        }
        for (int64_t s = 0; s < l->panels * LANES; s++) {
            const int64_t b = s / members;
            for (int64_t i = 0; i < n; i++) x[i] = l->anchor[(s / LANES * n + i) * LANES + s % LANES];
            fill_box(n, b, at->lo, x, false);
            fill_box(n, b, at->hi, x, true);
            if (w) {
                fill_box(n, b, at->w, w + s * n, false);
                fill_box(n, b, at->v, v + s * n, false);
            }
        }
        boxes = (boxes + LANES - 1) / LANES;
        members *= LANES;
    } while (l->level[l->levels - 1].boxes > LANES);
done:
    return st;
}

geodec_status geodec__lookup_pack(geodec_lookup *l, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = l->n;
    int32_t *order = NULL;
    float *w = NULL, *v = NULL;
    GEODEC_NEW(l->centre, n);
    for (int64_t i = 0; i < l->records * n; i++) l->centre[i % n] += l->q[i] / (double)l->records;
    for (int64_t r = 0; r < l->records; r++) {
        double d2 = 0;
        for (int64_t i = 0; i < n; i++) d2 += (l->q[r * n + i] - l->centre[i]) * (l->q[r * n + i] - l->centre[i]);
        l->reach = fmax(l->reach, sqrt(d2));
    }
    GEODEC_NEW(order, l->records);
    GEODEC_TRY(take_order(l, order, err));
    GEODEC_TRY(take_anchors(l, order, err));
    if (l->g) {
        GEODEC_NEW_EACH(l->panels * LANES * n, w, v);
        GEODEC_TRY(take_metrics(l, w, v, err));
    }
    GEODEC_TRY(take_boxes(l, w, v, err));
done:
    GEODEC_FREE(order, w, v);
    return st;
}
