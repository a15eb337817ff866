/* Where drafting tables made by geodec-prepare lie, and the record beside them: prepared.json.
 *
 *   MODEL.gguf.geodec/            beside the model: flowmap.h5, prepared.json
 *   CACHE/<model fingerprint>/    the same in a cache folder
 * The record is written last: tables without it are not found. It says for which model the tables are and which drafter
 * was the fastest (prepare/trial.h). */
#ifndef GEODEC_PREPARE_RECORD_H
#define GEODEC_PREPARE_RECORD_H

#include "drafters/drafting.h"
#include "prepare/store.h"
#include "prepare/trial.h"

typedef struct geodec_record_made {
    const geodec_prepare *prepare;
    const geodec_prepare_store *store;
    const geodec_trial *trial;
    const char *command_line, *request; /* request: the same without what the time decided */
} geodec_record_made;
/* Writes FOLDER/prepared.json. */
GEODEC_API geodec_status geodec_record_write(const geodec_record_made *made, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_record {
    char model_sha256[GEODEC_SHA256_HEX], arithmetic[8], draft[GEODEC_DRAFTER_NAME_MAX];
    int64_t tokens, weight_bytes;
    double speedup; /* of `draft` over plain decoding; NaN where it is none or nothing was tried */
    char *request;  /* owned */
} geodec_record;
GEODEC_API void geodec_record_clear(geodec_record *p);
/* FOLDER/prepared.json. GEODEC_NOTFOUND: no such file; GEODEC_FORMAT. */
GEODEC_API geodec_status geodec_record_read(const char *folder, geodec_record *out, geodec_err *err) GEODEC_MUST_USE;

/* "MODEL.gguf.geodec" and "CACHE/<fingerprint>"; the caller frees. */
GEODEC_API geodec_status geodec_record_beside(const char *model_path, char **folder, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_record_cached(const char *cache, const geodec_model *m, char **folder,
                                              geodec_err *err) GEODEC_MUST_USE;

/* Finds the tables of this very model: beside the model, then in the cache (NULL = there is none). *folder NULL: none
 * found. Tables of another model and records that cannot be read are passed over, with a warning of one line each
 * (hooks). The model's fingerprint, which means reading its file, is asked for only where there is something to
 * compare: tables beside the model, or a cache with tables of a model of its size. */
GEODEC_API geodec_status geodec_record_find(const geodec_model *m, const char *cache, const geodec_hooks *hooks,
                                            char **folder, geodec_record *out, geodec_err *err) GEODEC_MUST_USE;

#endif
