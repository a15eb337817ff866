/* A GGUF with its ternary experts in another type: TQ1_0 or TQ2_0, or floats again (gguf/quantize.h writes it).
 *
 * Experts are the tensors blk.N.ffn_*_exps.weight, and blk.N.ffn_{gate,up,down}.E.weight of older files. In each run of
 * 256 columns of a row (a block of the types) all weights must be -s, 0 and s. A type of blocks keeps s as binary16,
 * the others in their own floats; if that is s for every run, all weights keep their values. The sign of a zero may be
 * lost, and a negative scale of a block becomes a positive one. All other tensors keep their bytes. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_RETYPE_H
#define GEODEC_PERSPECTIVE_TERNARY_RETYPE_H

#include "base/hooks.h"
#include "base/pool.h"
#include "gguf/gguf.h"

typedef struct geodec_ternary_retyped {
    int64_t tensors, weights, zeros; /* of experts */
    int64_t before, after;           /* their bytes */
    double error;                    /* largest |s' - s| / s of a scale s that becomes s'; 0: exact */
    bool refused;                    /* because of that error */
} geodec_ternary_retyped;

/* Reads all experts, then writes `path` (atomically). type: GEODEC_GGML_F32, _F16, _BF16, _TQ1_0 or _TQ2_0. lossy: a
 * scale may be rounded, but not to 0 or beyond the type. *out is set as far as experts were read, also with an error.
 * GEODEC_INVAL: another type. GEODEC_UNSUPPORTED: no experts, rows that are no whole blocks, a weight that is not
 * ternary (named with its place), a scale that would be rounded (the one with the largest error is named). Also the
 * errors of geodec_quantize. */
geodec_status geodec_ternary_retype(const geodec_gguf *in, const char *path, int type, bool lossy, geodec_pool *pool,
                                    const geodec_hooks *hooks, geodec_ternary_retyped *out,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
