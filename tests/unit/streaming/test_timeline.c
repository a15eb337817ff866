/* Sums over a timeline are those of the passes, and its points are bounded. */
#include "streaming/timeline.h"

#include <criterion/criterion.h>
#include <string.h>

/* Pass i has i rows, 10 i bytes, i ms, i/2 ms of stall. */
static void fill(geodec_timeline *t, int64_t n)
{
    memset(t, 0, sizeof *t);
    for (int64_t i = 0; i < n; i++)
        geodec_timeline_add(
            t, &(geodec_timeline_point){
                   .passes = 1, .rows = i, .bytes = 10 * i, .seconds = (double)i, .stall = 0.5 * (double)i});
}

Test(timeline, every_pass_is_in_one_point)
{
    enum { P = GEODEC_TIMELINE_POINTS };
    static const int64_t count[] = {0, 1, 2, P - 1, P, P + 1, 2 * P - 1, 2 * P, 2 * P + 1, 5 * P + 3, 40 * P + 7};
    static geodec_timeline t;
    for (size_t k = 0; k < sizeof count / sizeof *count; k++) {
        const int64_t n = count[k];
        geodec_timeline_point sum = {0};
        int64_t next = 0;
        fill(&t, n);
        cr_assert(t.n <= P && (n < P || t.n >= P / 2), "%lld passes, %d points", (long long)n, t.n);
        for (int32_t i = 0; i < t.n; i++) {
            const geodec_timeline_point *p = &t.point[i];
            cr_assert(p->passes == t.stride || i == t.n - 1, "point %d of %d has %lld passes, not %lld", i, t.n,
                      (long long)p->passes, (long long)t.stride);
            /* consecutive passes: the sum of next .. next + passes - 1 */
            cr_assert_eq(p->rows, p->passes * next + p->passes * (p->passes - 1) / 2);
            next += p->passes;
            sum.rows += p->rows;
            sum.bytes += p->bytes;
            sum.seconds += p->seconds;
            sum.stall += p->stall;
        }
        cr_assert_eq(next, n);
        cr_assert_eq(sum.rows, n * (n - 1) / 2);
        cr_assert_eq(sum.bytes, 10 * sum.rows);
        cr_assert(sum.seconds == (double)sum.rows && sum.stall == 0.5 * (double)sum.rows);
    }
}
