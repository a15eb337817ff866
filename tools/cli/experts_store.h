/* geodec-experts build, check and info. */
#ifndef GEODEC_TOOLS_CLI_EXPERTS_STORE_H
#define GEODEC_TOOLS_CLI_EXPERTS_STORE_H

#include "cli/cli.h"

/* Values of an option --arithmetic of the build. */
#define EXPERTS_ARITHMETIC_CHOICES "auto|exact|fast"

/* Builds a store; out "": the model's path with .experts in place of .gguf. auto: what suits the types of the model's
 * matrices. */
geodec_status experts_build(const cli *c, const char *model, const char *out, const char *arithmetic,
                            geodec_err *err) GEODEC_MUST_USE;
/* Reads every byte of a store and computes its golden prompt; GEODEC_CHECKSUM names the first part that is damaged. */
geodec_status experts_check(const cli *c, const char *store, geodec_err *err) GEODEC_MUST_USE;
/* Prints sizes and types to standard output, a name, a tab and a value a line. */
geodec_status experts_info(const cli *c, const char *store, geodec_err *err) GEODEC_MUST_USE;

#endif
