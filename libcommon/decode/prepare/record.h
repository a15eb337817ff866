/* Folders of the drafting artifacts made by geodec-prepare, and their record, prepared.json.
 *
 *   MODEL.gguf.geodec/            next to the model: flowmap.h5, prepared.json
 *   CACHE/<model fingerprint>/    the same in a cache folder
 * The record is written last; artifacts without a record are not found. It names the model and the fastest drafter
 * (prepare/trial.h). */
#ifndef GEODEC_PREPARE_RECORD_H
#define GEODEC_PREPARE_RECORD_H

#include "drafters/drafting.h"
#include "prepare/store.h"
#include "prepare/trial.h"

typedef struct geodec_record_made {
    const geodec_prepare *prepare;
    const geodec_prepare_store *store;
    const geodec_trial *trial;
    const char *command_line, *request; /* request: the same without values that depend on the time */
} geodec_record_made;
/* Writes FOLDER/prepared.json. */
geodec_status geodec_record_write(const geodec_record_made *made, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_record {
    char model_sha256[GEODEC_SHA256_HEX], arithmetic[8], draft[GEODEC_DRAFTER_NAME_MAX];
    int64_t tokens, weight_bytes;
    double speedup; /* of `draft` over plain decoding; NaN without drafting or without a trial */
    char *request;  /* owned */
} geodec_record;
void geodec_record_clear(geodec_record *p);
/* FOLDER/prepared.json. GEODEC_NOTFOUND: no such file; GEODEC_FORMAT. */
geodec_status geodec_record_read(const char *folder, geodec_record *out, geodec_err *err) GEODEC_MUST_USE;

/* "MODEL.gguf.geodec" and "CACHE/<fingerprint>"; the caller frees. */
geodec_status geodec_record_folder(const char *model_path, char **folder, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_record_cached(const char *cache, const geodec_model *m, char **folder,
                                   geodec_err *err) GEODEC_MUST_USE;

/* Finds the drafting artifacts of this model: next to the model, then in the cache (NULL = none). *folder is NULL if
 * there are none. Artifacts of another model and unreadable records are skipped, with one warning line each (hooks).
 * The model's fingerprint, which needs its whole file, is computed only when there are candidates: artifacts next to
 * the model, or in the cache for a model of its size. */
geodec_status geodec_record_find(const geodec_model *m, const char *cache, const geodec_hooks *hooks, char **folder,
                                 geodec_record *out, geodec_err *err) GEODEC_MUST_USE;

#endif
