#include "decode/draft.h"

geodec_status geodec_drafter_begin(geodec_drafter *d, geodec_err *err) { return d ? d->ops->begin(d, err) : GEODEC_OK; }

geodec_status geodec_drafter_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    return d && rows->n > 0 ? d->ops->observe(d, rows, err) : GEODEC_OK;
}

geodec_status geodec_drafter_propose(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out,
                                     int32_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t count = 0;
    if (d && request->gamma > 0) {
        if (request->gamma > GEODEC_DRAFT_MAX || request->n_context < 1)
            GEODEC_THROW(GEODEC_INVAL, "draft length %d, context of %lld tokens", request->gamma,
                         (long long)request->n_context);
        GEODEC_TRY_MSG(d->ops->propose(d, request, out, &count, err), "drafter %s", d->ops->name);
        if (count < 0 || count > request->gamma)
            GEODEC_THROW(GEODEC_INTERNAL, "drafter %s proposed %d tokens of %d", d->ops->name, count, request->gamma);
        for (int32_t i = 0; i < count; i++) {
            /* Written so that a NaN confidence is caught. */
            bool sane = out[i].source >= 0 && out[i].source < d->ops->n_sources && out[i].confidence >= 0 &&
                        out[i].confidence <= 1;
            if (!sane)
                GEODEC_THROW(GEODEC_INTERNAL, "drafter %s: source or confidence of draft %d is out of range",
                             d->ops->name, i);
        }
    }
    *n = count;
done:
    return st;
}

void geodec_drafter_destroy(geodec_drafter *d)
{
    if (d) d->ops->destroy(d);
}

const char *geodec_drafter_name(const geodec_drafter *d) { return d ? d->ops->name : "none"; }
