/* Held-out splits: what stands for a text, so that nothing of a held-out text is seen on the other side.
 *
 * Where there are GEODEC_SPLIT_DOCUMENTS documents or more, a document is a unit (`document`). Where there are fewer,
 * or where the documents are windows of one text, which adjoin, units are GEODEC_SPLIT_BLOCKS contiguous blocks of rows
 * of equal size (`block`), and the first rows of every block but the first belong to none: a gap of one eighth of a
 * block, at most GEODEC_SPLIT_GAP rows, so that no held-out row stands right behind a row of the other side. Which
 * units are held out is the experiment's seeded choice (geodec_harness_split_held_out, density). */
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
GEODEC_API const char *geodec_split_name(bool by_document);
/* document [rows]: number of each row's document, equal for rows of one, which follow each other; windows: they are
 * windows of one text. unit [rows]: by document a copy of document; else 0 .. units-1 or GEODEC_SPLIT_NONE. unit may be
 * document. */
GEODEC_API geodec_split geodec_split_rows(int64_t rows, const int32_t *document, bool windows, int32_t *unit);

#endif
