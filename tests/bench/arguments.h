/* Command line shared by the benchmarks: --quick, --isa NAME, --threads N, --only WHAT. */
#ifndef GEODEC_TESTS_BENCH_ARGUMENTS_H
#define GEODEC_TESTS_BENCH_ARGUMENTS_H

#include "session/model.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench_arguments {
    geodec_isa isa;
    int threads;
    bool quick;
    const char *only; /* "" = all */
} bench_arguments;

/* Prints a usage line and returns false on an error. name: of the program; what: the word for the values of --only. */
static inline bool bench_arguments_read(int argc, char **argv, const char *name, const char *what, bench_arguments *out)
{
    *out = (bench_arguments){.isa = GEODEC_ISA_AUTO, .threads = 1, .only = ""};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            out->quick = true;
        else if (strcmp(argv[i], "--isa") == 0 && i + 1 < argc) {
            const char *isa = argv[++i];
            for (int k = GEODEC_ISA_SCALAR; k <= GEODEC_ISA_AVX512; k++)
                if (strcmp(isa, geodec_kernels_isa_name((geodec_isa)k)) == 0) out->isa = (geodec_isa)k;
        } else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            out->threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            out->only = argv[++i];
        else {
            (void)fprintf(stderr, "usage: %s [--quick] [--only %s] [--isa NAME] [--threads N]\n", name, what);
            return false;
        }
    }
    return true;
}

#endif
