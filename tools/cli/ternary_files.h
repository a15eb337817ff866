/* Commands of geodec-ternary: on the folder of a store of ternary experts, and on a GGUF that has such experts. */
#ifndef GEODEC_TOOLS_CLI_TERNARY_FILES_H
#define GEODEC_TOOLS_CLI_TERNARY_FILES_H

#include "cli/cli.h"
#include "session/ternary_store.h"

/* out "": the model's name with .trits in place of .gguf. */
geodec_status ternary_build(const cli *c, const char *model, const char *out, const geodec_ternary_build *o,
                            geodec_err *err) GEODEC_MUST_USE;
geodec_status ternary_verify(const cli *c, const char *folder, geodec_err *err) GEODEC_MUST_USE;
geodec_status ternary_info(const cli *c, const char *folder, geodec_err *err) GEODEC_MUST_USE;
/* A table: for each edge and layer how much differs, beside its controls. each: also of every layer. */
geodec_status ternary_edges(const cli *c, const char *folder, bool each, geodec_err *err) GEODEC_MUST_USE;
/* A GGUF with its experts in another type, geodec_ggml_type; prints counts. */
geodec_status ternary_convert(const cli *c, const char *model, const char *out, int type, bool lossy,
                              geodec_err *err) GEODEC_MUST_USE;

#endif
