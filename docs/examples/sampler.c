/* Samples from a row of logits: the token is a function of the options, the index in the output, and the row. */
#include <geodec/sampler.h>

#include <stdio.h>

int main(void)
{
    enum { VOCAB = 5 };
    const float row[VOCAB] = {1, 3, 2, 0, -1};
    geodec_err err = {0};
    geodec_sampler *s = NULL;
    geodec_sampling o = geodec_sampler_default();
    double p[VOCAB];
    int count[VOCAB] = {0};
    o.temperature = 1;
    o.top_k = 3;
    o.seed = 7;
    if (geodec_sampler_create(&o, VOCAB, &s, &err) != GEODEC_OK) return 1;
    if (geodec_sampler_distribution(s, row, p, &err) != GEODEC_OK) return 1;
    for (int64_t index = 0; index < 10000; index++) {
        int32_t id;
        if (geodec_sampler_next(s, index, row, &id, &err) != GEODEC_OK) return 1;
        count[id]++;
    }
    for (int i = 0; i < VOCAB; i++)
        printf("token %d: probability %.4f, %.4f of 10000 samples\n", i, p[i], count[i] / 1e4);
    geodec_sampler_destroy(s);
    return 0;
}
