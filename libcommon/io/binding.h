/* Saves and loads a struct by the tables of its kind: io/member.h says where each field, attribute and axis lives. */
#ifndef GEODEC_IO_BINDING_H
#define GEODEC_IO_BINDING_H

#include "io/artifact.h"

/* In a kind: its tables, the static arrays fields, attrs and extents. */
#define GEODEC_TABLES                                                                                                  \
    .fields = fields, .n_fields = (int)(sizeof fields / sizeof *fields), .attrs = attrs,                               \
    .n_attrs = (int)(sizeof attrs / sizeof *attrs), .extents = extents,                                                \
    .n_extents = (int)(sizeof extents / sizeof *extents)

/* Sets the axes, then writes fields and attributes in the order of the tables; the caller commits. Pointers that are
 * NULL leave their optional fields (columns of rows that are NULL, attributes that are pointers) out. Members that are
 * not bound go to the kind's put. GEODEC_INTERNAL where table and struct do not agree (a field and a member of
 * different types); else what the artifact's functions return. */
GEODEC_API geodec_status geodec_artifact_save(geodec_artifact *a, const void *object, geodec_err *err) GEODEC_MUST_USE;

/* Reads everything that is bound and present into *object, whose other members stay as they are. Arrays and rows are
 * new memory. On failure what was read is freed and its pointers are NULL. GEODEC_FORMAT: axes that do not belong
 * together, a number that does not fit its member, a name that the enumeration does not have. */
GEODEC_API geodec_status geodec_artifact_load(const geodec_artifact *a, void *object, geodec_err *err) GEODEC_MUST_USE;

/* Frees what load made, or the caller in its place (geodec_mem_new), and sets the pointers to NULL. */
GEODEC_API void geodec_artifact_clear(const geodec_kind *kind, void *object);

#endif
