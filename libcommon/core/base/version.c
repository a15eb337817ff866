#include "geodec/err.h"

#ifndef GEODEC_VERSION_TEXT
#error "GEODEC_VERSION_TEXT is set by the build from the file VERSION"
#endif

const char *geodec_version(void) { return GEODEC_VERSION_TEXT; }
