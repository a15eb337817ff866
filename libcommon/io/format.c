#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *special(double v, char *buf)
{
    const char *text = isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
    return strcpy(buf, text);
}

const char *geodec_format_f64(double v, char buf[GEODEC_FORMAT_ROOM])
{
    if (!isfinite(v)) return special(v, buf);
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%.*g", digits, v);
        if (strtod(buf, NULL) == v) break; /* the very same value is wanted; 17 digits always give it */
    }
    return buf;
}

const char *geodec_format_f32(float v, char buf[GEODEC_FORMAT_ROOM])
{
    if (!isfinite(v)) return special((double)v, buf);
    for (int digits = 1; digits <= 9; digits++) {
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%.*g", digits, (double)v);
        if (strtof(buf, NULL) == v) break;
    }
    return buf;
}
