/* Pages of the documents that are made from the library's tables (`make docs`). Markdown. */
#ifndef GEODEC_TOOLS_CLI_PAGES_H
#define GEODEC_TOOLS_CLI_PAGES_H

#include <stdio.h>

void tensor_types_page(FILE *out);   /* docs/manual/tensor-types.md */
void architectures_table(FILE *out); /* the table of docs/manual/architectures.md */
void integrators_page(FILE *out);    /* docs/manual/integrators.md */

#endif
