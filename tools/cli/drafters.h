/* Texts about drafters from their table (drafters/drafting.h). */
#ifndef GEODEC_TOOLS_CLI_DRAFTERS_H
#define GEODEC_TOOLS_CLI_DRAFTERS_H

#include <stdio.h>

enum { DRAFTERS_HELP = 1536 };

/* Help text of an option that takes drafters: `before`, the names with their requirements, `after`. */
void drafters_help(char to[DRAFTERS_HELP], const char *before, const char *after);
/* Prints the table as a Markdown page. */
void drafters_page(FILE *out);

#endif
