/* Internal: the ring of a grown library and its file. */
#ifndef GEODEC_FLOWMAP_LIBRARY_INTERNAL_H
#define GEODEC_FLOWMAP_LIBRARY_INTERNAL_H

#include "flowmap/library.h"

enum { GEODEC__GROWN_HEAD = 256, GEODEC__GROWN_SLOT_MAX = 80 };

/* A record in memory, but for its key. */
typedef struct geodec__grown_place {
    int64_t serial; /* -1 = free */
    int32_t before; /* place of the token's record before this one, -1 = none */
    geodec_flowmap_library_record record;
} geodec__grown_place;

typedef struct geodec__grown_file {
    int fd; /* -1 = none, or dropped */
    char *path;
    const geodec_hooks *hooks;
    uint8_t head[GEODEC__GROWN_HEAD];
} geodec__grown_file;

struct geodec_flowmap_library {
    const geodec_flowmap *map;
    int64_t bound, room; /* room: records of the ring */
    int64_t places;      /* of the ring that are in memory */
    int64_t end, live, added, dropped;
    geodec__grown_place *place; /* [places] of serial % room */
    int8_t *key;                /* [places][dims] */
    int32_t *last;              /* [vocab] place of a token's newest record, -1 = none */
    geodec__grown_file file;
};

/* Bytes of a slot; records that a bound allows. */
int64_t geodec__flowmap_library_slot(int64_t dims);
int64_t geodec__flowmap_library_room(const geodec_flowmap *map, int64_t bound);
/* Puts a record at its place, in memory alone. Serials must come in rising order. */
geodec_status geodec__flowmap_library_put(geodec_flowmap_library *g, int64_t serial,
                                          const geodec_flowmap_library_record *r, geodec_err *err) GEODEC_MUST_USE;
/* NULL, or the fault of a record. */
const char *geodec__flowmap_library_fault(const geodec_flowmap *map, const geodec_flowmap_library_record *r);
/* Writes one record; a failure is a warning and ends the writing. */
void geodec__flowmap_library_write(geodec_flowmap_library *g, int64_t serial, const geodec_flowmap_library_record *r);
void geodec__flowmap_library_file_close(geodec_flowmap_library *g);

#endif
