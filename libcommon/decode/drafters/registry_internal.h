/* The table of drafters, with one row for each. drafting.c uses it to open and create them; help texts and documents
 * are generated from it. A new drafter needs a file NAME_drafter.c and a row in registry.c. */
#ifndef GEODEC_DRAFTERS_REGISTRY_INTERNAL_H
#define GEODEC_DRAFTERS_REGISTRY_INTERNAL_H

#include "drafters/drafting.h"
#include "drafters/ngram_drafter.h"
#include "flowmap/library.h"

/* Inputs from which the drafters of one run are made. */
typedef struct geodec__ingredients {
    const geodec_model *model;
    geodec_flowmap map;              /* scan NULL: none */
    geodec_flowmap_library *library; /* NULL: none */
    geodec_ngram *ngram, *bigram;    /* the texts of the map as n-gram stores, NULL: not requested, or no folder */
    geodec_model *second;            /* NULL: none given */
    geodec_session_options how;      /* session options of drafters that are models */
    geodec_arithmetic second_arithmetic;
    int32_t sink; /* the depth sink, 0: not measured */
} geodec__ingredients;

/* An artifact in the folder of drafting artifacts. Several drafters may share one. */
typedef struct geodec__drafter_file {
    const char *name; /* "onedecode.h5" */
    const geodec_kind *kind;
    size_t size; /* bytes of the table in memory */
    geodec_status (*read)(const geodec_artifact *a, void *table, geodec_err *err);
    void (*clear)(void *table);
    /* Gets the width of its states and the size of its vocabulary. */
    void (*shape)(const void *table, int64_t *width, int64_t *vocab);
} geodec__drafter_file;

typedef struct geodec__drafter_row geodec__drafter_row;
struct geodec__drafter_row {
    geodec_drafter_info info;
    double weight;                    /* weight in a mixture before any score; 0 = 1 */
    const geodec__drafter_file *file; /* NULL: reads no file of its own */
    int variant;                      /* distinguishes drafters that share a create function */
    /* table: contents of its file; blocks: N of "name:N", 0 without. */
    geodec_status (*create)(const geodec__ingredients *in, const geodec__drafter_row *row, const void *table,
                            int32_t blocks, geodec_drafter **out, geodec_err *err);
};

extern const geodec__drafter_row geodec__registry[];
extern const int geodec__registry_count;

/* The row of a name without "+", or NULL; *blocks: N of "name:N". */
const geodec__drafter_row *geodec__registry_find(const char *name, int32_t *blocks);

#endif
