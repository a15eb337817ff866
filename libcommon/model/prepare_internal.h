/* Internal: weights that leave the file's map for a layout that their kernels read faster. */
#ifndef GEODEC_MODEL_PREPARE_INTERNAL_H
#define GEODEC_MODEL_PREPARE_INTERNAL_H

#include "model/kernels/panels_internal.h"
#include "model/model.h"

/* The matrices of a model that leave the file's map (prepare.c): as panels where the arithmetic has them, the others
 * copied as they are. */
typedef struct geodec__prepare geodec__prepare;
/* Lists them and reserves their memory; nothing moves yet. Guarded by the model's mutex; later calls return what the
 * first one made. The model owns it. */
geodec_status geodec__prepare_panels(const geodec_model *m, geodec_arithmetic a, geodec__prepare **out,
                                     geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__prepare_copies(const geodec_model *m, geodec_arithmetic a, geodec__prepare **out,
                                     geodec_err *err) GEODEC_MUST_USE;
/* Begins a pass: from the model's second one on matrices move; `now`: all of them, in the first too. Sessions of one
 * model may call it at the same time, and be in a pass while another one moves. p may be NULL. */
void geodec__prepare_pass(const geodec_model *m, geodec__prepare *p, geodec_pool *pool, bool now);
void geodec__prepare_free(geodec__prepare *p);
/* format NULL: this matrix has no panels; data NULL: they are not there yet. p may be NULL. */
geodec__panels geodec__prepare_find(const geodec__prepare *p, const geodec__matrix *w);
/* Where the matrix lies now, the file's map included. p may be NULL. */
const uint8_t *geodec__prepare_data(const geodec__prepare *p, const geodec__matrix *w);
/* Is there nothing to move? */
bool geodec__prepare_empty(const geodec__prepare *p);
/* Bytes of the largest panel. */
int64_t geodec__prepare_widest(const geodec__prepare *p);

#endif
