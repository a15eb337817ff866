/* Weights in two factors: W [rows][cols] becomes out [rows][k] times in [k][cols], and y = out (in x). Slots that read
 * the same input may share `in`, which is then applied once. */
#ifndef GEODEC_MODEL_FACTORS_H
#define GEODEC_MODEL_FACTORS_H

#include "session/model.h"

typedef struct geodec_factor {
    int32_t layer;
    geodec_slot slot;
    int64_t k;        /* 1 .. cols */
    const float *in;  /* [k][cols] */
    const float *out; /* [rows][k] */
} geodec_factor;

const char *geodec_factors_slot_name(geodec_slot slot); /* "q", "k", "v", "o", "gate", "up", "down" */
geodec_side geodec_factors_side_of(geodec_slot slot);
/* Shape of a slot of every layer (with experts: of one expert). */
void geodec_factors_slot_shape(const geodec_model_config *c, geodec_slot slot, int64_t *rows, int64_t *cols);
/* Whether the model has one matrix in this slot: not for gate, up and down with experts. */
bool geodec_factors_slot_single(const geodec_model_config *c, geodec_slot slot);

/* Replaces the weights of n slots by factors, which are copied as float32, or rounded to binary16 with `half`. Slots of
 * one side that follow each other with the same `in` share it. Allowed once, before the model's first session. The
 * fingerprint is still that of the file. On error the model is unchanged. GEODEC_RANGE (layer, slot, k, a slot twice),
 * GEODEC_UNSUPPORTED (experts), GEODEC_NUMERIC (a value that is not finite, or too large for binary16), GEODEC_INVAL
 * (factored already), GEODEC_NOMEM. */
geodec_status geodec_model_factor(geodec_model *m, int64_t n, const geodec_factor *f, bool half,
                                  geodec_err *err) GEODEC_MUST_USE;
/* Number of factored slots. */
int64_t geodec_model_factored(const geodec_model *m);

/* The whole matrix of a slot in float32, [rows][cols]. GEODEC_RANGE, GEODEC_UNSUPPORTED (experts, factored). */
geodec_status geodec_model_weights(const geodec_model *m, int32_t layer, geodec_slot slot, float *w,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Bytes of weight matrices that a pass of one row reads, as stored: chosen experts only, with the head, without the
 * embedding's row. */
int64_t geodec_model_pass_bytes(const geodec_model *m);
/* Bytes of one layer's slot, as geodec_model_pass_bytes counts them; a shared basis counts with the first slot that has
 * it. */
int64_t geodec_model_slot_bytes(const geodec_model *m, int32_t layer, geodec_slot slot);

/* The set (bit s = slot s) that a list of slots separated by commas names, or "all" that the model has singly.
 * GEODEC_INVAL. */
geodec_status geodec_factors_slots(const char *slots, const geodec_model_config *c, unsigned *out,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Whether factors of the set are kept in binary16: unless all its weights are float32 in the file. */
bool geodec_factors_half(const geodec_model *m, unsigned set);

#endif
