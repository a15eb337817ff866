/* flip IN FOLDER NAME SEED FIRST COUNT: writes copies of the file IN with one bit changed, FOLDER/NUMBER-NAME, for the
 * draws FIRST, FIRST+1, .. of the seed (splitmix64). Prints the bit of each. Status 1 on an error. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t draw(uint64_t seed, uint64_t i)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + (i + 1) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 7) return 1;
    FILE *in = fopen(argv[1], "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0) return 1;
    const long size = ftell(in);
    unsigned char *data = size > 0 ? malloc((size_t)size) : NULL;
    rewind(in);
    if (!data || fread(data, 1, (size_t)size, in) != (size_t)size) return 1;
    const unsigned long first = strtoul(argv[5], NULL, 10), count = strtoul(argv[6], NULL, 10);
    for (unsigned long i = first; i < first + count; i++) {
        const uint64_t bit = draw(strtoull(argv[4], NULL, 10), i) % ((uint64_t)size * 8);
        (void)snprintf(path, sizeof path, "%s/%lu-%s", argv[2], i, argv[3]);
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        FILE *out = fopen(path, "wb");
        if (!out || fwrite(data, 1, (size_t)size, out) != (size_t)size || fclose(out) != 0) return 1;
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        printf("%lu\t%llu\n", i, (unsigned long long)bit);
    }
    (void)fclose(in);
    free(data);
    return 0;
}
