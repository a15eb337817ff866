/* The report of a run with streamed experts, as JSON (a member "experts" of a run's report). */
#ifndef GEODEC_MODEL_STREAMED_REPORT_H
#define GEODEC_MODEL_STREAMED_REPORT_H

#include "io/json.h"
#include "session/streamed.h"

/* Adds an object "experts": the plan, the uses by what became of them (in all and for each layer), the reads, the
 * times. Nothing when the model does not stream or had no session. */
void geodec_streamed_report_put(geodec_json_writer *w, const geodec_model *m);
/* A file of its own with that object, the model and its fingerprint, and the peak of resident memory. */
geodec_status geodec_streamed_report_write(const char *path, const geodec_model *m, const char *command,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
