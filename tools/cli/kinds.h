/* Table of all artifact kinds. A new kind is one line in kinds.c. */
#ifndef GEODEC_TOOLS_CLI_KINDS_H
#define GEODEC_TOOLS_CLI_KINDS_H

#include "artifact/artifact.h"

extern const geodec_kind *const cli_kinds[];
extern const int cli_n_kinds;

/* NULL if no kind has this name. */
const geodec_kind *cli_kind_find(const char *name);
/* Opens an artifact of any kind. */
geodec_status cli_open_any(const char *path, geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;
/* The same without its digest (geodec_artifact_peek). */
geodec_status cli_peek_any(const char *path, geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;

#endif
