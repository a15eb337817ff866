/* make_states FILE [half]: an activations artifact of 1500 states on a curved five-dimensional surface in 24
 * dimensions, in 6 sequences that begin with the same state: input for the tests of the geometry tools. */
#include "base/f16.h"
#include "base/rng.h"
#include "chain/activations.h"
#include "io/h5.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1500, LENGTH = 250, WIDTH = 24, LAYERS = 2, TOP = 4, VOCAB = 50, INNER = 5 };

static void ok(geodec_status st, const geodec_err *err)
{
    char line[512];
    if (st == GEODEC_OK) return;
    (void)fprintf(stderr, "make_states: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

static float state[ROWS][LAYERS][WIDTH];
static uint16_t half[ROWS][LAYERS][WIDTH];
static int32_t token[ROWS], position[ROWS], sequence[ROWS], next_token[ROWS], top_index[ROWS][TOP];
static float top_logit[ROWS][TOP];

/* A smooth walk on the surface, so that consecutive states are neighbours. */
static void fill(void)
{
    geodec_rng r = geodec_rng_stream(20260001, geodec_rng_id("states", 0));
    double turn[2 * INNER][WIDTH], u[INNER] = {0};
    for (int k = 0; k < 2 * INNER; k++)
        for (int c = 0; c < WIDTH; c++) turn[k][c] = geodec_rng_normal(&r) / (1 + k % INNER);
    for (int i = 0; i < ROWS; i++) {
        position[i] = i % LENGTH;
        sequence[i] = i / LENGTH;
        for (int k = 0; k < INNER; k++) u[k] = position[i] ? 0.9 * u[k] + 0.6 * geodec_rng_normal(&r) : 0;
        token[i] = position[i] ? (int32_t)geodec_rng_below(&r, VOCAB - 1) + 1 : 0;
        for (int c = 0; c < WIDTH; c++) {
            double x = 0.3 * c;
            for (int k = 0; k < INNER; k++) x += turn[k][c] * u[k] + turn[INNER + k][c] * sin(1.5 * u[k]);
            state[i][0][c] = (float)(x / 2);
            state[i][1][c] = (float)(position[i] ? x + 0.02 * geodec_rng_normal(&r) : x);
        }
        for (int m = 0; m < TOP; m++) {
            top_index[i][m] = (token[i] + 7 * m + 1) % VOCAB;
            top_logit[i][m] = (float)(TOP - m);
        }
    }
    for (int i = 0; i < ROWS; i++) next_token[i] = i + 1 < ROWS && position[i + 1] ? token[i + 1] : -1;
    for (int i = 0; i < ROWS; i++)
        for (int l = 0; l < LAYERS; l++)
            for (int c = 0; c < WIDTH; c++) half[i][l][c] = geodec_f32_to_f16(state[i][l][c]);
}

int main(int argc, char **argv)
{
    static const geodec_provenance p = {.tool = "geodec-export",
                                        .command_line = "geodec-export --model=test.gguf",
                                        .seed = 1,
                                        .model_fingerprint = "0123",
                                        .tokenizer_fingerprint = "4567"};
    static const int32_t layer[LAYERS] = {2, 3};
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    int32_t argmax[ROWS];
    if (argc < 2) return 2;
    const int as_half = argc > 2 && strcmp(argv[2], "half") == 0;
    geodec_io_init();
    fill();
    for (int i = 0; i < ROWS; i++) argmax[i] = top_index[i][0];
    ok(geodec_artifact_create(&geodec_activations_kind, argv[1], &p, &a, &err), &err);
    ok(geodec_artifact_set_dim(a, "L", LAYERS, &err), &err);
    ok(geodec_artifact_set_dim(a, "d", WIDTH, &err), &err);
    ok(geodec_artifact_set_dim(a, "M", TOP, &err), &err);
    ok(geodec_artifact_write(a, "/layer", layer, &err), &err);
    const struct {
        const char *name;
        const void *data;
    } columns[] = {{as_half ? "/state_f16" : "/state", as_half ? (void *)half : (void *)state},
                   {"/token", token},
                   {"/position", position},
                   {"/sequence", sequence},
                   {"/next_token", next_token},
                   {"/argmax", argmax},
                   {"/top_index", top_index},
                   {"/top_logit", top_logit}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        ok(geodec_artifact_append(a, columns[i].name, ROWS, columns[i].data, &err), &err);
    ok(geodec_artifact_put_i64(a, "n_layer", LAYERS + 1, &err), &err);
    ok(geodec_artifact_put_i64(a, "d_model", WIDTH, &err), &err);
    ok(geodec_artifact_put_i64(a, "n_vocab", VOCAB, &err), &err);
    ok(geodec_artifact_put_i64(a, "n_ctx", LENGTH, &err), &err);
    ok(geodec_artifact_commit(a, &err), &err);
    return 0;
}
