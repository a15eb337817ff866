#include "lab/integer/codes/vht2.h"

static const int primes[] = {2, 3, 5, 7, 11};
enum { PRIMES = 5, LARGEST = 11 };

/* (cos + sin)(2 pi j / p) / sqrt(p). */
static const double hartley[PRIMES][LARGEST] = {
    {0.7071067811865475244, -0.7071067811865475244},
    {0.57735026918962576451, 0.21132486540518711775, -0.78867513459481288225},
    {0.44721359549995793928, 0.56352200530103048127, -0.098937842815422681808, -0.62466895493455628783,
     -0.28712880305100945091},
    {0.37796447300922722721, 0.53116151863921548411, 0.28438310701346969111, -0.17654158455161702103,
     -0.50452686215729878883, -0.45259312208610855123, -0.059847529866888041349},
    {0.30151134457776362265, 0.41665682361938173257, 0.39951670511828280106, 0.25553285559227555964,
     0.030419129924600927056, -0.20435245456283309655, -0.37424357861201446795, -0.42531501073064899126,
     -0.34135193207456591665, -0.14901202686230693404, 0.090638144010064763476},
};

bool geodec_vht2_fits(int64_t n)
{
    if (n < 1 || n > GEODEC_VHT2_MAX) return false;
    for (int i = 0; i < PRIMES; i++)
        while (n % primes[i] == 0) n /= primes[i];
    return n == 1;
}

int64_t geodec_vht2_length(int64_t n)
{
    for (n = n < 1 ? 1 : n; n <= GEODEC_VHT2_MAX; n++)
        if (geodec_vht2_fits(n)) return n;
    return 0;
}

/* The p values `stride` apart from x on. */
static void butterfly(double *x, int64_t stride, int p, const double *h)
{
    double y[LARGEST];
    for (int k = 0; k < p; k++) {
        y[k] = 0;
        for (int j = 0; j < p; j++) y[k] += h[k * j % p] * x[j * stride];
    }
    for (int k = 0; k < p; k++) x[k * stride] = y[k];
}

void geodec_vht2(float *x, int64_t n)
{
    double y[GEODEC_VHT2_MAX];
    for (int64_t i = 0; i < n; i++) y[i] = (double)x[i];
    int64_t stride = 1;
    for (int i = 0; i < PRIMES; i++)
        for (int64_t rest = n; rest % primes[i] == 0; rest /= primes[i]) {
            for (int64_t at = 0; at < n; at += stride * primes[i])
                for (int64_t k = 0; k < stride; k++) butterfly(y + at + k, stride, primes[i], hartley[i]);
            stride *= primes[i];
        }
    for (int64_t i = 0; i < n; i++) x[i] = (float)y[i];
}
