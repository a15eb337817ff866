/* The schema page of an artifact kind, from its table. */
#ifndef GEODEC_ARTIFACT_SCHEMA_H
#define GEODEC_ARTIFACT_SCHEMA_H

#include "artifact/artifact.h"

#include <stdio.h>

/* Markdown. */
void geodec_schema_print(FILE *out, const geodec_kind *kind);

#endif
