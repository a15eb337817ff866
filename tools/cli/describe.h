/* Description of an opened artifact as text and as JSON. */
#ifndef GEODEC_TOOLS_CLI_DESCRIBE_H
#define GEODEC_TOOLS_CLI_DESCRIBE_H

#include "artifact/artifact.h"
#include "io/json.h"

#include <stdio.h>

geodec_status describe_text(FILE *out, const geodec_artifact *a, const char *path, geodec_err *err) GEODEC_MUST_USE;
/* One object inside the open array. */
geodec_status describe_json(geodec_json_writer *w, const geodec_artifact *a, const char *path,
                            geodec_err *err) GEODEC_MUST_USE;

#endif
