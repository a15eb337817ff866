#include "streaming/closed_form.h"

#include <math.h>

geodec_closed_form_times geodec_closed_form_of(const geodec_closed_form *f)
{
    const double misses = f->used * (1 - f->hit); /* of a layer */
    const double waste = f->waste < 0 ? 1 - f->right : f->waste;
    const double read = f->latency + f->blob / f->bandwidth;
    const double bytes = f->layers * misses * f->blob;
    const double no_overlap = f->layers * (f->layer_seconds + misses * read);
    const double buffered = f->layers * fmax(f->layer_seconds, misses * read);
    const double ahead = f->layers * fmax(f->layer_seconds + (1 - f->right) * misses * read,
                                          misses * (1 + waste) * f->blob / f->bandwidth);
    return (geodec_closed_form_times){.bytes = bytes,
                                      .read_bytes = bytes * (1 + waste),
                                      .no_overlap = f->rest_seconds + no_overlap,
                                      .double_buffer = f->rest_seconds + buffered,
                                      .look_ahead = f->rest_seconds + ahead,
                                      .wall = bytes / f->bandwidth};
}

const geodec_closed_form_model *geodec_closed_form_models(int32_t *n)
{
    /* blobs: weights of three matrices at the bytes of a block of 32, 18 for Q4_0 and 34 for Q8_0 */
    static const geodec_closed_form_model models[] = {
        {.name = "PERSPECTIVE (hypothetical)",
         .store = 27.07e6 * 60 * 128,
         .blob = 27.07e6,
         .layers = 60,
         .used = 1,
         .experts = 128},
        {.name = "OLMoE-1B-7B Q4_0",
         .store = 3.0 * 2048 * 1024 / 32 * 18 * 16 * 64,
         .blob = 3.0 * 2048 * 1024 / 32 * 18,
         .layers = 16,
         .used = 8,
         .experts = 64},
        {.name = "OLMoE-1B-7B Q8_0",
         .store = 3.0 * 2048 * 1024 / 32 * 34 * 16 * 64,
         .blob = 3.0 * 2048 * 1024 / 32 * 34,
         .layers = 16,
         .used = 8,
         .experts = 64},
        {.name = "Qwen3-30B-A3B Q4_0",
         .store = 3.0 * 2048 * 768 / 32 * 18 * 48 * 128,
         .blob = 3.0 * 2048 * 768 / 32 * 18,
         .layers = 48,
         .used = 8,
         .experts = 128},
        {.name = "Mixtral-8x7B Q4_0",
         .store = 3.0 * 4096 * 14336 / 32 * 18 * 32 * 8,
         .blob = 3.0 * 4096 * 14336 / 32 * 18,
         .layers = 32,
         .used = 2,
         .experts = 8},
    };
    *n = (int32_t)(sizeof models / sizeof *models);
    return models;
}
