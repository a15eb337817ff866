/* The kinds of artifacts of the rooms core, geometry, model and decode. A new kind is one line in kinds.c. */
#ifndef GEODEC_KINDS_KINDS_H
#define GEODEC_KINDS_KINDS_H

#include "artifact/artifact.h"
#include "geodec/geodec.h"

/* Kind i of the table, in the order of the pipeline; NULL past the last. */
const geodec_kind *geodec_kinds_at(int i);

#endif
