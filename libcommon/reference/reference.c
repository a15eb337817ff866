#include "reference/reference.h"

typedef int geodec__reference_nothing; /* an empty file is no C */
