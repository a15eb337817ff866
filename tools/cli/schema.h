/* The schema page of an artifact kind, from its table. */
#ifndef GEODEC_TOOLS_CLI_SCHEMA_H
#define GEODEC_TOOLS_CLI_SCHEMA_H

#include "artifact/artifact.h"

#include <stdio.h>

/* Markdown. */
void schema_print(FILE *out, const geodec_kind *kind);

#endif
