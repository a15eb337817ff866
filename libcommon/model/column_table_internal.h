/* Internal: the matrices of a small model as columns (kernels/columns_internal.h). */
#ifndef GEODEC_MODEL_COLUMN_TABLE_INTERNAL_H
#define GEODEC_MODEL_COLUMN_TABLE_INTERNAL_H

#include "model/kernels/columns_internal.h"
#include "model/model.h"

/* All matrices of a model, or none. */
typedef struct geodec__column_table geodec__column_table;

/* Those of m, packed when it is first asked for; a table without any when they would leave the caches. Types that
 * have no columns of their own are decoded to float32 where the whole model is small enough, and left out otherwise. */
geodec_status geodec__column_table_of(const geodec_model *m, const geodec__column_table **out,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec__column_table_free(geodec__column_table *t);
/* data NULL when it is not among them. */
geodec__columns geodec__column_table_find(const geodec__column_table *t, const geodec__matrix *w);

#endif
