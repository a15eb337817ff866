/* Time of a token when experts are read from a disk, in closed form, and a table of plans by it. */
#ifndef GEODEC_STREAMING_CLOSED_FORM_H
#define GEODEC_STREAMING_CLOSED_FORM_H

#include "geodec/err.h"

#include <stdint.h>

typedef struct geodec_closed_form {
    int32_t layers, used; /* layers with experts; experts of a token in each: n = layers used reads */
    double blob;          /* b, bytes of an expert */
    double hit;           /* h, share of the needed experts in memory before any prefetch */
    double right;         /* a, share of the foretold experts that are needed */
    double waste;         /* w, wasted reads for each read that is needed; below 0: 1 - a */
    double bandwidth;     /* Bw, bytes a second */
    double latency;       /* l0, seconds of a read beside its bytes */
    double layer_seconds; /* tc, computing of a layer with its experts */
    double rest_seconds;  /* T0, the rest of the token */
} geodec_closed_form;

/* Seconds a token. bytes: D, those that are needed; read_bytes: D (1 + w).
 *   no overlap     T0 + L tc + D / Bw + n (1 - h) l0
 *   double buffer  T0 + L max(tc, K (1 - h) (l0 + b / Bw)), the routes known one block early
 *   look-ahead     T0 + L max(tc + (1 - a) (1 - h) K (l0 + b / Bw), K (1 - h) (1 + w) b / Bw)
 *   wall           n (1 - h) b / Bw: no prediction is faster */
typedef struct geodec_closed_form_times {
    double bytes, read_bytes;
    double no_overlap, double_buffer, look_ahead, wall;
} geodec_closed_form_times;
geodec_closed_form_times geodec_closed_form_of(const geodec_closed_form *f);

/* Public models as stores. */
typedef struct geodec_closed_form_model {
    const char *name;
    double store, blob; /* bytes of all experts; of one */
    int32_t layers, used, experts;
} geodec_closed_form_model;
const geodec_closed_form_model *geodec_closed_form_models(int32_t *n);

#endif
