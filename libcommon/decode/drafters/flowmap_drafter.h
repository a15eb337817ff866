/* The flow map as a drafter (flowmap/track.h does the work). Sources: "store"; "text" for drafts whose weight comes
 * mostly from the current text; "library" for drafts from a growing library. */
#ifndef GEODEC_DRAFTERS_FLOWMAP_DRAFTER_H
#define GEODEC_DRAFTERS_FLOWMAP_DRAFTER_H

#include "decode/drafter.h"
#include "flowmap/library.h"
#include "flowmap/map.h"

/* map is borrowed and may be shared between drafters; check it first with geodec_flowmap_match. library: NULL, or a
 * library that only this drafter uses and extends. It is borrowed; close it after the drafter is destroyed. */
geodec_status geodec_flowmap_drafter_create(const geodec_flowmap *map, geodec_flowmap_library *library,
                                            geodec_drafter **out, geodec_err *err) GEODEC_MUST_USE;

#endif
