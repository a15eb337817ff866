/* Units of held-out splits, which keep held-out text out of the training.
 *
 * With GEODEC_SPLIT_DOCUMENTS documents or more, a document is a unit (`document`). With fewer, or if the documents are
 * consecutive windows of one text, the units are GEODEC_SPLIT_BLOCKS contiguous blocks of rows of equal size (`block`).
 * The first rows of every block but the first then belong to no unit: a gap of one eighth of a block, at most
 * GEODEC_SPLIT_GAP rows, between held-out and other rows. The experiment chooses the held-out units from its seed
 * (geodec_harness_split_held_out, density). */
#ifndef GEODEC_BASE_SPLIT_H
#define GEODEC_BASE_SPLIT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_SPLIT_DOCUMENTS = 4, GEODEC_SPLIT_BLOCKS = 8, GEODEC_SPLIT_GAP = 16 };
enum { GEODEC_SPLIT_NONE = -1 }; /* unit of a row in a gap */

typedef struct geodec_split {
    bool by_document;
    int64_t units; /* documents, or blocks */
    int64_t gap;   /* rows of a gap; 0 by document */
} geodec_split;

/* "document", "block" */
const char *geodec_split_name(bool by_document);
/* document [rows]: number of each row's document, equal for consecutive rows of one document. windows: the documents
 * are windows of one text. unit [rows], which may be document: by document a copy of it, else 0 .. units-1 or
 * GEODEC_SPLIT_NONE. */
geodec_split geodec_split_rows(int64_t rows, const int32_t *document, bool windows, int32_t *unit);

#endif
