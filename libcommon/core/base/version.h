/* Version of the library, from the file VERSION. */
#ifndef GEODEC_BASE_VERSION_H
#define GEODEC_BASE_VERSION_H

#include "base/status.h"

/* "major.minor.patch" */
GEODEC_API const char *geodec_version(void);

#endif
