/* RMSNorm and softmax of 4096 values in fp32, as the bridges of the third paper, and RMSNorm in integers: prints a hash
 * of each. The same source gives different floats with other compilers and flags, because sums are reordered and
 * contracted. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { N = 4096, ROUNDS = 64 };

static uint64_t hash(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h;
}

static uint64_t in_floats(uint64_t h, const int16_t *code)
{
    static float x[N], p[N];
    float sum = 0, most, total = 0;
    for (int i = 0; i < N; i++) x[i] = (float)code[i] / 4096;
    for (int i = 0; i < N; i++) sum += x[i] * x[i];
    const float scale = 1 / sqrtf(sum / N + 1e-6f);
    for (int i = 0; i < N; i++) x[i] *= scale;
    most = x[0];
    for (int i = 1; i < N; i++) most = x[i] > most ? x[i] : most;
    for (int i = 0; i < N; i++) {
        p[i] = expf(x[i] - most);
        total += p[i];
    }
    for (int i = 0; i < N; i++) p[i] /= total;
    return hash(hash(h, x, sizeof x), p, sizeof p);
}

static uint64_t in_integers(uint64_t h, const int16_t *code)
{
    static int32_t y[N];
    int64_t sum = 0, root = 0;
    for (int i = 0; i < N; i++) sum += (int64_t)code[i] * code[i];
    for (int64_t bit = INT64_C(1) << 30; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= sum) root += bit;
    for (int i = 0; i < N; i++)
        y[i] = (int32_t)((int64_t)code[i] * (1 << 22) / (root + 1)); /* sqrt(N) = 2^6: 16 bits */
    return hash(h, y, sizeof y);
}

int main(void)
{
    static int16_t code[N];
    uint64_t state = 15, floats = UINT64_C(14695981039346656037), integers = floats;
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < N; i++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            code[i] = (int16_t)((int)(state >> 48) - 32768);
        }
        floats = in_floats(floats, code);
        integers = in_integers(integers, code);
    }
    printf("%016llx\t%016llx\n", (unsigned long long)floats, (unsigned long long)integers);
    return 0;
}
