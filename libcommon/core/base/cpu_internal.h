/* Internal: what this processor can do. Every table of functions for an instruction set is chosen by this mask. */
#ifndef GEODEC_BASE_CPU_INTERNAL_H
#define GEODEC_BASE_CPU_INTERNAL_H

/* Bits of the mask. A bit is set only if the operating system keeps the registers. From VNNI on, AVX512 is set too. */
enum {
    GEODEC__CPU_CRC32 = 1 << 0,  /* SSE 4.2 */
    GEODEC__CPU_AVX2 = 1 << 1,   /* AVX2, FMA and F16C */
    GEODEC__CPU_AVX512 = 1 << 2, /* those of AVX2, and AVX-512 F, BW, VL and DQ */
    GEODEC__CPU_VNNI = 1 << 3,
    GEODEC__CPU_IFMA = 1 << 4,
    GEODEC__CPU_VBMI = 1 << 5,
    GEODEC__CPU_POPCOUNT = 1 << 6, /* AVX-512 VPOPCNTDQ */
    GEODEC__CPU_AMD19H = 1 << 7,   /* no instruction: AMD's family of Zen 3 and 4 */
};

/* The mask; 0 on other architectures. The processor is asked once: a question takes microseconds in a virtual machine.
 * For any thread. */
unsigned geodec__cpu(void);

#endif
