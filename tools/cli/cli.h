/* Shared by the main function of every tool: one option table drives parsing, --help, the canonical command line and
 * completion.
 *
 *     static const char *output; static int64_t k = 16;
 *     static const cli_option options[] = {
 *         CLI_OUTPUT_OPTION(output, "metric.h5"),
 *         OPT_I64("k", 'k', &k, 1, 4096, "N", "neighbours of each point"),
 *     };
 *     static const cli_tool tool = {.name = "geodec-metric", .purpose = "...", .usage = "[OPTIONS] CLOUD.h5", ...};
 *     static geodec_status run(const cli *c, geodec_err *err) { ... }
 *     int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
 *
 * Exit codes (all tools): 0 ok, 1 operational failure, 2 usage, 3 input refused, 4 a requested check failed, 5 not
 * measured (too little data), 130 interrupt. Options common to all tools: --threads, --pin, --seed, --force, --quiet,
 * --verbose, --help, --version; and, not in --help, --options: the tool and its options as a table, from which the
 * build makes the stages of `geodec --help`, the NAME lines of the man pages and the completion of shells. */
#ifndef GEODEC_TOOLS_CLI_CLI_H
#define GEODEC_TOOLS_CLI_CLI_H

#include "artifact/artifact.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum cli_type {
    CLI_FLAG,   /* bool *target; no argument */
    CLI_I64,    /* int64_t *, min..max checked */
    CLI_U64,    /* uint64_t *, any value */
    CLI_F64,    /* double *, finite, min..max checked */
    CLI_STR,    /* const char ** */
    CLI_FILE,   /* const char **, a path: only its last component enters the canonical command line */
    CLI_CHOICE, /* const char **, one of `choices` separated by '|' */
} cli_type;

enum {
    CLI_VOLATILE = 1, /* does not change results: left out of the canonical command line (paths of outputs, reports) */
    CLI_REQUIRED = 2, /* must be given */
};

typedef struct cli_option {
    const char *name; /* long name without dashes */
    char letter;      /* 0 = none */
    cli_type type;
    unsigned flags;
    void *target;    /* holds the default before parsing */
    double min, max; /* I64, F64; both 0 = no limits */
    const char *choices;
    const char *metavar;
    const char *help; /* one sentence without final stop; the default is added by the help printer */
} cli_option;

/* One row of an option table. letter: 0 = none. The type of the target is checked. After the help come further
 * members: `.flags = CLI_REQUIRED`. */
#define CLI_ROW(type_, ctype_, name_, letter_, target_, ...)                                                           \
    {                                                                                                                  \
        .name = (name_), .letter = (letter_), .type = (type_), .target = 1 ? (target_) : (ctype_ *)0, __VA_ARGS__      \
    }
#define OPT_FLAG(name_, letter_, target_, ...) CLI_ROW(CLI_FLAG, bool, name_, letter_, target_, .help = __VA_ARGS__)
#define OPT_I64(name_, letter_, target_, min_, max_, metavar_, ...)                                                    \
    CLI_ROW(CLI_I64, int64_t, name_, letter_, target_, .min = min_, .max = max_, .metavar = metavar_,                  \
            .help = __VA_ARGS__)
#define OPT_U64(name_, letter_, target_, metavar_, ...)                                                                \
    CLI_ROW(CLI_U64, uint64_t, name_, letter_, target_, .metavar = metavar_, .help = __VA_ARGS__)
#define OPT_F64(name_, letter_, target_, min_, max_, metavar_, ...)                                                    \
    CLI_ROW(CLI_F64, double, name_, letter_, target_, .min = min_, .max = max_, .metavar = metavar_,                   \
            .help = __VA_ARGS__)
#define OPT_STR(name_, letter_, target_, metavar_, ...)                                                                \
    CLI_ROW(CLI_STR, const char *, name_, letter_, target_, .metavar = metavar_, .help = __VA_ARGS__)
#define OPT_FILE(name_, letter_, target_, metavar_, ...)                                                               \
    CLI_ROW(CLI_FILE, const char *, name_, letter_, target_, .metavar = metavar_, .help = __VA_ARGS__)
#define OPT_CHOICE(name_, letter_, target_, choices_, metavar_, ...)                                                   \
    CLI_ROW(CLI_CHOICE, const char *, name_, letter_, target_, .choices = choices_, .metavar = metavar_,               \
            .help = __VA_ARGS__)

/* A name that stands for values of options, each as text. NULL values are skipped. */
enum { CLI_PRESET_MAX = 6 };
typedef struct cli_preset {
    const char *name;
    struct {
        const char *option, *value;
    } set[CLI_PRESET_MAX];
} cli_preset;

/* The headings of `geodec --help`, in their order. */
#define CLI_TOPICS(X)                                                                                                  \
    X(DECODING, "Text from a model, faster by drafting")                                                               \
    X(TABLES, "Drafting artifacts")                                                                                    \
    X(MODELS, "Models and vocabularies")                                                                               \
    X(MEASURES, "Measures of a model")                                                                                 \
    X(STATES, "Hidden states")                                                                                         \
    X(GEOMETRY, "Geometry of states")                                                                                  \
    X(RECORDS, "Records of trajectories")                                                                              \
    X(EXPERIMENTS, "Experiments, each with its control")                                                               \
    X(ARTIFACTS, "Artifacts")
typedef enum cli_topic {
    CLI_TOPIC_NONE, /* forgotten: --options fails, and the build with it */
#define X(name, heading) CLI_TOPIC_##name,
    CLI_TOPICS(X)
#undef X
} cli_topic;

typedef struct cli_tool {
    const char *name; /* geodec-metric */
    cli_topic topic;
    const char *purpose;     /* one line, small letters, no final stop */
    const char *usage;       /* after the tool's name */
    const char *description; /* paragraphs, or NULL */
    const char *examples;    /* lines, or NULL */
    const cli_option *options;
    int n_options;
    int min_args, max_args; /* positional arguments; max_args < 0 = any */
    bool args_are_text;     /* positional arguments are not paths */
    const char **preset;    /* target of --preset, NULL = the tool has none */
    const cli_preset *presets;
    int n_presets;
} cli_tool;

/* The state handed to run(): read-only there. */
typedef struct cli {
    const cli_tool *tool;
    int n_args;
    char **args;       /* positional arguments */
    int64_t threads;   /* --threads, default: GEODEC_THREADS, else OMP_NUM_THREADS, else the usable processors */
    bool pin;          /* --pin: workers stay on one processor each */
    uint64_t seed;     /* --seed, default 1 */
    bool force, quiet; /* --force: outputs may be replaced */
    int64_t verbose;
    geodec_pool *pool;        /* `threads` workers */
    geodec_hooks hooks;       /* stderr log; progress on a terminal; stops on SIGINT/SIGTERM */
    const char *command_line; /* canonical: every result-changing option with its value, last path components only */
} cli;

typedef geodec_status (*cli_run)(const cli *c, geodec_err *err);

#define CLI_OUTPUT_OPTION(var, default_name)                                                                           \
    OPT_FILE("output", 'o', &(var), "FILE", "write to FILE (default " default_name ")", .flags = CLI_VOLATILE)
/* Options several tools share, in one wording. */
#define CLI_MODEL_OPTION(var) OPT_FILE("model", 'm', &(var), "FILE", "model as GGUF", .flags = CLI_REQUIRED)
#define CLI_ARTIFACTS_OPTION(var)                                                                                      \
    OPT_FILE("artifacts", 0, &(var), "DIR",                                                                            \
             "folder of this model's drafting artifacts: flowmap.h5 (geodec-bake), onedecode.h5, rollout.h5; none: "   \
             "without "                                                                                                \
             "(default: those that geodec-prepare made, if there are any)")
#define CLI_ISA_OPTION(var)                                                                                            \
    OPT_CHOICE("isa", 0, &(var), "auto|scalar|avx2|avx512", "SET", "instruction set of the model's passes")
#define CLI_COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
/* In a cli_tool: its table of options, and how many positional arguments it takes. */
#define CLI_TAKES(table, min_, max_)                                                                                   \
    .options = (table), .n_options = CLI_COUNT(table), .min_args = (min_), .max_args = (max_)

/* Parses, runs, reports, closes stdout; returns the exit code. */
int cli_main(int argc, char **argv, const cli_tool *tool, cli_run run);
/* A main that first sets the options to the library's defaults, which no initialiser can call. */
#define CLI_MAIN(defaults_)                                                                                            \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        defaults_;                                                                                                     \
        return cli_main(argc, argv, &tool, run);                                                                       \
    }

/* The last component of a path: inside it. */
const char *cli_base_name(const char *path);
/* In run(), after a choice left to the tool was put in the place of an option's word (auto): the canonical command line
 * names it from now on. */
void cli_settled(const cli *c);
/* In run(): one summary line on stderr unless --quiet. */
void cli_say(const cli *c, const char *fmt, ...) GEODEC_PRINTF(2, 3);
/* Provenance of this run without inputs and fingerprints: tool, canonical command line, seed, BLAS kernels. */
geodec_provenance cli_provenance(const cli *c);
/* Runs fn on every positional argument. A failure is reported at once, on a line of its own, and does not stop the
 * others (an interruption does). Returns the first failure's status; cli_main does not report it again. */
geodec_status cli_each(const cli *c, geodec_status (*fn)(const cli *c, const char *path, geodec_err *err),
                       geodec_err *err);
/* Before the work: refuses an output that exists, unless --force (GEODEC_EXISTS); that this command reads as well or
 * writes twice (GEODEC_INVAL); that is a folder or lies in none that can be written (GEODEC_IO). */
geodec_status cli_may_write(const cli *c, const char *path, geodec_err *err) GEODEC_MUST_USE;

#endif
