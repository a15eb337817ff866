/* The control of a search: some queries again, by the definition. */
#include "base/mem.h"
#include "neighbours/search.h"

#include <math.h>
#include <string.h>

enum { READ = 4096 };

static void insert(int64_t k, int32_t *index, double *best, int32_t row, double d2)
{
    int64_t at = k - 1;
    if (index[at] >= 0 && best[at] <= d2) return; /* rows rise: of equal distances the lower is there */
    for (; at > 0 && (index[at - 1] < 0 || best[at - 1] > d2); at--) {
        index[at] = index[at - 1];
        best[at] = best[at - 1];
    }
    index[at] = row;
    best[at] = d2;
}

geodec_status geodec_neighbours_check(const geodec_neighbours_source *points, const geodec_neighbours_source *queries,
                                      int64_t k, int64_t n, const int64_t *row, const int32_t *index,
                                      const double *dist2, const geodec_hooks *hooks, int64_t *differ, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = points->d;
    const geodec_neighbours_source *q = queries ? queries : points;
    double *x = NULL, *y = NULL, *best = NULL;
    int32_t *own = NULL;
    GEODEC_NEW(x, READ * d);
    GEODEC_NEW(y, n * d);
    GEODEC_NEW(best, n * k);
    GEODEC_NEW(own, n * k);
    for (int64_t i = 0; i < n * k; i++) own[i] = -1;
    for (int64_t i = 0; i < n; i++) GEODEC_TRY(q->read(q->ctx, row[i], 1, y + i * d, err));
    for (int64_t r = 0; r < points->rows; r += READ) {
        const int64_t m = points->rows - r < READ ? points->rows - r : READ;
        GEODEC_TRY(geodec_hooks_progress(hooks, "checking", r, points->rows, err));
        GEODEC_TRY(points->read(points->ctx, r, m, x, err));
        for (int64_t i = 0; i < n; i++)
            for (int64_t p = 0; p < m; p++) {
                if (!queries && r + p == row[i]) continue;
                double d2 = 0;
                for (int64_t c = 0; c < d; c++) d2 += (y[i * d + c] - x[p * d + c]) * (y[i * d + c] - x[p * d + c]);
                insert(k, own + i * k, best + i * k, (int32_t)(r + p), d2);
            }
    }
    *differ = 0;
    for (int64_t i = 0; i < n; i++)
        *differ += memcmp(own + i * k, index + i * k, (size_t)k * sizeof *own) != 0 ||
                   memcmp(best + i * k, dist2 + i * k, (size_t)k * sizeof *best) != 0;
done:
    GEODEC_FREE(x, y, best, own);
    return st;
}
