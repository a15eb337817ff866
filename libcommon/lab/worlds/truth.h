/* The artifact with the truth of a world, beside the activations that have its states. */
#ifndef GEODEC_LAB_WORLDS_TRUTH_H
#define GEODEC_LAB_WORLDS_TRUTH_H

#include "lab/worlds/check.h"
#include "lab/worlds/like.h"
#include "lab/worlds/steps.h"

extern const geodec_kind geodec_world_truth_kind; /* "world", of geodec_world_truth */

/* To write, its members are those of a world (geodec_artifact_save). geodec_artifact_load reads it into one that was
 * all zero, without x, clean and shape, and geodec_artifact_clear frees that. */
typedef struct geodec_world_truth {
    geodec_world world;
    geodec_world_steps steps;
    geodec_world_check check;
    geodec_world_like like; /* total = 0: not from data */
} geodec_world_truth;

#endif
