#define VARIANT(name) name##_scalar
#include "recurrence/steps_body.h"

geodec__recurrence_fn *const geodec__recurrence_scalar = run_scalar;
