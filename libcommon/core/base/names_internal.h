/* Internal: names of an enumeration that is made from a list X(NAME, name, ..), with its values in the list's order. */
#ifndef GEODEC_BASE_NAMES_INTERNAL_H
#define GEODEC_BASE_NAMES_INTERNAL_H

#include <string.h>

/* Defines the functions
 *   const char *prefix_name(type v)         "?" for a value outside of the list
 *   type prefix_named(const char *name)     the number of values for an unknown name */
#define GEODEC__NAMES(prefix, type, LIST)                                                                              \
    static const char *const prefix##_all[] = {LIST(GEODEC__NAMES_TEXT)};                                              \
    enum { prefix##_count = sizeof prefix##_all / sizeof *prefix##_all };                                              \
    const char *prefix##_name(type v) { return (unsigned)v < prefix##_count ? prefix##_all[v] : "?"; }                 \
    type prefix##_named(const char *name)                                                                              \
    {                                                                                                                  \
        int i = 0;                                                                                                     \
        while (i < prefix##_count && strcmp(prefix##_all[i], name) != 0) i++;                                          \
        return (type)i;                                                                                                \
    }
#define GEODEC__NAMES_TEXT(NAME, name, ...) #name,

#endif
