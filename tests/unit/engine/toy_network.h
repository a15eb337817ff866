/* A small random network without a file: two layers, grouped queries, optional experts. Header-only. */
#ifndef GEODEC_TESTS_TOY_NETWORK_H
#define GEODEC_TESTS_TOY_NETWORK_H

#include "base/mem.h"
#include "base/rng.h"
#include "integer/engine/network.h"
#include "support/support.h"

#include <math.h>

enum { TOY_VOCAB = 61, TOY_WIDTH = 48, TOY_HEADS = 4, TOY_DIM = 12, TOY_FEED = 70, TOY_LAYERS = 2 };

static geodec_panels16 *toy_matrix(int64_t rows, int64_t cols, int bits, uint64_t seed)
{
    geodec_err err = {0};
    geodec_panels16 *p = NULL;
    const int64_t bytes = geodec_coded_row_bytes(cols, bits), blocks = geodec_coded_blocks(cols);
    uint8_t *code = geodec_mem_new(rows * bytes, 1);
    int16_t *multiplier = geodec_mem_new(rows * blocks, sizeof *multiplier),
            *shift = geodec_mem_new(rows, sizeof *shift);
    float *x = geodec_mem_new(cols, sizeof *x);
    geodec_rng r = geodec_rng_stream(seed, 1);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t c = 0; c < cols; c++) x[c] = (float)(geodec_rng_normal(&r) * 1.5 / sqrt((double)cols));
        geodec_coded_row(x, cols, bits, code + i * bytes, multiplier + i * blocks, shift + i);
    }
    const geodec_coded c = {rows, cols, bits, code, multiplier, shift};
    test_ok(geodec_coded_pack_in(&c, NULL, &p, &err), &err);
    GEODEC_FREE(code, multiplier, shift, x);
    return p;
}

static void toy_vector(geodec_network_vector *v, int64_t n, uint64_t seed)
{
    geodec_err err = {0};
    float x[TOY_WIDTH];
    for (int64_t i = 0; i < n; i++) x[i] = 1 + 0.3f * (float)geodec_rng_uniform_at(seed, 2, (uint64_t)i);
    test_ok(geodec_network_vector_of(x, n, v, &err), &err);
}

static inline geodec_network *toy_network(uint64_t seed, int32_t experts)
{
    geodec_err err = {0};
    geodec_network *n = geodec_mem_new(1, sizeof *n);
    n->config = (geodec_network_config){.n_layer = TOY_LAYERS,
                                        .d_model = TOY_WIDTH,
                                        .n_head = TOY_HEADS,
                                        .n_kv_head = 2,
                                        .head_dim = TOY_DIM,
                                        .rope_dim = TOY_DIM,
                                        .d_ff = TOY_FEED,
                                        .n_vocab = TOY_VOCAB,
                                        .n_ctx = 256,
                                        .n_expert = experts,
                                        .n_expert_used = experts ? 2 : 0,
                                        .tied = 1,
                                        .rope_tables = 1,
                                        .activation_bits = 15,
                                        .rms_eps = geodec_network_factor_of(1e-5),
                                        .attn_scale = geodec_network_factor_of(1 / sqrt(TOY_DIM))};
    n->step = geodec_mem_new(TOY_DIM, sizeof *n->step);
    for (int i = 0; i < TOY_DIM; i++) n->step[i] = geodec_rng_at(seed, 3, (uint64_t)i) >> (2 + i % (TOY_DIM / 2));
    n->embedding = n->head = toy_matrix(TOY_VOCAB, TOY_WIDTH, 8, seed);
    toy_vector(&n->output_norm, TOY_WIDTH, seed + 1);
    n->layer = geodec_mem_new(TOY_LAYERS, sizeof *n->layer);
    for (int i = 0; i < TOY_LAYERS; i++) {
        geodec_network_layer *l = &n->layer[i];
        const uint64_t s = seed + 100 * (uint64_t)(i + 1);
        const int bits = i ? 4 : 8;
        toy_vector(&l->attn_norm, TOY_WIDTH, s);
        toy_vector(&l->ffn_norm, TOY_WIDTH, s + 1);
        l->q = toy_matrix(TOY_HEADS * TOY_DIM, TOY_WIDTH, bits, s + 2);
        l->k = toy_matrix(2 * TOY_DIM, TOY_WIDTH, bits, s + 3);
        l->v = toy_matrix(2 * TOY_DIM, TOY_WIDTH, bits, s + 4);
        l->o = toy_matrix(TOY_WIDTH, TOY_HEADS * TOY_DIM, bits, s + 5);
        if (experts) {
            l->router = toy_matrix(experts, TOY_WIDTH, 16, s + 6);
            l->expert = geodec_mem_new(3 * experts, sizeof *l->expert);
            for (int e = 0; e < experts; e++) {
                l->expert[3 * e] = toy_matrix(TOY_FEED, TOY_WIDTH, 8, s + 10 + (uint64_t)e);
                l->expert[3 * e + 1] = toy_matrix(TOY_FEED, TOY_WIDTH, 8, s + 30 + (uint64_t)e);
                l->expert[3 * e + 2] = toy_matrix(TOY_WIDTH, TOY_FEED, 8, s + 50 + (uint64_t)e);
            }
        } else {
            l->gate = toy_matrix(TOY_FEED, TOY_WIDTH, bits, s + 7);
            l->up = toy_matrix(TOY_FEED, TOY_WIDTH, bits, s + 8);
            l->down = toy_matrix(TOY_WIDTH, TOY_FEED, bits, s + 9);
        }
    }
    test_ok(geodec_network_check(n, &err), &err);
    return n;
}

#endif
