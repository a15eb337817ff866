/* The golden files <model>_n<dim>.h5, whichever are there: kept-back models are tested by the same code. */
#ifndef GEODEC_TESTS_GOLDENS_H
#define GEODEC_TESTS_GOLDENS_H

#include <stdint.h>

/* Calls fn(path) for every <model>_n<number>.h5 (any number of digits) in golden/ott, of the shared folder or of the
 * repository (test_shared), that has the dataset /cloud/points. */
void goldens_each(void (*fn)(const char *path));

/* Worst deviation of values [count] from a dataset, relative to the dataset's largest magnitude; printed with the
 * file's and dataset's name, and asserted to be at most `limit`. */
void goldens_compare(const char *path, const char *dataset, int64_t count, const double *values, double limit);
/* goldens_compare value by value: |value - wanted| <= rel |wanted| + abs; the printed deviation is relative to that
 * limit. */
void goldens_compare_each(const char *path, const char *dataset, int64_t count, const double *values, double rel,
                          double abs);
/* Prints a worst deviation that was measured elsewhere in the same words, and asserts the limit. */
void goldens_report(const char *path, const char *dataset, double worst, double limit);

#endif
