/* Internal: the kernels of small_internal.h, compiled once for each instruction set; the name of the table is KERNELS.
 */
#include "linalg/apply_body.h"
#include "linalg/eig_body.h"
#include "linalg/expm_body.h"

const geodec__small_kernels KERNELS = {KERNEL_NAME, many, peak, eig, expm, product};
