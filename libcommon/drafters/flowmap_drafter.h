/* The flow map as a drafter (flowmap/track.h does the work). Sources: "store"; "text" for drafts whose weight comes
 * mostly from the current text; "library" for those of a growing library. */
#ifndef GEODEC_DRAFTERS_FLOWMAP_DRAFTER_H
#define GEODEC_DRAFTERS_FLOWMAP_DRAFTER_H

#include "decode/drafter.h"
#include "flowmap/library.h"
#include "flowmap/map.h"

/* map is borrowed, and may be shared between drafters. Check it first: geodec_flowmap_match. library: NULL, or one that
 * this drafter alone uses and extends; borrowed, to be closed after the drafter is destroyed. */
GEODEC_API geodec_status geodec_flowmap_drafter_create(const geodec_flowmap *map, geodec_flowmap_library *library,
                                                       geodec_drafter **out, geodec_err *err) GEODEC_MUST_USE;

#endif
