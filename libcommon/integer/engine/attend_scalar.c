#define ATTEND geodec__engine_attend_scalar
#include "integer/engine/attend_body.h"
