/* What an export needs. */
#ifndef GEODEC_EXPORT_EXPORT_NEEDS_H
#define GEODEC_EXPORT_EXPORT_NEEDS_H

#include "artifact/size.h"
#include "base/needs.h"
#include "export/export.h"

/* Reads the first windows of the source, which must be at its beginning, with as many sessions and buffers as the
 * export has, for about `budget` processor seconds. tokens: those of the whole input, or an estimate; the windows of
 * the pilot stand for all (their length, and the rows that are kept). Adds sizes and times; the memory is that of this
 * process after the pilot, and what is left of the model's file. *size: the artifact. ranks divide the windows. */
geodec_status geodec_export_needs(const geodec_model *m, const geodec_export_options *o,
                                  const geodec_export_source *source, double tokens, int ranks, double budget,
                                  geodec_pool *pool, geodec_needs *needs, geodec_size *size,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
