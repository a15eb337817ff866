/* Golden cases of the ring, and the code paths that each of them goes through. */
#ifndef GEODEC_TESTS_RING_CASES_H
#define GEODEC_TESTS_RING_CASES_H

#include "lab/integer/ring/gemv.h"
#include "support/json.h"

/* for (c of the array `key` of `object`) */
#define EACH(object, key, c)                                                                                           \
    for (const json_t *list_ = test_json_get(object, key), *at_ = list_, *c; at_; at_ = NULL)                          \
        for (size_t i_ = 0; i_ < json_array_size(list_) && (c = json_array_get(list_, i_)); i_++)

/* Every path of a product. */
typedef struct ring_path {
    geodec_ring_form form;
    geodec_isa isa;
} ring_path;
enum { RING_PATHS = 7 };
extern const ring_path ring_paths[RING_PATHS];
const char *ring_path_name(int path);
bool ring_path_here(int path); /* the processor has it */

/* [a, b] modulo 2^64, and whether a number fits in int64. */
geodec_ring_element ring_element(const json_t *pair);
bool ring_fits(const json_t *value);

/* The product w [rows][cols] x through a path, compared with y modulo 2^64; bad [rows]: rows that do not fit, or NULL
 * for none. Returns false where the path does not suit these values, which it checks by itself. */
bool ring_path_check(int path, const geodec_ring_element *w, int64_t rows, int64_t cols, const geodec_ring_element *x,
                     const geodec_ring_element *y, const uint8_t *bad);

#endif
