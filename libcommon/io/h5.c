#include "io/h5.h"

#include <hdf5.h>

void geodec_io_init(void) { (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }
