/* Any CPU: the lanes are loops. */
#define PORTABLE
#define VARIANT(name) name##_scalar
#include "recurrence/steps_body.h"

const geodec__recurrence *const geodec__recurrence_scalar = &steps_scalar;
