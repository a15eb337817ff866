/* How many pairs a hyperdimensional memory gives back. */
#include "lab/perspective/memory/capacity.h"
#include "lab/perspective/parts_internal.h"

#include <math.h>
#include <stdio.h>

/* One bank, by number of pairs and rule. */
static geodec_status banks(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    static const int64_t pairs[] = {10, 25, 100, 200, 500, 1000};
    const int n = o->quick ? 3 : (int)(sizeof pairs / sizeof *pairs);
    for (int i = 0; i < n; i++) {
        const int64_t candidates = pairs[i] < 100 ? 100 : pairs[i];
        double counters = NAN, bits = NAN, first = NAN;
        char key[32], quantity[96];
        GEODEC_PASS(
            geodec_capacity_bank(GEODEC_CAPACITY_COUNTERS, pairs[i], candidates, o->seed, &counters, o->pool, err));
        GEODEC_PASS(
            geodec_capacity_bank(GEODEC_CAPACITY_BIT_RANDOM, pairs[i], candidates, o->seed, &bits, o->pool, err));
        GEODEC_PASS(
            geodec_capacity_bank(GEODEC_CAPACITY_BIT_FIRST, pairs[i], candidates, o->seed, &first, o->pool, err));
        (void)snprintf(key, sizeof key, "bank-%lld", (long long)pairs[i]);
        (void)snprintf(quantity, sizeof quantity, "right among %lld values, a bank of %lld pairs in counters",
                       (long long)candidates, (long long)pairs[i]);
        GEODEC_PASS(
            geodec__parts_add(out, key, quantity, counters, "one bit in place of a counter, random ties", bits, err));
        (void)snprintf(key, sizeof key, "bank-first-%lld", (long long)pairs[i]);
        (void)snprintf(quantity, sizeof quantity, "the same with one bit whose ties keep the first operand, %lld pairs",
                       (long long)pairs[i]);
        GEODEC_PASS(geodec__parts_add(out, key, quantity, first, "any value", 1.0 / (double)candidates, err));
    }
    return GEODEC_OK;
}

geodec_status geodec__parts_memory(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    static const int64_t pairs[] = {100, 1000, 10000, 100000};
    const int n = o->quick ? 2 : (int)(sizeof pairs / sizeof *pairs);
    GEODEC_PASS(banks(o, out, err));
    for (int i = 0; i < n; i++)
        for (int noisy = 0; noisy < 2; noisy++) {
            const geodec_capacity_options c = {.pairs = pairs[i],
                                               .queries = pairs[i] < 500 ? pairs[i] : 500,
                                               .bank_bits = GEODEC_HDM_BANK_BITS,
                                               .radius = noisy ? GEODEC_HDM_RADIUS : 0,
                                               .noise = noisy ? 0.1 : 0,
                                               .seed = o->seed,
                                               .exact = false};
            geodec_capacity y;
            char key[32], quantity[96];
            GEODEC_PASS(geodec_capacity_measure(&c, &y, o->pool, err));
            (void)snprintf(key, sizeof key, "pairs-%lld%s", (long long)pairs[i], noisy ? "-noise" : "");
            (void)snprintf(quantity, sizeof quantity, "right of %lld pairs in 2,048 banks%s", (long long)pairs[i],
                           noisy ? ", a tenth of the key's bits inverted" : "");
            GEODEC_PASS(geodec__parts_add(out, key, quantity, y.right, "keys whose bank is asked", y.reached, err));
        }
    return GEODEC_OK;
}
