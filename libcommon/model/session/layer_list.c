#include "session/layer_list.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The layer that one word of --layers names. */
static geodec_status one_layer(const char *word, int32_t n_layer, int32_t *layer, geodec_err *err)
{
    char *end = NULL;
    const long v = strtol(word, &end, 10);
    if (strcmp(word, "last") == 0)
        *layer = n_layer;
    else if (strcmp(word, "sink") == 0)
        *layer = (2 * n_layer + 1) / 3;
    else if (end == word || *end || v < 0 || v > n_layer)
        GEODEC_FAIL(GEODEC_INVAL, "--layers: '%s' is none of all, last, sink, 0 to %d", word, n_layer);
    else
        *layer = (int32_t)v;
    return GEODEC_OK;
}

static int rising(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

geodec_status geodec_layer_list_parse(const char *text, int32_t n_layer, int32_t list[GEODEC_LAYERS_MAX], int32_t *n,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *copy = NULL, *rest = NULL;
    int32_t count = 0, kept = 0;
    GEODEC_STRDUP(copy, text);
    if (strcmp(copy, "all") == 0) {
        for (; count <= n_layer && count < GEODEC_LAYERS_MAX; count++) list[count] = count;
    } else {
        for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
            if (count == GEODEC_LAYERS_MAX)
                GEODEC_THROW(GEODEC_INVAL, "--layers: more than %d layers", GEODEC_LAYERS_MAX);
            GEODEC_TRY(one_layer(word, n_layer, &list[count++], err));
        }
    }
    if (count == 0) GEODEC_THROW(GEODEC_INVAL, "--layers: no layer in '%s'", text);
    qsort(list, (size_t)count, sizeof *list, rising);
    for (int32_t i = 0; i < count; i++)
        if (i == 0 || list[i] != list[kept - 1]) list[kept++] = list[i];
    *n = kept;
done:
    geodec_mem_free(copy);
    return st;
}
