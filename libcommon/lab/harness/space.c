#include "lab/harness/space.h"

#include <string.h>

geodec_status geodec_harness_space_take(geodec_artifact *file, geodec_harness_space *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    memset(out, 0, sizeof *out);
    GEODEC_PASS(geodec_metric_file_take_any(file, &out->of, err));
    out->space = out->of.space;
    if (!out->space) {
        GEODEC_TRY(geodec_harness_manifold_read(out->of.file, &out->of.metric, &out->manifold, err));
        out->published = &out->manifold;
        out->space = &out->manifold.space;
    }
done:
    if (st != GEODEC_OK) geodec_harness_space_close(out);
    return st;
}

void geodec_harness_space_close(geodec_harness_space *s)
{
    if (s->published) geodec_harness_manifold_clear(&s->manifold);
    geodec_metric_file_close(&s->of);
    memset(s, 0, sizeof *s);
}
