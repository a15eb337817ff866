/* Export: a model reads token sequences, and its residual stream, argmax and best logits go into an activations
 * artifact.
 *
 * A sequence longer than the window is cut: each window is a sequence of the file and begins with the model's BOS token
 * (when there is one), so every row is what the model computes with a context that is wholly in the file. Windows are
 * independent; one task of the pool reads one window with a session of its own, and rows are appended in text order:
 * bounded memory (threads x window), same bytes with any number of threads. */
#ifndef GEODEC_DECODE_EXPORT_H
#define GEODEC_DECODE_EXPORT_H

#include "base/hooks.h"
#include "base/pool.h"
#include "io/artifact.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_EXPORT_TOP_MAX = 256 };

typedef struct geodec_export_options {
    int32_t n_layers;
    const int32_t *layer; /* [n_layers] rising, in 0 .. n_layer of the model */
    int32_t window;       /* rows of a window, BOS included; >= 2 */
    int64_t max_rows;     /* stop after so many rows; 0 = no limit */
    int32_t top_m;        /* best logits kept; 1 .. min(n_vocab, GEODEC_EXPORT_TOP_MAX) */
    bool logits;          /* keep whole rows of logits */
    bool half;            /* states as float16 */
} geodec_export_options;

/* Where sequences come from. next: token ids of the next sequence without limits of length, valid until the next call;
 * *n = -1 at the end. */
typedef struct geodec_export_source {
    void *ctx;
    geodec_status (*next)(void *ctx, const int32_t **token, int64_t *n, geodec_err *err);
} geodec_export_source;

typedef struct geodec_export_summary {
    int64_t rows, sequences;
} geodec_export_summary;

/* Fills a new artifact of geodec_kind_activations; the caller commits. GEODEC_FORMAT when the source gives no token,
 * GEODEC_RANGE for options, layers or token ids out of range. */
GEODEC_API geodec_status geodec_export_run(const geodec_model *m, const geodec_export_options *o,
                                           const geodec_export_source *source, geodec_artifact *out,
                                           geodec_export_summary *summary, geodec_pool *pool, const geodec_hooks *hooks,
                                           geodec_err *err) GEODEC_MUST_USE;

/* ---- two sources ------------------------------------------------------------------------------------------------ */

/* Text: documents separated by a line "<|endoftext|>", tokenized with BOS. Refused (GEODEC_FORMAT): empty or blank
 * text, bytes that are not UTF-8 (with their offset), a NUL byte. text and tokenizer must outlive the source. */
typedef struct geodec_text_source geodec_text_source;
GEODEC_API geodec_status geodec_text_source_create(const char *name, const char *text, size_t n,
                                                   const geodec_tokenizer *t, geodec_text_source **out,
                                                   geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_export_source geodec_text_source_get(geodec_text_source *s);
GEODEC_API void geodec_text_source_destroy(geodec_text_source *s);

/* Token file: one sequence a line, decimal ids separated by spaces (BOS included where wanted). Refused: anything else,
 * ids outside 0 .. n_vocab-1, a file without any id; the message names the line. */
typedef struct geodec_token_source geodec_token_source;
GEODEC_API geodec_status geodec_token_source_create(const char *name, const char *text, size_t n, int32_t n_vocab,
                                                    geodec_token_source **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_export_source geodec_token_source_get(geodec_token_source *s);
GEODEC_API void geodec_token_source_destroy(geodec_token_source *s);

#endif
