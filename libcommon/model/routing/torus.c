#include "routing/torus.h"

#include <math.h>
#include <stdlib.h>

enum { AXES = GEODEC_TORUS_AXES };
static const double turn = 6.28318530717958647692;

void geodec_torus_place(const int32_t size[AXES], int32_t id, float position[AXES])
{
    const int32_t at[AXES] = {id % size[0], id / size[0] % size[1], id / size[0] / size[1]};
    for (int a = 0; a < AXES; a++) position[a] = ((float)at[a] + 0.5f) / (float)size[a];
}

/* The fraction of u, in [0, 1), also for numbers so small below 0 that u - floor(u) rounds to 1. */
static float wrapped(float u)
{
    const float f = u - floorf(u);
    return f >= 0 && f < 1 ? f : 0;
}

void geodec_torus_project(geodec_torus_projection p, const float *u, float z[AXES])
{
    for (int a = 0; a < AXES; a++)
        z[a] =
            p == GEODEC_TORUS_MOD ? wrapped(u[a]) : wrapped((float)(atan2((double)u[a], (double)u[AXES + a]) / turn));
}

float geodec_torus_distance2(const float a[AXES], const float b[AXES])
{
    float sum = 0;
    for (int i = 0; i < AXES; i++) {
        const float straight = fabsf(a[i] - b[i]), around = 1 - straight, d = straight < around ? straight : around;
        sum += d * d;
    }
    return sum;
}

/* The neighbour of id one step up an axis, or -1 when that edge is counted from the other end or there is none. */
static int32_t step_up(const int32_t size[AXES], int32_t id, int axis)
{
    int32_t at[AXES] = {id % size[0], id / size[0] % size[1], id / size[0] / size[1]};
    if (size[axis] == 1 || (size[axis] == 2 && at[axis] == 1)) return -1;
    at[axis] = (at[axis] + 1) % size[axis];
    return (at[2] * size[1] + at[1]) * size[0] + at[0];
}

static int by_ends(const void *x, const void *y)
{
    const int32_t *a = x, *b = y;
    return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

int64_t geodec_torus_edges(const int32_t size[AXES], int32_t (*edge)[2])
{
    const int32_t n = size[0] * size[1] * size[2];
    int64_t count = 0;
    for (int32_t id = 0; id < n; id++)
        for (int axis = 0; axis < AXES; axis++) {
            const int32_t other = step_up(size, id, axis);
            if (other < 0) continue;
            if (edge) {
                edge[count][0] = id < other ? id : other;
                edge[count][1] = id < other ? other : id;
            }
            count++;
        }
    if (edge) qsort(edge, (size_t)count, sizeof *edge, by_ends);
    return count;
}
