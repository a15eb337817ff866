/* A small random model with experts, texts of random tokens with repeated pairs, and their flow map. */
#ifndef GEODEC_TESTS_FORESIGHT_WORLD_H
#define GEODEC_TESTS_FORESIGHT_WORLD_H

#include "export/export.h"
#include "flowmap/map.h"
#include "foresight/routes.h"

enum { WORLD_WINDOW = 24 };

/* experts 0: dense. */
geodec_model *world_model(int32_t layers, int32_t experts, int32_t used);
/* Token ids, one text a line, each with BOS; the text lives until the process ends. kinds: different tokens. */
const char *world_texts(uint64_t seed, int32_t texts, int32_t length, int32_t kinds);
geodec_export_source world_source(const geodec_model *m, const char *texts);
/* Paths of the activations and of the flow map of these texts, made with `threads`. */
const char *world_activations(const geodec_model *m, const char *texts, const char *name);
const char *world_map(const char *activations, const char *name, int threads);
void world_read(const char *path, geodec_flowmap *map);

#endif
