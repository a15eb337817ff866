/* A control for the exact entropy: the cross-entropy of a byte n-gram model trained on other stories of the same
 * stream.
 *
 * Interpolated Witten-Bell smoothing (Witten and Bell 1991): p(c | h) = (n(h,c) + d(h) p(c | h')) / (n(h) + d(h)),
 * where d(h) is the number of distinct successors and h' is the context without its oldest byte. The recursion ends
 * with the uniform distribution over 256 bytes and the end of the story. The gap to the entropy comes from the state
 * that the model does not see (who has what, how many are left). */
#ifndef GEODEC_CORPUS_CONTROL_H
#define GEODEC_CORPUS_CONTROL_H

#include "base/err.h"
#include "base/hooks.h"

#include <stddef.h>
#include <stdint.h>

enum { GEODEC_CONTROL_ORDER_MAX = 16 };

/* order: bytes of context, 1..GEODEC_CONTROL_ORDER_MAX. Trains on stories first .. first+n_train-1 and measures on the
 * n_test stories after them, each story with its end. *bits_per_byte: -log2 p of the test stories over their bytes. */
geodec_status geodec_corpus_control(uint64_t seed, uint64_t first, int64_t n_train, int64_t n_test, int order,
                                    const geodec_hooks *hooks, double *bits_per_byte, geodec_err *err) GEODEC_MUST_USE;

/* The model of geodec_corpus_control, trained on given texts: a text is a document, and its end is a symbol too. */
typedef struct geodec_control geodec_control;
/* GEODEC_RANGE (order). */
geodec_status geodec_control_create(int order, geodec_control **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_control_destroy(geodec_control *c); /* NULL ok */
geodec_status geodec_control_learn(geodec_control *c, const char *text, size_t n, geodec_err *err) GEODEC_MUST_USE;
/* Adds -log2 p of the text and its end to bits[k] for the models of k bytes of context, k = 0 .. order. */
geodec_status geodec_control_score(const geodec_control *c, const char *text, size_t n, double *bits,
                                   geodec_err *err) GEODEC_MUST_USE;

#endif
