#include "geometry/benchmark_sets.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

const benchmark_set benchmark_sets[BENCHMARK_SETS] = {
    {"M1 sphere", 10, 11, 11},     {"M2 affine", 3, 5, 3},     {"M3 concentrated", 4, 6, 4}, {"M4 nonlinear", 4, 8, 4},
    {"M5 helix", 2, 3, 2},         {"M6 nonlinear", 6, 36, 6}, {"M7 Swiss roll", 2, 3, 2},   {"M10a cube", 10, 11, 11},
    {"M11 Moebius band", 2, 3, 2}, {"M13 spiral", 1, 13, 1},
};

enum { SPHERE, AFFINE, CONCENTRATED, NONLINEAR_8, HELIX, NONLINEAR_36, ROLL, CUBE, MOEBIUS, SPIRAL };

static double square(double x) { return x * x; }

/* The faces of a cube: from inside, along the ray from the centre. */
static void cube(const double *u, double *x)
{
    double most = 0;
    for (int i = 0; i < 11; i++) most = fmax(most, fabs(2 * u[i] - 1));
    for (int i = 0; i < 11; i++) x[i] = (2 * u[i] - 1) / most;
}

static void sphere(const double *z, double *x)
{
    double s = 0;
    for (int i = 0; i < 11; i++) s += z[i] * z[i];
    for (int i = 0; i < 11; i++) x[i] = z[i] / sqrt(s);
}

static void nonlinear(int d, int width, const double *u, double *x)
{
    for (int r = 0; r < width; r += 2 * d)
        for (int i = 0; i < d; i++) {
            x[r + 2 * i] = u[(i + 1) % d] * cos(2 * pi * u[i]);
            x[r + 2 * i + 1] = u[(i + 1) % d] * sin(2 * pi * u[i]);
        }
}

static void affine(const double *u, double *x)
{
    static const double a[5][3] = {{1.2, -.5, 0}, {.5, .9, 0}, {-.5, -.2, 1}, {.4, -.9, -.1}, {1.1, -.3, 0}};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++) x[i] += a[i][j] * 4 * u[j];
}

static void concentrated(const double *u, double *x)
{
    x[0] = square(u[1]) * cos(2 * pi * u[0]);
    x[1] = square(u[2]) * sin(2 * pi * u[0]);
    x[2] = u[1] + u[2] + square(u[1] - u[3]);
    x[3] = u[1] - 2 * u[2] + square(u[0] - u[3]);
    x[4] = -u[1] - 2 * u[2] + square(u[2] - u[3]);
    x[5] = square(u[0]) - square(u[1]) + square(u[2]) - square(u[3]);
}

/* z: normal scores, u: the uniform numbers of the same ranks; x is zero. */
static void point(int set, const double *z, const double *u, double *x)
{
    const double t = set == ROLL ? 1.5 * pi * (1 + 2 * u[0]) : 10 * pi * u[0];
    switch (set) {
    case SPHERE:
        sphere(z, x);
        break;
    case AFFINE:
        affine(u, x);
        break;
    case CONCENTRATED:
        concentrated(u, x);
        break;
    case NONLINEAR_8:
        nonlinear(4, 8, u, x);
        break;
    case HELIX:
        x[0] = t * cos(10 * pi * u[1]);
        x[1] = t * sin(10 * pi * u[1]);
        x[2] = 5 * pi * u[1];
        break;
    case NONLINEAR_36:
        nonlinear(6, 36, u, x);
        break;
    case ROLL:
        x[0] = t * cos(t);
        x[1] = 21 * u[1];
        x[2] = t * sin(t);
        break;
    case CUBE:
        cube(u, x);
        break;
    case MOEBIUS: {
        const double phi = 2 * pi * u[0], half = u[1] - 0.5;
        x[0] = (1 + half * cos(5 * phi)) * cos(phi);
        x[1] = (1 + half * cos(5 * phi)) * sin(phi);
        x[2] = half * sin(5 * phi);
        break;
    }
    default:
        x[0] = 100 * cos(t);
        x[1] = 100 * sin(t);
        x[2] = t;
        break;
    }
}

double *benchmark_sets_sample(int set, int64_t n, int64_t length, double memory, uint64_t seed, int32_t *text,
                              int32_t *position)
{
    enum { MOST = 11 };
    const int width = benchmark_sets[set].width, m = benchmark_sets[set].parameters;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("benchmark sets", (uint64_t)set));
    double *x = geodec_mem_new(n * width, sizeof *x), fast[MOST] = {0}, slow[MOST] = {0}, z[MOST], u[MOST];
    /* slow is a mean of fast, which has variance 1; this is the variance of slow */
    const double a = memory > 0 ? exp(-1 / memory) : 0,
                 variance = square(1 - a) / (1 - a * a) * (1 + 2 * a * a / (1 - a * a));
    for (int64_t i = 0; i < n; i++) {
        text[i] = (int32_t)(i / length);
        position[i] = (int32_t)(i % length);
        const int fresh = position[i] == 0, steps = fresh ? 1 + (int)(12 * memory) : 1;
        for (int j = 0; j < m; j++) {
            if (fresh) {
                fast[j] = geodec_rng_normal(&r);
                slow[j] = 0;
            }
            for (int s = 0; s < steps; s++) {
                fast[j] = a * fast[j] + sqrt(1 - a * a) * geodec_rng_normal(&r);
                slow[j] = a * slow[j] + (1 - a) * fast[j];
            }
            z[j] = slow[j] / sqrt(variance);
            u[j] = 0.5 * erfc(-z[j] / sqrt(2));
        }
        point(set, z, u, x + i * width);
    }
    return x;
}
