/* OpenBLAS under a limit of memory. It asks for its work space again without end while there is no memory for it, and
 * its threads, which it starts when it is loaded, do the same before main. */
#ifndef GEODEC_TOOLS_CLI_BLAS_MEMORY_H
#define GEODEC_TOOLS_CLI_BLAS_MEMORY_H

#include "base/err.h"

#include <stdint.h>

/* With a limit of the address space or of data, takes the work space of `threads` threads now: GEODEC_NOMEM if it does
 * not fit. Without a limit, nothing is done. */
geodec_status blas_memory_reserve(int64_t threads, geodec_err *err) GEODEC_MUST_USE;

#endif
