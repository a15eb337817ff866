/* Published benchmark sets of known dimension: those of at most ten dimensions of Rozza et al., Machine Learning 89
 * (2012) 37, most of which are of Hein and Audibert (ICML 2005), with their parameters. Each is a function of uniform
 * numbers; a point sampled on its own draws them, and along texts they move smoothly with the same distribution, so
 * that both samples are of the same set. */
#ifndef GEODEC_TESTS_BENCHMARK_SETS_H
#define GEODEC_TESTS_BENCHMARK_SETS_H

#include <stdint.h>

enum { BENCHMARK_SETS = 10, BENCHMARK_WIDEST = 36 };

typedef struct benchmark_set {
    const char *name;
    int dimension, width, parameters; /* of the set, of its points, uniform numbers */
} benchmark_set;
extern const benchmark_set benchmark_sets[BENCHMARK_SETS];

/* n points x [n][width] in texts of `length` points: text and position [n], x in new memory of the caller
 * (geodec_mem_free). memory: 0 = the points are independent; otherwise the parameters are normal scores that pass two
 * exponential filters of so many steps, and start anew in each text. */
double *benchmark_sets_sample(int set, int64_t n, int64_t length, double memory, uint64_t seed, int32_t *text,
                              int32_t *position);

#endif
