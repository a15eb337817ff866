/* How many pairs a memory holds, measured: random keys, each looked up again. */
#ifndef GEODEC_PERSPECTIVE_MEMORY_CAPACITY_H
#define GEODEC_PERSPECTIVE_MEMORY_CAPACITY_H

#include "lab/perspective/memory/hdm.h"

/* What one bank keeps of its pairs. COUNTERS: the sum of the memory. The others are controls with one bit in place of a
 * counter: a new pair and the bits so far have a majority of two, whose ties, the bits that differ, are decided at
 * random, or by the first operand (the published rule, which never stores a second pair). */
typedef enum geodec_capacity_rule {
    GEODEC_CAPACITY_COUNTERS,
    GEODEC_CAPACITY_BIT_RANDOM,
    GEODEC_CAPACITY_BIT_FIRST,
    GEODEC_CAPACITY_RULES
} geodec_capacity_rule;

/* One bank of `pairs` pairs of random keys and values; every key is looked up among `candidates` values, the pairs' own
 * and others, without a limit of z. *share: right ones. GEODEC_RANGE (pairs < 1, candidates < pairs), GEODEC_NOMEM. */
geodec_status geodec_capacity_bank(geodec_capacity_rule rule, int64_t pairs, int64_t candidates, uint64_t seed,
                                   double *share, geodec_pool *pool, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_capacity_options {
    int64_t pairs;
    int64_t queries; /* keys that are looked up, evenly spaced; at most `pairs` */
    int32_t bank_bits, radius;
    double noise; /* probability that a bit of a looked-up key is inverted */
    uint64_t seed;
    bool exact; /* also measure the control: the nearest of all keys, which a memory does not store */
} geodec_capacity_options;

typedef struct geodec_capacity {
    double right;    /* share of the queries whose best entry is theirs */
    double accepted; /* and has z > 5 */
    double wrong;    /* share that is accepted with another entry */
    double reached;  /* share whose bank is among those asked: a bound of `right` */
    double foreign;  /* share of `queries` random keys, of no pair, that are accepted */
    double z;        /* mean z of the right ones */
    double exact;    /* right ones of the control; NaN without it */
    double pairs_a_bank;
    int64_t bytes; /* of the memory, without text */
} geodec_capacity;
/* GEODEC_RANGE, and the errors of geodec_hdm_add. The same with any number of threads. */
geodec_status geodec_capacity_measure(const geodec_capacity_options *o, geodec_capacity *out, geodec_pool *pool,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
