#define ROWS geodec__rows_scalar
#include "integer/engine/rows_body.h"
