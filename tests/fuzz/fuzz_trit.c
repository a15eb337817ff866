/* Experts in .trit files: edits of good ones, with right CRCs or as they are. What is accepted has blobs inside the
 * file; what is verified is made of codes, and every instruction set computes the same with it. */
#include "base/mem.h"
#include "fuzz/ternary_edits.h"
#include "ternary/multiply.h"

#include <math.h>

volatile unsigned char fuzz_sink;

static void multiply(const geodec_ternary_matrix *m)
{
    geodec_ternary_input in;
    float *y[2] = {geodec_mem_new(m->rows, sizeof(float)), geodec_mem_new(m->rows, sizeof(float))};
    float *x = geodec_mem_new(m->cols, sizeof *x);
    if (y[0] && y[1] && x) {
        for (int64_t i = 0; i < m->cols; i++) x[i] = (float)(i % 7 - 3);
        for (int a = GEODEC_TERNARY_INT8; a <= GEODEC_TERNARY_FLOAT; a++) {
            if (geodec_ternary_input_create((geodec_ternary_arithmetic)a, m->cols, 1, &in, NULL) != GEODEC_OK) continue;
            geodec_ternary_input_set(&in, 0, x);
            geodec_ternary_multiply(m, &in, 1, GEODEC_ISA_SCALAR, NULL, &y[0]);
            geodec_ternary_multiply(m, &in, 1, GEODEC_ISA_AUTO, NULL, &y[1]);
            fuzz_must(memcmp(y[0], y[1], (size_t)m->rows * sizeof(float)) == 0, "sets agree");
            geodec_ternary_input_clear(&in);
        }
    }
    GEODEC_FREE(x, y[0], y[1]);
}

static void use(const char *path, bool verified)
{
    geodec_trit t = {0};
    if (geodec_trit_open(path, &t, NULL) != GEODEC_OK) {
        fuzz_must(!t.entry && !verified, "an output of a failure");
        return;
    }
    uint8_t *blob = geodec_mem_new(t.stride, 1);
    fuzz_must(t.stride <= t.file_bytes && t.payload_bytes <= t.stride, "a blob is larger than the file");
    for (int32_t i = 0; blob && i < t.shape.layers; i++) {
        fuzz_must(t.entry[i].offset % GEODEC_TRIT_PAGE == 0 && t.entry[i].offset <= t.file_bytes - t.stride,
                  "a blob outside the file");
        if (geodec_trit_read(&t, t.entry[i].layer, blob, NULL) != GEODEC_OK) continue;
        geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
        geodec_trit_matrices(&t.shape, blob, m);
        for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
            fuzz_use(m[k].data, (size_t)(m[k].rows * geodec_ternary_row_bytes(m[k].encoding, m[k].cols)));
            if (m[k].row_scale) fuzz_use(m[k].row_scale, (size_t)m[k].rows * sizeof(float));
            if (verified) multiply(&m[k]);
        }
    }
    geodec_mem_free(blob);
    geodec_trit_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static edits_file good[EDITS_KINDS], f;
    char path[64];
    if (size < 1) return 0;
    const int flags = data[0], kind = flags % EDITS_KINDS;
    if (!good[kind].size) {
        if (!fuzz_file(NULL, 0, path)) return 0;
        edits_expert(path, kind, 3);
        edits_load(path, &good[kind]);
        (void)unlink(path);
    }
    f = good[kind];
    edits_apply(&f, data, size);
    if (flags & EDITS_REPAIR) edits_repair(&f, GEODEC__HEADER_TRIT, 20);
    if (!fuzz_file(f.bytes, f.size, path)) return 0;
    const bool verified = geodec_trit_verify(path, NULL, NULL) == GEODEC_OK;
    use(path, verified);
    (void)unlink(path);
    return 0;
}
