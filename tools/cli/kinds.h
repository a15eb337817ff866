/* All kinds of artifacts: those of the library (kinds/kinds.h), and those of the laboratory if it is built. */
#ifndef GEODEC_TOOLS_CLI_KINDS_H
#define GEODEC_TOOLS_CLI_KINDS_H

#include "artifact/artifact.h"

/* One array of all of them, and its length. */
const geodec_kind *const *cli_kinds(void);
int cli_n_kinds(void);
/* The kinds of the laboratory, then NULL. A new one is one line in lab/kinds.c. */
extern const geodec_kind *const cli_lab_kinds[];

/* NULL if no kind has this name. */
const geodec_kind *cli_kind_find(const char *name);
/* Opens an artifact of any kind. */
geodec_status cli_open_any(const char *path, geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;
/* Opens an artifact of any kind without its digest (geodec_artifact_peek). */
geodec_status cli_peek_any(const char *path, geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;

#endif
