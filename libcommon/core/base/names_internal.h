/* Internal: names of enumerations. */
#ifndef GEODEC_BASE_NAMES_INTERNAL_H
#define GEODEC_BASE_NAMES_INTERNAL_H

#include <string.h>

/* The index of a name, or n if it is none of the n. */
static inline int geodec__names_find(const char *const *all, int n, const char *name)
{
    int i = 0;
    while (i < n && strcmp(all[i], name) != 0) i++;
    return i;
}

/* The name number v of the n, "?" for a value outside of them. */
static inline const char *geodec__names_at(const char *const *all, int n, int v)
{
    return v >= 0 && v < n ? all[v] : "?";
}

/* Defines the function
 *   const char *function(type v)            the v-th of the names that follow, "?" for a value outside of them */
#define GEODEC__NAME(function, type, ...)                                                                              \
    const char *function(type v)                                                                                       \
    {                                                                                                                  \
        static const char *const all[] = {__VA_ARGS__};                                                                \
        return geodec__names_at(all, sizeof all / sizeof *all, (int)v);                                                \
    }

/* The names of an enumeration made from a list X(NAME, name, ..), with its values in the list's order.
 * Defines the functions
 *   const char *prefix_name(type v)         "?" for a value outside of the list
 *   type prefix_named(const char *name)     the number of values for an unknown name */
#define GEODEC__NAMES(prefix, type, LIST)                                                                              \
    static const char *const prefix##_all[] = {LIST(GEODEC__NAMES_TEXT)};                                              \
    enum { prefix##_count = sizeof prefix##_all / sizeof *prefix##_all };                                              \
    const char *prefix##_name(type v) { return geodec__names_at(prefix##_all, prefix##_count, (int)v); }               \
    type prefix##_named(const char *name) { return (type)geodec__names_find(prefix##_all, prefix##_count, name); }
#define GEODEC__NAMES_TEXT(NAME, name, ...) #name,

#endif
