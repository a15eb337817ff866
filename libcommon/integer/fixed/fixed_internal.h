/* Literals (fixed_tables.c), written by scripts/fixed-tables with exact arithmetic; never computed at run time. */
#ifndef GEODEC_INTEGER_FIXED_FIXED_INTERNAL_H
#define GEODEC_INTEGER_FIXED_FIXED_INTERNAL_H

#include "integer/fixed/fixed.h"

enum { GEODEC__FIXED_EXP = 256, GEODEC__FIXED_TURN = 1024 };
/* round(2^30 2^(-i/256)), round(2^30 2^(-i/65536)). */
extern const uint32_t geodec__fixed_exp_coarse[GEODEC__FIXED_EXP], geodec__fixed_exp_fine[GEODEC__FIXED_EXP];
/* Of i / 1024 turns, and of i / 2^20 turns. */
extern const geodec_fixed_turn geodec__fixed_turn_coarse[GEODEC__FIXED_TURN],
    geodec__fixed_turn_fine[GEODEC__FIXED_TURN];

#endif
