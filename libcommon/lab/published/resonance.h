/* The published "resonance" of batches: the times that the harness recorded for Phi applied to B queries one by one and
 * in one product, and their components.
 *
 * One query in the loop costs the interpreter 1.1 us for any B; the product costs a call of about 1 us and next to
 * nothing a query. Their ratio measures the slowness of the loop, not a resonance of batches: it is 14.6 at B = 1,
 * where both do the same single product. The row of B = 10 (41 us a query, every other row 1.1) is an interruption:
 * with the loop's steady time the ratio is 2.6 where 97.9 is printed. Its "reconstruction error" compares two orders of
 * the same product.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_RESONANCE_H
#define GEODEC_LAB_PUBLISHED_RESONANCE_H

#include <stdint.h>

enum { GEODEC_RESONANCE_BATCHES = 5 };
extern const int64_t geodec_resonance_batch[GEODEC_RESONANCE_BATCHES]; /* 1, 10, 100, 1000, 10000 */

/* Seconds for all B queries in the harness's results file, clock steps of 1e-7. */
extern const double geodec_resonance_published_loop_seconds[GEODEC_RESONANCE_BATCHES];
extern const double geodec_resonance_published_product_seconds[GEODEC_RESONANCE_BATCHES];

typedef struct geodec_resonance_published_row {
    double speedup[GEODEC_RESONANCE_BATCHES]; /* loop / product: as printed */
    double steady[GEODEC_RESONANCE_BATCHES];  /* with the loop's time a query at the largest B in every row */
    double overhead;                          /* that time, us */
} geodec_resonance_published_row;
geodec_resonance_published_row geodec_resonance_published_explain(void);

#endif
