/* Internal: the matrices of a small model as columns (kernels/columns_internal.h). */
#ifndef GEODEC_MODEL_COLUMN_TABLE_INTERNAL_H
#define GEODEC_MODEL_COLUMN_TABLE_INTERNAL_H

#include "model/kernels/columns_internal.h"
#include "model/model.h"

/* All matrices of a model, or none. */
typedef struct geodec__column_table geodec__column_table;

/* Those of m, packed on first use; an empty table when they would not fit the caches. Types without columns of their
 * own are decoded to float32 when the whole model is small enough, and otherwise left out. */
geodec_status geodec__column_table_of(const geodec_model *m, const geodec__column_table **out,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec__column_table_free(geodec__column_table *t);
/* data NULL when it is not in the table. */
geodec__columns geodec__column_table_find(const geodec__column_table *t, const geodec__matrix *w);

#endif
