/* Moved: support/goldens.h. */
#include "support/goldens.h" /* IWYU pragma: export */
