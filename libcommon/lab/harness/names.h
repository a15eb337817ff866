/* Lists of names in an attribute of an artifact, joined by commas. */
#ifndef GEODEC_LAB_HARNESS_NAMES_H
#define GEODEC_LAB_HARNESS_NAMES_H

#include "artifact/artifact.h"
#include "base/err.h"

/* Appends a name; text is "" before the first. GEODEC_LIMIT when it does not fit; text is then incomplete. */
geodec_status geodec_names_add(char text[GEODEC_ATTR_TEXT_MAX], geodec_err *err, const char *format,
                               ...) GEODEC_MUST_USE __attribute__((format(printf, 3, 4)));

#endif
