/* Speed and memory of the forward pass, each compared with its control.
 *
 *   read_limit   GB/s of all threads streaming through a buffer of at least eight times the last-level cache with the
 *                widest loads of the machine; the best of several access patterns
 *   pp           tokens a second of a prompt of n tokens
 *   tg           tokens a second of n single passes from an empty context; of random tokens, so the
 *                output does not matter
 *   bandwidth    GB/s of weights in those passes: bytes of the file a token needs (all matrices; of the embedding only
 *                its row when there is a separate head; of experts the chosen share) times tokens a second; control:
 *                the read limit of the same run
 *   v            time of one pass over b rows divided by that of one row, at the same context; control: b
 *   settle       seconds of the first 12 single passes of a model, in which its weights are packed for speed; control:
 *                the next 12 passes. All rates are those of a settled model
 *   first_token  seconds from opening the file to the token after a prompt of n tokens, file in the page cache
 *   start_memory resident set before the file is opened: the program and its libraries
 *   peak_memory  peak resident set after a prompt and a few tokens; control: file size and cache
 *
 * The repeats of all are interleaved: a disturbance of the machine affects all of them. */
#ifndef GEODEC_EVALUATE_SPEED_H
#define GEODEC_EVALUATE_SPEED_H

#include "base/hooks.h"
#include "session/model.h"

#include <stdint.h>
#include <stdio.h>

enum { GEODEC_BENCH_WIDTHS_MAX = 64, GEODEC_BENCH_ROWS_MAX = GEODEC_BENCH_WIDTHS_MAX + 9 };

typedef struct geodec_speed_options {
    geodec_arithmetic arithmetic;
    geodec_isa isa;
    geodec_kv_type kv;
    geodec_pool *pool;
    int32_t prompt, generate; /* tokens; 0 skips the measurement */
    int32_t n_widths;
    int32_t width[GEODEC_BENCH_WIDTHS_MAX]; /* rows of v(b), 1 .. 64 */
    int32_t depth;                          /* tokens of context before tg and v */
    int32_t batch;                          /* rows of one pass of the prompt */
    int32_t first;                          /* prompt of first_token; 0 skips it */
    int32_t repeats;
    bool read_limit;
    uint64_t seed; /* seed of the tokens */
} geodec_speed_options;

/* One measurement over the repeats. */
typedef struct geodec_speed_row {
    const char *name, *unit;
    int64_t n; /* tokens or rows; 0 if none */
    double median, min, max;
    const char *control_name; /* "" if none */
    double control;
} geodec_speed_row;

typedef struct geodec_speed_result {
    geodec_isa isa; /* used */
    int threads;
    int64_t file_bytes, kv_bytes, token_bytes; /* kv_bytes: of the session's cache; token_bytes: of the file, read for
                                                * one token */
    int n_rows;
    geodec_speed_row row[GEODEC_BENCH_ROWS_MAX];
} geodec_speed_result;

/* Errors: those of opening the model and its session; GEODEC_RANGE for options out of range; GEODEC_INTERRUPTED. */
geodec_status geodec_speed_run(const char *path, const geodec_speed_options *o, const geodec_hooks *hooks,
                               geodec_speed_result *out, geodec_err *err) GEODEC_MUST_USE;

/* Bytes of the file's tensors that one token of one sequence reads. */
int64_t geodec_speed_token_bytes(const geodec_model *m);

/* Widths from a list separated by commas, "none" for none. GEODEC_INVAL. */
geodec_status geodec_speed_widths(const char *widths, geodec_speed_options *o, geodec_err *err) GEODEC_MUST_USE;
/* The measurements as a table and as JSON; file: the model's name. */
geodec_status geodec_speed_table(FILE *out, const geodec_speed_result *r, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_speed_json(FILE *out, const char *file, const geodec_speed_options *o,
                                const geodec_speed_result *r, geodec_err *err) GEODEC_MUST_USE;

#endif
