/* The files that are installed next to the tools: the embedded models and the pipeline. The library knows no folder;
 * the tools look here. */
#ifndef GEODEC_TOOLS_CLI_EMBEDDED_H
#define GEODEC_TOOLS_CLI_EMBEDDED_H

#include "cli/cli.h"

/* The folder of this program, "" if /proc is not there. */
void embedded_program_folder(char *out, size_t room);
/* The first of these folders that has the default model: ../share/geodec and, in the build tree, ../../../data, from
 * the folder of the program; the datadir of the build. The caller frees. GEODEC_NOTFOUND names all of them. */
geodec_status embedded_folder(char **out, geodec_err *err) GEODEC_MUST_USE;
/* Path of the embedded model `name`, without .gguf; NULL = geodec-stories-f16. The caller frees. GEODEC_NOTFOUND. */
geodec_status embedded_model(const char *name, char **out, geodec_err *err) GEODEC_MUST_USE;
/* For run() of a tool with CLI_MODEL_OR_EMBEDDED_OPTION: sets *path, if it is NULL, to the default model, which `*out`
 * owns, says so, and updates the canonical command line. */
geodec_status embedded_settle(const cli *c, const char **path, char **out, geodec_err *err) GEODEC_MUST_USE;

#define CLI_MODEL_OR_EMBEDDED_OPTION(var)                                                                              \
    OPT_FILE("model", 'm', &(var), "FILE", "model as GGUF (default: the embedded model, geodec-model-path)")

#endif
