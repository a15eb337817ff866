#include "lab/harness/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

geodec_status geodec_names_add(char text[GEODEC_ATTR_TEXT_MAX], geodec_err *err, const char *format, ...)
{
    const size_t used = strlen(text), comma = used > 0;
    if (used + comma >= GEODEC_ATTR_TEXT_MAX) GEODEC_FAIL(GEODEC_LIMIT, "too many names");
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text + used + comma, GEODEC_ATTR_TEXT_MAX - used - comma, format, args);
    va_end(args);
    if (n < 0 || used + comma + (size_t)n >= GEODEC_ATTR_TEXT_MAX) GEODEC_FAIL(GEODEC_LIMIT, "too many names");
    if (comma) text[used] = ',';
    return GEODEC_OK;
}
