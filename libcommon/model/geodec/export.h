/* Export: a model reads token sequences, and its residual stream, argmax and best logits go into an activations
 * artifact (HDF5), or into safetensors shards with an index.
 *
 * A document longer than the window is cut. Each window is a sequence of the file and begins with the token that starts
 * a text by the vocabulary's rule (BOS, or none). Every row is therefore computed from a context that is entirely in
 * the file. Windows are independent. Each worker has its own session (if these take too much memory, one session uses
 * all workers). Rows are in text order, and the bytes do not depend on the number of threads. Memory depends on the
 * longest document, which is tokenized as a whole, not on the text. */
#ifndef GEODEC_EXPORT_H
#define GEODEC_EXPORT_H

#include "geodec/artifact.h"
#include "geodec/session.h"

#include <stdbool.h>
#include <stdint.h>

#define GEODEC_SEPARATOR_LIST(X)                                                                                       \
    X(AUTO, "auto")                                                                                                    \
    X(JSONL, "jsonl")                                                                                                  \
    X(MARK, "mark")                                                                                                    \
    X(BLANK, "blank")                                                                                                  \
    X(LINE, "line")                                                                                                    \
    X(WINDOW, "window")                                                                                                \
    X(NONE, "none")

typedef enum geodec_documents_separator {
#define X(name, word) GEODEC_SEPARATOR_##name,
    GEODEC_SEPARATOR_LIST(X)
#undef X
        GEODEC_SEPARATOR_COUNT
} geodec_documents_separator;

enum { GEODEC_EXPORT_TOP_MAX = 256 };

/* Which rows are kept. Positions count the tokens of a document from 0 (BOS, if it has one). The BOS that is repeated
 * at the head of a later window has no position and is kept with ALL only. */
typedef enum geodec_export_positions {
    GEODEC_EXPORT_ALL,
    GEODEC_EXPORT_LAST,  /* the last token of each document */
    GEODEC_EXPORT_EVERY, /* positions divisible by `every` */
    GEODEC_EXPORT_RANGE, /* from <= position < to */
} geodec_export_positions;

typedef struct geodec_export_options {
    int32_t n_layers;
    const int32_t *layer; /* [n_layers] ascending, in 0 .. n_layer of the model */
    int32_t window;       /* rows of a window, BOS included; >= 2 */
    int64_t max_tokens;   /* stops after this many tokens (kept or not); 0 = no limit */
    int32_t top_m;        /* number of best logits kept; 0 (no argmax either) to min(n_vocab, GEODEC_EXPORT_TOP_MAX) */
    bool logits;          /* keep whole rows of logits */
    bool half;            /* states as float16; a state beyond its range is GEODEC_NUMERIC */
    geodec_export_positions positions;
    int64_t every, from, to;
    geodec_arithmetic arithmetic;
    geodec_kv_type kv;
    geodec_isa isa;
    geodec_documents_separator separator; /* rule that divided the text; AUTO: the source is not a text */
} geodec_export_options;

/* Source of sequences. next: token ids of the next sequence, of any length, valid until the next call; *n = -1 at the
 * end. */
typedef struct geodec_export_source {
    void *ctx;
    geodec_status (*next)(void *ctx, const int32_t **token, int64_t *n, geodec_err *err);
} geodec_export_source;

typedef struct geodec_export_summary {
    int64_t rows, sequences, documents, tokens; /* rows kept; windows, documents and tokens read */
    int64_t shards, resumed;                    /* all shards; shards that were already finished */
} geodec_export_summary;

/* Fills a new artifact of geodec_activations_kind; the caller commits. GEODEC_FORMAT when the source has no token or no
 * row is kept, GEODEC_RANGE for options, layers or token ids out of range. */
GEODEC_API geodec_status geodec_export_run(const geodec_model *m, const geodec_export_options *o,
                                           const geodec_export_source *source, geodec_artifact *out,
                                           geodec_export_summary *summary, geodec_pool *pool, const geodec_hooks *hooks,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
