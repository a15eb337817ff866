/* Internal: weights that are moved out of the file's map into a faster layout. */
#ifndef GEODEC_MODEL_PREPARE_INTERNAL_H
#define GEODEC_MODEL_PREPARE_INTERNAL_H

#include "kernels/columns_internal.h"
#include "kernels/panels_internal.h"
#include "session/weights_internal.h"

/* The matrices of a model that leave the file's map (prepare.c): as panels if the arithmetic has them, the others as
 * copies; or all matrices of a model that fits the caches as columns, and otherwise none. */
typedef struct geodec__prepare geodec__prepare;
/* Lists them and reserves memory. Nothing moves yet but columns; those do not depend on the arithmetic. Guarded by the
 * model's mutex; later calls return the first result. The model owns it. */
geodec_status geodec__prepare_of(const geodec_model *m, geodec_arithmetic a, geodec__prepare_kind kind,
                                 geodec__prepare **out, geodec_err *err) GEODEC_MUST_USE;
/* Begins a pass: matrices move from the model's second pass on; `now`: all of them, in the first too. Thread-safe for
 * sessions of one model, also while another one is in a pass. p may be NULL. */
void geodec__prepare_pass(const geodec_model *m, geodec__prepare *p, geodec_pool *pool, bool now);
void geodec__prepare_free(geodec__prepare *p);
/* format NULL: this matrix has no panels; data NULL: not packed yet. p may be NULL. */
geodec__panels geodec__prepare_find(const geodec__prepare *p, const geodec__matrix *w);
/* The current address of the matrix, possibly in the file's map. p may be NULL. */
const uint8_t *geodec__prepare_data(const geodec__prepare *p, const geodec__matrix *w);
/* data NULL: this matrix has no columns. p may be NULL. */
geodec__columns geodec__prepare_columns(const geodec__prepare *p, const geodec__matrix *w);
/* Whether nothing is left to move. */
bool geodec__prepare_empty(const geodec__prepare *p);
/* Bytes of the largest panel. */
int64_t geodec__prepare_widest(const geodec__prepare *p);

#endif
