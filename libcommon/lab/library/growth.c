#include "lab/library/growth.h"

#include "base/mem.h"
#include "linalg/stats.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { REPORT = 1024, DOUBLINGS = 64 };

static double spacing(int64_t count, int64_t n, const double *x)
{
    double total = 0;
    for (int64_t a = 0; a < n; a++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < count; i++) mean += x[i * n + a];
        mean /= (double)count;
        for (int64_t i = 0; i < count; i++) square += (x[i * n + a] - mean) * (x[i * n + a] - mean);
        total += square / (double)count;
    }
    return sqrt(total);
}

geodec_status geodec_library_run(int64_t queries, int64_t n, const double *query, double radius,
                                 const geodec_hooks *hooks, uint8_t *hit, int64_t *assigned,
                                 geodec_library_summary *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_library_summary s = {.queries = queries};
    double *record = NULL, seen[DOUBLINGS], size[DOUBLINGS];
    int64_t hits = 0, late = 0, marks = 0, next = 1;
    if (queries < 1 || n < 1 || !(radius >= 0))
        GEODEC_THROW(GEODEC_RANGE, "library of %lld queries, dimension %lld, radius %g", (long long)queries,
                     (long long)n, radius);
    for (int64_t i = 0; i < queries * n; i++)
        if (!isfinite(query[i])) GEODEC_THROW(GEODEC_NUMERIC, "query %lld is not finite", (long long)(i / n));
    GEODEC_NEW(record, queries * n);
    for (int64_t q = 0; q < queries; q++) {
        if (q % REPORT == 0) GEODEC_TRY(geodec_hooks_progress(hooks, "queries", q, queries, err));
        const double *x = query + q * n;
        double least = INFINITY;
        int64_t best = -1;
        for (int64_t r = 0; r < s.stored; r++) {
            const double *y = record + r * n;
            double d = 0;
            for (int64_t a = 0; a < n && d < least; a++) d += (x[a] - y[a]) * (x[a] - y[a]); /* it only grows */
            if (d < least) {
                least = d;
                best = r;
            }
        }
        const bool found = best >= 0 && sqrt(least) <= radius;
        if (found) {
            hits++;
            late += q >= queries / 2;
            s.distance += sqrt(least);
        } else {
            best = s.stored++;
            memcpy(record + best * n, x, (size_t)n * sizeof *x);
        }
        if (hit) hit[q] = found ? 1 : 0;
        if (assigned) assigned[q] = best;
        if (q + 1 == next || q + 1 == queries) {
            seen[marks] = log((double)(q + 1));
            size[marks++] = log((double)s.stored);
            next *= 2;
        }
    }
    s.hit_rate = (double)hits / (double)queries;
    s.second_half = (double)late / (double)(queries - queries / 2);
    if (hits > 0) s.distance /= (double)hits;
    s.rms_spacing = spacing(queries, n, query);
    if (queries >= 4) {
        geodec_stats_line line;
        GEODEC_TRY(geodec_stats_fit_line(marks, seen, size, NULL, &line, err));
        s.exponent = line.slope;
    }
    *out = s;
done:
    geodec_mem_free(record);
    return st;
}
