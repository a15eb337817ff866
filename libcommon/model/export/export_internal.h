/* Internal: shared by the export's files. */
#ifndef GEODEC_EXPORT_EXPORT_INTERNAL_H
#define GEODEC_EXPORT_EXPORT_INTERNAL_H

#include "export/export.h"

enum { GEODEC__EXPORT_PASS = 128 /* rows of one forward pass */ };

geodec_status geodec__export_check(const geodec_model_config *c, const geodec_export_options *o,
                                   geodec_err *err) GEODEC_MUST_USE;

/* ---- plan: sequences cut into windows (export_plan.c) ----------------------------------------------------------- */

/* One window. */
typedef struct geodec__span {
    int64_t token; /* index of its first token in the plan's tokens */
    int64_t start; /* document position of its first own token */
    int32_t n;
    bool repeated; /* token 0 is a BOS that the document does not have */
    bool ends;     /* the last token is the document's last */
    int32_t sequence, document;
    int32_t kept; /* rows */
    int64_t row;  /* of the first kept row, counted in this plan */
} geodec__span;

typedef struct geodec__plan {
    const geodec_export_options *o;
    const geodec_export_source *source;
    int32_t bos;
    /* the current document */
    const int32_t *rest;
    int64_t n_rest, at;
    bool ended;
    /* read so far, over all parts */
    int64_t tokens, sequences, documents, rows;
    /* the current part */
    int32_t *token;
    int64_t n_token, token_room;
    geodec__span *span;
    int64_t n, span_room;
    int64_t n_rows;
} geodec__plan;

void geodec__export_plan_init(geodec__plan *p, const geodec_model *m, const geodec_export_options *o,
                              const geodec_export_source *source);
void geodec__export_plan_clear(geodec__plan *p);
/* Cuts the next part: whole windows, at most max_windows of them and max_tokens tokens (at least one window's worth).
 * n = 0 at the end. */
geodec_status geodec__export_plan_next(geodec__plan *p, int64_t max_windows, int64_t max_tokens,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Rows, sequences, documents and tokens of a plan at its end. GEODEC_FORMAT without any. */
geodec_status geodec__export_plan_sum(const geodec__plan *p, geodec_export_summary *sum,
                                      geodec_err *err) GEODEC_MUST_USE;
/* Whether token i of the window is kept. */
bool geodec__export_span_keeps(const geodec_export_options *o, const geodec__span *s, int32_t i);

/* ---- rows (export_rows.c) --------------------------------------------------------------------------------------- */

/* A column of the rows other than the states. */
typedef struct geodec__column {
    const char *path; /* of its field in the artifact: "/token" */
    geodec_type type;
    int64_t width; /* 0: one-dimensional */
    size_t place;  /* offset of its pointer in geodec__rows */
} geodec__column;
enum { GEODEC__COLUMNS_MAX = 10 };
/* Number of the columns. */
int geodec__export_columns(const geodec_model_config *c, const geodec_export_options *o,
                           geodec__column out[GEODEC__COLUMNS_MAX]);

/* Kept rows that are to be written to a file. State rows are [n][L][d] (by_layer false) or [L][n][d], with n the rows
 * filled. */
typedef struct geodec__rows {
    int32_t capacity, n;
    bool by_layer;
    int32_t *token, *next, *position, *sequence, *document, *argmax, *top_index; /* argmax, top: NULL without logits */
    float *top_logit, *logits, *state;
    uint16_t *half;
    int32_t *expert; /* [n][n_layer n_expert_used], NULL for a dense model */
    geodec__column column[GEODEC__COLUMNS_MAX];
    int n_columns;
} geodec__rows;

geodec_status geodec__export_rows_init(geodec__rows *r, const geodec_model_config *c, const geodec_export_options *o,
                                       int32_t capacity, bool by_layer, geodec_err *err) GEODEC_MUST_USE;
void geodec__export_rows_clear(geodec__rows *r);
/* Room for n rows, by_layer false; r may be {0}. What r held is lost when it grows. */
geodec_status geodec__export_rows_fit(geodec__rows *r, const geodec_model_config *c, const geodec_export_options *o,
                                      int32_t n, geodec_err *err) GEODEC_MUST_USE;
void *geodec__export_column_data(const geodec__rows *r, const geodec__column *c);

/* Reads windows with its own session. */
typedef struct geodec__reader {
    geodec_session *session;
    float *capture, *head; /* [L'][n][d] of the newest forward pass, room for `room` rows; [PASS][n_vocab] or NULL */
    int32_t *expert;       /* [n][n_layer n_expert_used] of that pass */
    int32_t room;
    int32_t *layer, n_layers; /* [L'] those of the options, and the last one if the head needs it */
    int64_t held;             /* of the plan: first token of that pass; and their number */
    int32_t n_held, last;     /* last: which of the layers the head reads */
    bool wide;                /* that pass was one over several parts, without the head */
    bool *begin;              /* [room] */
    geodec__rows rows;        /* of one pass; for shards */
    geodec_status status;
    geodec_err error;
} geodec__reader;

/* pool NULL: the session works on the caller's thread. */
geodec_status geodec__export_reader_init(geodec__reader *r, const geodec_model *m, const geodec_export_options *o,
                                         geodec_pool *pool, geodec_err *err) GEODEC_MUST_USE;
void geodec__export_reader_clear(geodec__reader *r);
/* The error of the first reader that has one. */
geodec_status geodec__export_reader_error(const geodec__reader *r, int workers, geodec_err *err) GEODEC_MUST_USE;

/* Called after each pass with kept rows. rows holds them (by_layer: only these; otherwise all of the window so far). */
typedef geodec_status (*geodec__export_emit)(void *ctx, const geodec__span *s, int32_t first, const geodec__rows *rows,
                                             geodec_err *err);
/* With rows->by_layer every pass overwrites rows; otherwise rows, at first {0}, receives the whole window and grows if
 * it must. emit may be NULL. */
geodec_status geodec__export_window_read(geodec__reader *r, const geodec__plan *p, const geodec__span *s,
                                         geodec__rows *rows, geodec__export_emit emit, void *ctx,
                                         geodec_err *err) GEODEC_MUST_USE;

/* Number of windows read at once, each by its own worker; 1: one session uses the whole pool, because several would
 * take too much memory, or the model streams. window_bytes: memory of a window's results. */
int geodec__export_workers(const geodec_model *m, const geodec_export_options *o, const geodec_pool *pool,
                           int64_t window_bytes);
/* Bytes of one row's states and logits. */
int64_t geodec__export_row_bytes(const geodec_model_config *c, const geodec_export_options *o);

/* ---- the artifact (export.c) ------------------------------------------------------------------------------------ */

geodec_status geodec__export_artifact_begin(geodec_artifact *a, const geodec_model_config *c,
                                            const geodec_export_options *o, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__export_artifact_rows(geodec_artifact *a, const geodec_export_options *o, const geodec__rows *r,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
