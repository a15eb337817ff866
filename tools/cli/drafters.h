/* Texts about drafters from their table (drafters/drafting.h). */
#ifndef GEODEC_TOOLS_CLI_DRAFTERS_H
#define GEODEC_TOOLS_CLI_DRAFTERS_H

#include <stdio.h>

enum { DRAFTERS_HELP = 1536 };

/* Help of an option that takes a drafter or a list of them: `before`, the names with what they need, `after`. */
void drafters_help(char to[DRAFTERS_HELP], const char *before, const char *after);
/* The table, as a page in Markdown. */
void drafters_page(FILE *out);

#endif
