/* HDF5 start-up and shared small helpers. HDF5 is called from one thread only. */
#ifndef GEODEC_IO_H5_H
#define GEODEC_IO_H5_H

#include "base/err.h"

/* Switches HDF5's automatic error printing off. Idempotent; tools and tests call it once at start-up. */
GEODEC_API void geodec_io_init(void);

#endif
