/* The order in which points are scanned: near points together. */
#include "base/mem.h"
#include "linalg/knn_internal.h"

enum { SAMPLE = 64 };

typedef struct key {
    double x;
    int32_t i;
} key;

static int below(key a, key b) { return a.x < b.x || (a.x == b.x && a.i < b.i); }

static void swap(key *a, key *b)
{
    const key t = *a;
    *a = *b;
    *b = t;
}

/* Puts the `want` smallest of a [n] in front (Hoare's selection, median of three; keys are all different). */
static void partition(int64_t n, key *a, int64_t want)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        key *const l = a + low, *const m = a + low + (high - low) / 2, *const h = a + high;
        if (below(*m, *l)) swap(m, l);
        if (below(*h, *l)) swap(h, l);
        if (below(*h, *m)) swap(h, m);
        const key pivot = *m;
        int64_t i = low, j = high;
        while (i <= j) {
            while (below(a[i], pivot)) i++;
            while (below(pivot, a[j])) j--;
            if (i <= j) swap(&a[i++], &a[j--]);
        }
        if (want <= j)
            high = j;
        else if (want >= i)
            low = i;
        else
            break;
    }
}

/* The coordinate of largest variance among some of the points. */
static int64_t widest(int64_t n, int64_t d, const double *points, const int32_t *order)
{
    const int64_t step = n > SAMPLE ? n / SAMPLE : 1;
    int64_t best = 0;
    double best_spread = -1;
    for (int64_t c = 0; c < d; c++) {
        const double origin = points[order[0] * d + c];
        double s = 0, ss = 0, m = 0;
        for (int64_t i = 0; i < n; i += step) {
            const double x = points[order[i] * d + c] - origin;
            s += x;
            ss += x * x;
            m++;
        }
        if (ss - s * s / m > best_spread) {
            best_spread = ss - s * s / m;
            best = c;
        }
    }
    return best;
}

static void split(int64_t n, int64_t d, const double *points, int32_t *order, key *work)
{
    while (n > GEODEC__KNN_LEAF) {
        const int64_t c = widest(n, d, points, order), leaves = (n + GEODEC__KNN_LEAF - 1) / GEODEC__KNN_LEAF;
        const int64_t left = (leaves + 1) / 2 * GEODEC__KNN_LEAF; /* whole leaves; only the last may be partial */
        for (int64_t i = 0; i < n; i++) work[i] = (key){points[order[i] * d + c], order[i]};
        partition(n, work, left);
        for (int64_t i = 0; i < n; i++) order[i] = work[i].i;
        split(left, d, points, order, work);
        order += left;
        n -= left;
    }
}

geodec_status geodec_knn_order(int64_t n, int64_t d, const double *points, int32_t *order, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    key *work = NULL;
    GEODEC_NEW(work, n);
    for (int64_t i = 0; i < n; i++) order[i] = (int32_t)i;
    split(n, d, points, order, work);
done:
    geodec_mem_free(work);
    return st;
}
