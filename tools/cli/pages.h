/* Pages of the documents that are made from the library's tables (`make docs`). Markdown. */
#ifndef GEODEC_TOOLS_CLI_PAGES_H
#define GEODEC_TOOLS_CLI_PAGES_H

#include <stdio.h>

void tensor_types_page(FILE *out);   /* docs/tensor-types.md */
void architectures_table(FILE *out); /* the table of docs/architectures.md */
void integrators_page(FILE *out);    /* docs/integrators.md */

#endif
