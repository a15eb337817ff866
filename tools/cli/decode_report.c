#include "cli/decode_report.h"

#include "cli/kinds.h"

#include "base/mem.h"
#include "cli/evaluation.h"
#include "cli/streaming.h"
#include "lowrank/kv_projection.h"
#include "lowrank/projection.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

geodec_status decode_projections(const decode_words *w, geodec_model *m, geodec_err *err)
{
    if (w->projection) GEODEC_PASS(geodec_projection_load(w->projection, m, err));
    if (w->kv_projection) GEODEC_PASS(geodec_kv_projection_load(w->kv_projection, m, err));
    return GEODEC_OK;
}

static geodec_session_options session_options(int32_t n_ctx, const decode_words *w, geodec_pool *pool)
{
    return (geodec_session_options){.n_ctx = n_ctx,
                                    .max_batch = DECODE_BATCH,
                                    .max_pass = n_ctx,
                                    .pool = pool,
                                    .isa = isa_of(w->isa),
                                    .arithmetic = arithmetic_of(w->arithmetic),
                                    .kv = kv_of(w->kv)};
}

geodec_status decode_session(const geodec_model *m, int32_t n_ctx, const decode_words *w, geodec_pool *pool,
                             geodec_session **out, geodec_err *err)
{
    geodec_session_options o = session_options(n_ctx, w, pool);
    GEODEC_PASS(geodec_attnres_parse(w->attnres, &o.attnres, err));
    if (!geodec_kernels_isa_available(o.isa)) GEODEC_FAIL(GEODEC_UNSUPPORTED, "this CPU has no %s", w->isa);
    GEODEC_PASS(geodec_session_create(m, &o, out, err));
    return GEODEC_OK;
}

geodec_status decode_second(const cli *c, const geodec_session *target, decode_words *w, geodec_pool *pool,
                            geodec_drafting *d, geodec_err *err)
{
    geodec_session_options o = session_options(geodec_session_n_ctx(target), w, pool);
    o.attnres = *geodec_session_attnres(target);
    GEODEC_PASS(geodec_drafting_sessions(d, &o, w->draft_model, err));
    if (w->draft_projection) GEODEC_PASS(geodec_drafting_project(d, w->draft_projection, err));
    const geodec_model *second = geodec_drafting_second(d);
    if (!second) return GEODEC_OK;
    if (!w->draft_arithmetic) w->draft_arithmetic = "auto";
    (void)arithmetic_settle(c, second, &w->draft_arithmetic);
    o.arithmetic = arithmetic_of(w->draft_arithmetic);
    geodec_drafting_arithmetic(d, o.arithmetic);
    return geodec_streamed_beside(geodec_session_model(target), second, &o, err);
}

geodec_status decode_cost(const geodec_target *target, int32_t at, int64_t tree, geodec_cost *out, geodec_err *err)
{
    enum { REPEATS = 2 };
    geodec_streamed_read reads;
    const bool streams = target->reads && target->reads(target->self, &reads);
    const int32_t rows = (tree > 0 ? (int32_t)tree : DECODE_GAMMA_AUTO) + 1;
    if (!streams) return geodec_cost_measure(target, at, rows, REPEATS, NULL, out, err);
    *out = geodec_decode_options_default().cost;
    out->seconds = -1;
    return GEODEC_OK;
}

geodec_status decode_gamma(const char *text, geodec_decode_options *o, geodec_err *err)
{
    char *end = NULL;
    o->adaptive = strcmp(text, "auto") == 0;
    const long value = o->adaptive ? DECODE_GAMMA_AUTO : strtol(text, &end, 10);
    if (!o->adaptive && (*text == '\0' || *end != '\0' || value < 0 || value > GEODEC_DRAFT_MAX))
        GEODEC_FAIL(GEODEC_INVAL, "draft length '%s': neither auto nor a whole number from 0 to %d", text,
                    GEODEC_DRAFT_MAX);
    o->gamma = (int32_t)value;
    return GEODEC_OK;
}

geodec_status decode_consistency(const char *folder, const geodec_model *m, geodec_readiness *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    char *path = NULL;
    int64_t dim;
    const geodec_kind *kind = cli_kind_find("consistency"); /* of the laboratory, if it is built */
    if (!folder || !kind) goto done;
    GEODEC_TRY(geodec_mem_print(&path, err, "%s/consistency.h5", folder));
    if (access(path, F_OK) != 0) goto done;
    GEODEC_TRY(geodec_artifact_open(kind, path, &a, err));
    if (strcmp(geodec_artifact_provenance(a)->model_fingerprint, geodec_model_fingerprint(m)) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: measured on another model", path);
    GEODEC_TRY(geodec_artifact_get_i64(a, "k_int", &dim, err));
    GEODEC_TRY(geodec_artifact_get_f64(a, "consistency", &r->consistency, err));
    GEODEC_TRY(geodec_artifact_get_f64(a, "consistency_shuffled", &r->consistency_control, err));
    r->intrinsic_dim = (double)dim;
done:
    geodec_artifact_close(a);
    geodec_mem_free(path);
    return st;
}
