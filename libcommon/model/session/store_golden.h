/* A check of a model file before a run: its bytes that a run does not check by itself, and what it computes. A store
 * keeps a golden prompt, whose logits have the same bits with any source, instruction set, batch and number of threads.
 */
#ifndef GEODEC_MODEL_STORE_GOLDEN_H
#define GEODEC_MODEL_STORE_GOLDEN_H

#include "session/streamed.h"
#include "streaming/store.h"

/* Computes the golden prompt of a GGUF in both arithmetics, with all weights in the file's map. out->n = 0: a logit is
 * not finite, so there is none. */
geodec_status geodec_store_golden_make(const char *path, geodec_pool *pool, geodec_store_golden *out,
                                       geodec_err *err) GEODEC_MUST_USE;

/* Opens the file once more, streams its experts through the smallest number of slots and closes it. A store: CRC-32C of
 * the resident part and of all experts that are used, then the logits of its golden prompt (*golden false: it has
 * none). A GGUF, and a store without a golden prompt: the logits of a prompt are finite. GEODEC_CHECKSUM: other bits;
 * GEODEC_FORMAT: not finite.
 * how: the disk and the limits of the run; its sizes, files and foreseer are not used. */
geodec_status geodec_store_golden_check(const char *path, geodec_arithmetic a, const geodec_streaming *how,
                                        geodec_pool *pool, bool *golden, geodec_err *err) GEODEC_MUST_USE;

/* As geodec_store_golden_check, then for another form of ternary products (how->ternary) a second run of the prompt,
 * compared with the logits of the first one, whose bits are those of the model. *error: the largest difference of a
 * logit over the root mean square of the exact logits; 0 for the exact form. GEODEC_CHECK: it is above the tolerance.
 * GEODEC_UNSUPPORTED: the experts have no such products. A damaged byte or weight that the prompt uses is found by the
 * first run, with any tolerance. */
geodec_status geodec_store_golden_check_within(const char *path, geodec_arithmetic a, const geodec_streaming *how,
                                               double tolerance, geodec_pool *pool, bool *golden, double *error,
                                               geodec_err *err) GEODEC_MUST_USE;

#endif
