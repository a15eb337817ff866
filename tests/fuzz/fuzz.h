/* Shared code of the fuzz targets. A target is one LLVMFuzzerTestOneInput: with libFuzzer (`make fuzz`) it searches for
 * inputs, with replay.c (`make check`) it runs the kept corpus. */
#ifndef GEODEC_TESTS_FUZZ_H
#define GEODEC_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every byte, so that a sanitizer checks the returned memory. */
static inline void fuzz_use(const void *p, size_t n)
{
    extern volatile unsigned char fuzz_sink;
    const unsigned char *b = p;
    unsigned char x = 0;
    for (size_t i = 0; i < n; i++) x ^= b[i];
    fuzz_sink = x;
}

/* A property of the target that must hold. */
static inline void fuzz_must(bool ok, const char *what)
{
    if (ok) return;
    (void)fprintf(stderr, "broken: %s\n", what);
    abort();
}

/* Writes a file of n bytes, for readers that open by name (HDF5 needs a name in a folder); false on an error. */
static inline bool fuzz_file(const uint8_t *data, size_t n, char path[64])
{
    (void)snprintf(path, 64, "%s/geodec-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0) return false;
    const bool whole = write(fd, data, n) == (ssize_t)n;
    (void)close(fd);
    if (!whole) (void)unlink(path);
    return whole;
}

/* Marks bytes that must not be touched (address sanitizer only). */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_ADDRESS
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FUZZ_ADDRESS
#endif
#if defined(FUZZ_ADDRESS)
#include <sanitizer/asan_interface.h>
static inline void fuzz_guard(const uint8_t *from, const uint8_t *to)
{
    __asan_poison_memory_region(from, (size_t)(to - from));
}
static inline void fuzz_unguard(const uint8_t *from, const uint8_t *to)
{
    __asan_unpoison_memory_region(from, (size_t)(to - from));
}
#else
static inline void fuzz_guard(const uint8_t *from, const uint8_t *to) { (void)from, (void)to; }
static inline void fuzz_unguard(const uint8_t *from, const uint8_t *to) { (void)from, (void)to; }
#endif

#endif
