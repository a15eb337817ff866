/* Runs a fuzz target once on every file of the folders given: `fuzz-gguf corpus/gguf`. Prints the number of inputs. */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_INPUT = 1 << 22 };

static int run_file(const char *path, uint8_t *buffer)
{
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    const size_t n = fread(buffer, 1, LARGEST_INPUT, f);
    const int ok = !ferror(f);
    (void)fclose(f);
    if (ok) (void)LLVMFuzzerTestOneInput(buffer, n);
    return ok;
}

int main(int argc, char **argv)
{
    uint8_t *buffer = malloc(LARGEST_INPUT);
    int done = 0, failed = 0;
    if (!buffer) return 1;
    for (int i = 1; i < argc; i++) {
        struct dirent **list = NULL;
        const int n = scandir(argv[i], &list, NULL, alphasort);
        for (int k = 0; k < n; k++) {
            char path[4096];
            (void)snprintf(path, sizeof path, "%s/%s", argv[i], list[k]->d_name);
            if (list[k]->d_name[0] != '.') {
                if (run_file(path, buffer))
                    done++;
                else
                    failed++;
            }
            free(list[k]);
        }
        free(list);
    }
    free(buffer);
    printf("%d inputs, %d unreadable\n", done, failed);
    return done > 0 && failed == 0 ? 0 : 1;
}
