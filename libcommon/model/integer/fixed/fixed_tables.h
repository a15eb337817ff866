/* Literals (fixed_tables.c), written by scripts/fixed-tables with exact arithmetic; never computed at run time. For the
 * functions here and their vector forms elsewhere. */
#ifndef GEODEC_INTEGER_FIXED_FIXED_TABLES_H
#define GEODEC_INTEGER_FIXED_FIXED_TABLES_H

#include "integer/fixed/fixed.h"

enum { GEODEC__FIXED_EXP = 256, GEODEC__FIXED_TURN = 1024 };
/* Constants that vector code shares. */
enum {
    GEODEC__FIXED_LOG2E = 1549082005,     /* Q30 */
    GEODEC__FIXED_GELU_LINEAR = 26772207, /* 2 sqrt(2 / pi), Q24 */
    GEODEC__FIXED_GELU_CUBE = 1197126,    /* that times 0.044715, Q24 */
    GEODEC__FIXED_GELU_MOST = 32 << 24    /* Q24: beyond it the sigmoids are 0 or 1 in Q30 */
};
/* round(2^30 2^(-i/256)), round(2^30 2^(-i/65536)). */
extern const uint32_t geodec__fixed_exp_coarse[GEODEC__FIXED_EXP], geodec__fixed_exp_fine[GEODEC__FIXED_EXP];
/* Cosine and sine of i / 1024 turns, and of i / 2^20 turns. */
extern const geodec_fixed_turn geodec__fixed_turn_coarse[GEODEC__FIXED_TURN],
    geodec__fixed_turn_fine[GEODEC__FIXED_TURN];

#endif
