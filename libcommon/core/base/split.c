#include "base/split.h"

#include <string.h>

const char *geodec_split_name(bool by_document) { return by_document ? "document" : "block"; }

geodec_split geodec_split_rows(int64_t rows, const int32_t *document, bool windows, int32_t *unit)
{
    int64_t documents = rows > 0;
    for (int64_t i = 1; i < rows; i++) documents += document[i] != document[i - 1];
    if (documents >= GEODEC_SPLIT_DOCUMENTS && !windows) {
        if (unit != document) memcpy(unit, document, (size_t)rows * sizeof *unit);
        return (geodec_split){.by_document = true, .units = documents};
    }
    geodec_split s = {.units = rows < GEODEC_SPLIT_BLOCKS ? rows : GEODEC_SPLIT_BLOCKS};
    if (rows == 0) return s;
    s.gap = rows / s.units / 8;
    if (s.gap > GEODEC_SPLIT_GAP) s.gap = GEODEC_SPLIT_GAP;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t block = i * s.units / rows, first = (block * rows + s.units - 1) / s.units;
        unit[i] = block > 0 && i - first < s.gap ? GEODEC_SPLIT_NONE : (int32_t)block;
    }
    return s;
}
