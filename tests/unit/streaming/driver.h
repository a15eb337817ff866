/* Plays the part of a decoder: routes, foretellings, and reads that finish in random order. Everything follows from
 * the seed. */
#ifndef GEODEC_TESTS_STREAMING_DRIVER_H
#define GEODEC_TESTS_STREAMING_DRIVER_H

#include "streaming/slots.h"

typedef struct driver {
    int32_t n_layer, n_expert, n_used, passes;
    uint64_t seed;
    double zipf;    /* exponent of the popularity of experts; 0: uniform */
    double keep;    /* share of visits that use the experts of the last visit of the layer */
    int32_t ahead;  /* layers that are foretold at each visit */
    double right;   /* share of foretold experts that will be needed */
    bool expects;   /* says before each pass what is expected of each layer */
    double fails;   /* share of reads that fail */
    double cancels; /* share of recalls in which the read has not begun */
    double wide;    /* share of passes with up to all experts needed */
    double gives;   /* share of passes before which slots are given up, while more than n_used + 2 are left */
    bool lazy;      /* takes and releases one expert at a time, with reads between them */
    bool full;      /* all reads of a visit begin, and end, before anything is taken */
} driver;

/* Experts of a visit, [n_expert], distinct; returns their number. A function of (d, pass, layer). */
int32_t driver_route(const driver *d, int32_t pass, int32_t layer, int32_t *expert);
/* What is expected of a layer before a pass, [n_expert] shares. */
void driver_expected(const driver *d, int32_t pass, int32_t layer, float *share);
/* Runs all passes. Fails the running test when the machine breaks a rule, or a demand waits for ever. */
void driver_run(const driver *d, geodec_slots *s);
/* For options.next_use, with ctx a driver_next. Only for runs without wide passes that visit all layers. */
typedef struct driver_next {
    const driver *d;
    const geodec_slots *s; /* set after creation */
} driver_next;
int64_t driver_next_use(void *ctx, int32_t layer, int32_t expert);

#endif
