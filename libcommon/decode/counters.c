#include "decode/loop.h"

static void tally_add(geodec_tally *sum, const geodec_tally *t)
{
    sum->proposed += t->proposed;
    sum->reached += t->reached;
    sum->accepted += t->accepted;
    sum->rejected += t->rejected;
}

void geodec_decode_counters_add(geodec_decode_counters *sum, const geodec_decode_counters *c)
{
    sum->emitted += c->emitted;
    sum->decided += c->decided;
    sum->rounds += c->rounds;
    sum->asks += c->asks;
    sum->target_passes += c->target_passes;
    sum->target_rows += c->target_rows;
    sum->prompt_passes += c->prompt_passes;
    sum->prompt_rows += c->prompt_rows;
    for (int i = 0; i <= GEODEC_DRAFT_MAX; i++) {
        sum->length[i] += c->length[i];
        sum->pass_seconds[i] += c->pass_seconds[i];
    }
    tally_add(&sum->total, &c->total);
    for (int i = 0; i < GEODEC_DRAFT_MAX; i++) tally_add(&sum->position[i], &c->position[i]);
    for (int i = 0; i < GEODEC_DRAFT_SOURCES_MAX; i++) tally_add(&sum->source[i], &c->source[i]);
    for (int i = 0; i < GEODEC_CONFIDENCE_BINS; i++) {
        tally_add(&sum->confidence[i], &c->confidence[i]);
        sum->confidence_sum[i] += c->confidence_sum[i];
    }
    sum->prompt_seconds += c->prompt_seconds;
    sum->draft_seconds += c->draft_seconds;
    sum->verify_seconds += c->verify_seconds;
    sum->total_seconds += c->total_seconds;
}

double geodec_decode_tokens_per_pass(const geodec_decode_counters *c)
{
    return c->target_passes > 0 ? (double)c->decided / (double)c->target_passes : 0;
}

double geodec_decode_mean_accepted(const geodec_decode_counters *c)
{
    return c->rounds > 0 ? (double)c->total.accepted / (double)c->rounds : 0;
}

double geodec_decode_acceptance(const geodec_tally *t)
{
    return t->reached > 0 ? (double)t->accepted / (double)t->reached : 0;
}

const char *geodec_decode_end_name(geodec_end e)
{
    static const char *const name[] = {"length", "stop", "context", "caller"};
    return e >= GEODEC_END_LENGTH && e <= GEODEC_END_CALLER ? name[e] : "?";
}
