/* The slots of a run that was not made: the same routes without drafts, or without prefetches. Its reads are counted as
 * those of the run itself are. */
#include "base/mem.h"
#include "session/streamed_internal.h"

struct geodec__follower {
    geodec_slots *slots;
    double bytes;
};

geodec_status geodec__streamed_follower_create(const geodec_session *s, const uint8_t *resident, geodec__follower **out,
                                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__streamed *t = s->model->streamed;
    const int32_t layers = s->model->config.n_layer;
    uint8_t *routed = NULL;
    geodec__follower *f = NULL;
    GEODEC_NEW(f, 1);
    GEODEC_NEW(routed, layers);
    for (int32_t i = 0; i < layers; i++) routed[i] = geodec_stream_blob_bytes(t->stream, i) > 0;
    const geodec_slots_options o = {.n_layer = layers,
                                    .n_expert = s->model->config.n_expert,
                                    .n_slots = t->plan.slots,
                                    .routed = routed,
                                    .eviction = t->options.eviction,
                                    .shared = t->options.shared};
    GEODEC_TRY(geodec_slots_create(&o, &f->slots, err));
    for (int32_t i = 0; i < layers * o.n_expert; i++) {
        geodec_slots_read r;
        if (resident[i] && geodec_slots_warm(f->slots, i / o.n_expert, i % o.n_expert, &r))
            geodec_slots_finished(f->slots, r.slot, true);
    }
    *out = f;
    f = NULL;
done:
    geodec_mem_free(routed);
    geodec__streamed_follower_free(f);
    return st;
}

void geodec__streamed_follower_free(geodec__follower *f)
{
    if (!f) return;
    geodec_slots_destroy(f->slots);
    geodec_mem_free(f);
}

double geodec__streamed_follower_bytes(const geodec__follower *f) { return f->bytes; }

void geodec__streamed_follower_expect(geodec__follower *f, int32_t layer, int32_t n, const int32_t *expert,
                                      const float *share)
{
    geodec_slots_expect(f->slots, layer, n, expert, share);
}

/* Experts of a layer that some of these rows used, into s->needed, ascending. */
static int32_t used_by(geodec_session *s, int32_t layer, const int32_t *row, int32_t n)
{
    const geodec_model_config *c = &s->model->config;
    int32_t count = 0;
    for (int32_t e = 0; e < c->n_expert; e++) {
        bool used = false;
        for (int32_t i = 0; i < n && !used; i++) {
            const int32_t *id = s->expert_id + ((int64_t)(row ? row[i] : i) * c->n_layer + layer) * c->n_expert_used;
            for (int32_t j = 0; j < c->n_expert_used; j++) used |= id[j] == e;
        }
        if (used) s->needed[count++] = e;
    }
    return count;
}

/* Reads all that the layer waits for; returns the number of reads. */
static int64_t read_all(geodec_slots *slots)
{
    enum { MOST = 32 };
    int32_t slot[MOST];
    int64_t reads = 0;
    geodec_slots_read r;
    for (int32_t got = 1; got > 0 || geodec_slots_waiting(slots);) {
        bool moved = false;
        while (geodec_slots_next(slots, &r)) {
            geodec_slots_finished(slots, r.slot, true);
            moved = true;
            reads++;
        }
        got = geodec_slots_take(slots, slot, MOST);
        for (int32_t i = 0; i < got; i++) geodec_slots_release(slots, slot[i]);
        if (got == 0 && !moved) break;
    }
    return reads;
}

geodec__follower_reads geodec__streamed_follower_pass(geodec__follower *f, geodec_session *s, const int32_t *row,
                                                      int32_t n)
{
    geodec__follower_reads sum = {0};
    geodec_slots_pass(f->slots);
    for (int32_t l = 0; l < s->model->config.n_layer; l++) {
        const double blob = (double)geodec_stream_blob_bytes(s->model->streamed->stream, l);
        if (!(blob > 0)) continue;
        geodec_slots_need(f->slots, l, used_by(s, l, row, n), s->needed);
        const int64_t reads = read_all(f->slots);
        f->bytes += (double)reads * blob;
        sum.blobs += reads;
        sum.layers += reads > 0;
    }
    return sum;
}
