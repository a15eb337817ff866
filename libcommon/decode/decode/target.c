#include "geodec/decode.h"

#include "session/resident_price.h"
#include "session/streamed.h"

static geodec_status session_forward(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                                     float *state, geodec_err *err)
{
    geodec_session *s = self;
    const int32_t last = geodec_model_configuration(geodec_session_model(s))->n_layer;
    const geodec_batch batch = {.n = n, .token = token, .parent = parent};
    const geodec_capture capture = {.n_layers = 1, .layer = &last, .state = state};
    return geodec_forward(s, &batch, logits, state ? &capture : NULL, err);
}

static int32_t session_length(const void *self) { return geodec_session_length(self); }

static void session_truncate(void *self, int32_t length) { geodec_session_truncate(self, length); }

static void session_compact(void *self, int32_t base, const int32_t *row, int32_t n)
{
    geodec_session_compact(self, base, row, n);
}

static geodec_counters session_counters(const void *self) { return geodec_session_counters(self); }

static bool session_price(void *self, const int32_t *token, int32_t n, geodec_price *out)
{
    return geodec_streamed_price(self, token, n, out) || geodec_resident_price(self, token, n, out);
}

static int32_t session_pass_rows(const void *self, int64_t wanted, int64_t beside)
{
    return geodec_session_pass_rows(self, wanted, beside);
}

static bool session_reads(void *self, geodec_streamed_read *out) { return geodec_streamed_reads(self, out); }

geodec_target geodec_target_session(geodec_session *s, int32_t max_batch)
{
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(s));
    geodec_resident_price_follow(s);
    return (geodec_target){.self = s,
                           .n_vocab = c->n_vocab,
                           .d_state = c->d_model,
                           .n_ctx = geodec_session_n_ctx(s),
                           .max_batch = max_batch,
                           .forward = session_forward,
                           .length = session_length,
                           .truncate = session_truncate,
                           .compact = session_compact,
                           .counters = session_counters,
                           .pass_rows = session_pass_rows,
                           .price = session_price,
                           .reads = session_reads};
}
