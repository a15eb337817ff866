/* Internal: the folder of a running or interrupted run. */
#ifndef GEODEC_PREPARE_STORE_INTERNAL_H
#define GEODEC_PREPARE_STORE_INTERNAL_H

#include "export/export.h"
#include "io/file.h"
#include "prepare/store.h"

/* FOLDER/.work/NAME, or the folder itself with name NULL. The caller frees. */
geodec_status geodec__prepare_path(const geodec_prepare *p, const char *name, char **out,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Whether plan.json is of this request; then its plan and the number of sampled texts. */
geodec_status geodec__prepare_resume(const geodec_prepare *p, bool *same, geodec_prepare_plan *plan,
                                     geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__prepare_save(const geodec_prepare *p, const geodec_prepare_plan *plan,
                                   geodec_err *err) GEODEC_MUST_USE;

/* The sampled texts: a token file (export.h) in memory, written to sample.tokens. */
typedef struct geodec__prepare_samples {
    char *text;
    int64_t size, room;
    int64_t texts, tokens;
} geodec__prepare_samples;
geodec_status geodec__prepare_samples_read(const geodec_prepare *p, geodec__prepare_samples *out,
                                           geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__prepare_samples_write(const geodec_prepare *p, const geodec__prepare_samples *s,
                                            geodec_err *err) GEODEC_MUST_USE;

#endif
