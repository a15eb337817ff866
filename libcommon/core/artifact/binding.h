/* Saves and loads a struct by the tables of its kind; artifact/member.h describes the place of each field, attribute
 * and axis. */
#ifndef GEODEC_ARTIFACT_BINDING_H
#define GEODEC_ARTIFACT_BINDING_H

#include "artifact/artifact.h"

/* In a kind's initialiser: its name, its version, the tool that makes it, and its purpose. */
#define GEODEC_ABOUT(name_, major_, minor_, tool_, purpose_)                                                           \
    .name = (name_), .major = (major_), .minor = (minor_), .tool = (tool_), .purpose = (purpose_)
/* In a kind's initialiser: its tables, which are arrays. */
#define GEODEC_TABLES(field_table, attr_table, extent_table)                                                           \
    .fields = (field_table), .n_fields = (int)(sizeof(field_table) / sizeof *(field_table)), .attrs = (attr_table),    \
    .n_attrs = (int)(sizeof(attr_table) / sizeof *(attr_table)), .extents = (extent_table),                            \
    .n_extents = (int)(sizeof(extent_table) / sizeof *(extent_table))

/* Sets the axes, then writes fields and attributes in the order of the tables; the caller commits. Optional fields and
 * attributes with NULL pointers are left out; fields that the caller wrote before (slab by slab) are kept. The kind's
 * put writes unbound members. GEODEC_INTERNAL if table and struct do not agree (a field and a member of different
 * types); otherwise the errors of the artifact functions. */
geodec_status geodec_artifact_save(geodec_artifact *a, const void *object, geodec_err *err) GEODEC_MUST_USE;

/* Creates path, saves and commits. */
geodec_status geodec_artifact_save_as(const geodec_kind *kind, const char *path, const geodec_provenance *p,
                                      const void *object, geodec_err *err) GEODEC_MUST_USE;

/* Reads all bound members that the file has into *object; its other members are unchanged. Arrays and rows are new
 * memory; on failure they are freed and their pointers are NULL. GEODEC_FORMAT: inconsistent axes, a number out of
 * range of its member, a name outside the enumeration. GEODEC_INTERNAL: rows inside the struct whose axes are not fixed
 * by the table. */
geodec_status geodec_artifact_load(const geodec_artifact *a, void *object, geodec_err *err) GEODEC_MUST_USE;

/* Allocates the arrays whose pointers are NULL, by the axes in the struct. Optional and borrowed fields and rows are
 * left to the caller. GEODEC_NOMEM. */
geodec_status geodec_artifact_reserve(const geodec_kind *kind, void *object, geodec_err *err) GEODEC_MUST_USE;

/* Keeps items first .. end-1 of the arrays whose first axis is `dim`, and sets the axis. Borrowed arrays are
 * unchanged. */
void geodec_artifact_keep(const geodec_kind *kind, void *object, const char *dim, int64_t first, int64_t end);

/* Frees the memory of load (or of the caller: geodec_mem_new) and sets the pointers to NULL. */
void geodec_artifact_clear(const geodec_kind *kind, void *object);

/* Bytes of the arrays that the struct points to. */
int64_t geodec_artifact_bytes(const geodec_kind *kind, const void *object);

#endif
