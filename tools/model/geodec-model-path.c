/* geodec-model-path: where the embedded models are. */
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/embedded.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool every, folder_only;
static const cli_option options[] = {
    OPT_FLAG("all", 'a', &every, "print the paths of all embedded models"),
    OPT_FLAG("folder", 0, &folder_only, "print the folder of the installed data"),
};

static const cli_tool tool = {
    .name = "geodec-model-path",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "print the path of an embedded model",
    .usage = "[OPTIONS] [NAME]",
    .description =
        "Without NAME, the path of the default model, geodec-stories-f16. NAME is the name of another embedded model,\n"
        "without .gguf. The models are looked for next to the program, so that an installation may be moved.",
    .examples = "  geodec-model-path\n  geodec-decode --model \"$(geodec-model-path geodec-mixture-f16)\" -p 'One day'",
    CLI_TAKES(options, 0, 1),
    .args_are_text = true,
};

static int is_model(const struct dirent *d)
{
    const size_t n = strlen(d->d_name);
    return n > 5 && strcmp(d->d_name + n - 5, ".gguf") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static geodec_status print_all(const char *folder, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    struct dirent **entry = NULL;
    char *models = NULL;
    int n = 0;
    GEODEC_TRY(geodec_mem_print(&models, err, "%s/model", folder));
    n = scandir(models, &entry, is_model, by_name);
    if (n < 0) GEODEC_THROW(GEODEC_IO, "%s: %s", models, strerror(errno));
    for (int i = 0; i < n; i++) printf("%s/%s\n", models, entry[i]->d_name);
done:
    for (int i = 0; i < n; i++) free(entry[i]);
    free((void *)entry);
    geodec_mem_free(models);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    if (every + folder_only + c->n_args > 1) GEODEC_THROW(GEODEC_INVAL, "give one of NAME, --all and --folder");
    if (every || folder_only)
        GEODEC_TRY(embedded_folder(&path, err));
    else
        GEODEC_TRY(embedded_model(c->n_args ? c->args[0] : NULL, &path, err));
    if (every)
        GEODEC_TRY(print_all(path, err));
    else
        puts(path);
done:
    geodec_mem_free(path);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
