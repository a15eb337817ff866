/* The instruction sets of libcommon's programs here. */
#ifndef EVERYWHERE_SETS_H
#define EVERYWHERE_SETS_H

#include "kernels/settings.h"

#if defined(__x86_64__)
static const geodec_isa sets_isa[] = {GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AVX512};
static const char *const sets_name[] = {"scalar", "avx2", "avx512"};
#else
static const geodec_isa sets_isa[] = {GEODEC_ISA_SCALAR};
static const char *const sets_name[] = {"scalar"};
#endif
enum { SETS = sizeof sets_isa / sizeof *sets_isa };

static bool sets_available(int set) { return geodec_kernels_isa_available(sets_isa[set]); }

#endif
