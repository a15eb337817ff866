/* Saves and loads a struct by the tables of its kind: artifact/member.h says where each field, attribute and axis
 * lives. */
#ifndef GEODEC_ARTIFACT_BINDING_H
#define GEODEC_ARTIFACT_BINDING_H

#include "artifact/artifact.h"

/* In a kind's initialiser: its tables, which are arrays. */
#define GEODEC_TABLES(field_table, attr_table, extent_table)                                                           \
    .fields = (field_table), .n_fields = (int)(sizeof(field_table) / sizeof *(field_table)), .attrs = (attr_table),    \
    .n_attrs = (int)(sizeof(attr_table) / sizeof *(attr_table)), .extents = (extent_table),                            \
    .n_extents = (int)(sizeof(extent_table) / sizeof *(extent_table))

/* Sets the axes, then writes fields and attributes in the order of the tables; the caller commits. Pointers that are
 * NULL leave their optional fields and attributes out; fields that the caller wrote before (slab by slab) stay. Members
 * that are not bound go to the kind's put. GEODEC_INTERNAL where table and struct do not agree (a field and a member of
 * different types); else what the artifact's functions return. */
GEODEC_API geodec_status geodec_artifact_save(geodec_artifact *a, const void *object, geodec_err *err) GEODEC_MUST_USE;

/* Creates path, saves and commits. */
GEODEC_API geodec_status geodec_artifact_save_as(const geodec_kind *kind, const char *path, const geodec_provenance *p,
                                                 const void *object, geodec_err *err) GEODEC_MUST_USE;

/* Reads everything that is bound and present into *object, whose other members stay as they are. Arrays and rows are
 * new memory. On failure what was read is freed and its pointers are NULL. GEODEC_FORMAT: axes that do not belong
 * together, a number that does not fit its member, a name that the enumeration does not have. Rows that are in the
 * struct need axes that the table fixes: GEODEC_INTERNAL. */
GEODEC_API geodec_status geodec_artifact_load(const geodec_artifact *a, void *object, geodec_err *err) GEODEC_MUST_USE;

/* Frees what load made, or the caller in its place (geodec_mem_new), and sets the pointers to NULL. */
GEODEC_API void geodec_artifact_clear(const geodec_kind *kind, void *object);

/* Bytes of the arrays that the struct points to. */
GEODEC_API int64_t geodec_artifact_bytes(const geodec_kind *kind, const void *object);

#endif
