/* Internal: drafters that read a table of their own from the folder of artifacts. */
#ifndef GEODEC_DRAFTERS_DRAFTING_TABLES_H
#define GEODEC_DRAFTERS_DRAFTING_TABLES_H

#include "decode/draft.h"
#include "model/model.h"
#include "records/onedecode.h"
#include "records/onedecode_ref.h"
#include "records/recurrent.h"
#include "records/rollout.h"

enum { DRAFTING_TABLES = 6 };

typedef struct drafting_tables {
    geodec_artifact *file[DRAFTING_TABLES]; /* NULL = not loaded */
    geodec_onedecode onedecode;
    geodec_onedecode_ref onedecode_ref;
    geodec_recurrent recurrent;
    geodec_rollout rollout; /* of file[3], [4] and [5], which are one: the first of them that is there */
} drafting_tables;

/* Name of drafter i, 0 .. DRAFTING_TABLES - 1. */
const char *geodec__tables_name(int i);
bool geodec__tables_know(const char *name);
/* Loads drafter i's file from `dir`. GEODEC_INVAL: no folder; GEODEC_CHECKSUM: made for another model or tokenizer. */
geodec_status geodec__tables_load(drafting_tables *t, int i, const geodec_model *m, const char *dir,
                                  geodec_err *err) GEODEC_MUST_USE;
void geodec__tables_close(drafting_tables *t);
geodec_status geodec__tables_create(const drafting_tables *t, const char *name, geodec_drafter **out,
                                    geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__tables_provenance(const drafting_tables *t, geodec_provenance *p,
                                        geodec_err *err) GEODEC_MUST_USE;

#endif
