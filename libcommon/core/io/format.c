#include "io/format.h"

#include "base/f16.h"

#include <inttypes.h>
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
        if (strtod(buf, NULL) == v) break; /* bit-identical round trip; 17 digits always suffice */
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

double geodec_format_element_f64(geodec_type t, const void *data, int64_t i)
{
    switch (t) {
    case GEODEC_F64:
        return ((const double *)data)[i];
    case GEODEC_F32:
        return (double)((const float *)data)[i];
    case GEODEC_F16:
        return (double)geodec_f16_to_f32(((const uint16_t *)data)[i]);
    case GEODEC_BF16:
        return (double)geodec_bf16_to_f32(((const uint16_t *)data)[i]);
    case GEODEC_I64:
        return (double)((const int64_t *)data)[i];
    case GEODEC_I32:
        return ((const int32_t *)data)[i];
    case GEODEC_I16:
        return ((const int16_t *)data)[i];
    case GEODEC_I8:
        return ((const int8_t *)data)[i];
    case GEODEC_U64:
        return (double)((const uint64_t *)data)[i];
    case GEODEC_U32:
        return ((const uint32_t *)data)[i];
    case GEODEC_U16:
        return ((const uint16_t *)data)[i];
    case GEODEC_U8:
        return ((const uint8_t *)data)[i];
    }
    return NAN;
}

const char *geodec_format_element(geodec_type t, const void *data, int64_t i, char buf[GEODEC_FORMAT_ROOM])
{
    switch (t) {
    case GEODEC_F64:
        return geodec_format_f64(((const double *)data)[i], buf);
    case GEODEC_F32:
        return geodec_format_f32(((const float *)data)[i], buf);
    case GEODEC_F16:
        return geodec_format_f32(geodec_f16_to_f32(((const uint16_t *)data)[i]), buf);
    case GEODEC_BF16:
        return geodec_format_f32(geodec_bf16_to_f32(((const uint16_t *)data)[i]), buf);
    case GEODEC_U64:
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%" PRIu64, ((const uint64_t *)data)[i]);
        return buf;
    case GEODEC_I64:
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%" PRId64, ((const int64_t *)data)[i]);
        return buf;
    default: /* narrower integers are exact in a double */
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%.0f", geodec_format_element_f64(t, data, i));
        return buf;
    }
}
