/* Common part of all tools. One table of options is the source of parsing, --help, the canonical command line and shell
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
 * measured (too little data), 130 interrupted. Options common to all tools: --threads, --pin, --seed, --force, --quiet,
 * --verbose, --help, --version; and --plan of tools that have a plan. The option --options, which --help does not list,
 * prints the tool and its options as a table. The build makes the stages of `geodec --help`, the NAME lines of the
 * manual pages and the shell completion from this table. */
#ifndef GEODEC_TOOLS_CLI_CLI_H
#define GEODEC_TOOLS_CLI_CLI_H

#include "artifact/artifact.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/needs.h"
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
    CLI_LIST,   /* cli_list *: the option may be given several times */
} cli_type;

enum {
    CLI_VOLATILE = 1, /* does not change results; not in the canonical command line (paths of outputs, reports) */
    CLI_REQUIRED = 2, /* must be given */
    CLI_ONCE = 4,     /* a text of which a second one would be lost; of other options the last one counts */
};

/* The values of an option that may be given several times, in their order. All others are given once. */
enum { CLI_LIST_MAX = 64 };
typedef struct cli_list {
    int n;
    const char *item[CLI_LIST_MAX];
} cli_list;

typedef struct cli_option {
    const char *name; /* long name without dashes */
    char letter;      /* 0 = none */
    cli_type type;
    unsigned flags;
    void *target;    /* holds the default before parsing */
    double min, max; /* I64, F64; both 0 = no limits */
    const char *choices;
    const char *metavar;
    const char *help; /* one sentence without a final stop; --help adds the default */
} cli_option;

/* One row of an option table. letter: 0 = none. The compiler checks the type of the target. Further members follow the
 * help: `.flags = CLI_REQUIRED`. */
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
#define OPT_LIST(name_, letter_, target_, metavar_, ...)                                                               \
    CLI_ROW(CLI_LIST, cli_list, name_, letter_, target_, .metavar = metavar_, .help = __VA_ARGS__)
#define OPT_FILE(name_, letter_, target_, metavar_, ...)                                                               \
    CLI_ROW(CLI_FILE, const char *, name_, letter_, target_, .metavar = metavar_, .help = __VA_ARGS__)
#define OPT_CHOICE(name_, letter_, target_, choices_, metavar_, ...)                                                   \
    CLI_ROW(CLI_CHOICE, const char *, name_, letter_, target_, .choices = choices_, .metavar = metavar_,               \
            .help = __VA_ARGS__)

/* The headings of `geodec --help`, in their order. */
#define CLI_TOPICS(X)                                                                                                  \
    X(DECODING, "Text generation with drafters")                                                                       \
    X(DRAFTING, "Drafting artifacts")                                                                                  \
    X(MODELS, "Models and vocabularies")                                                                               \
    X(MEASURES, "Measurements of a model")                                                                             \
    X(STATES, "Hidden states")                                                                                         \
    X(GEOMETRY, "Geometry of states")                                                                                  \
    X(RECORDS, "Records of trajectories")                                                                              \
    X(EXPERIMENTS, "Experiments, each with its control")                                                               \
    X(ARTIFACTS, "Artifacts")
typedef enum cli_topic {
    CLI_TOPIC_NONE, /* not set: --options and the build fail */
#define X(name, heading) CLI_TOPIC_##name,
    CLI_TOPICS(X)
#undef X
} cli_topic;

typedef struct cli_tool {
    const char *name; /* geodec-metric */
    cli_topic topic;
    const char *purpose;     /* one noun or verb phrase, no capital, no final stop */
    const char *usage;       /* after the tool's name */
    const char *description; /* paragraphs, or NULL */
    const char *examples;    /* lines, or NULL */
    const cli_option *options;
    int n_options;
    int min_args, max_args; /* positional arguments; max_args < 0 = any */
    bool args_are_text;     /* positional arguments are not paths */
    bool plans;             /* the tool has --plan: run fills c->needs */
    /* The last argument is a model; --model gives it too. In a tool with an option --model of its own, an argument that
     * ends in .gguf and comes first gives that. */
    bool takes_model;
} cli_tool;

/* State of a tool; run() only reads it. */
typedef struct cli {
    const cli_tool *tool;
    int n_args;
    char **args;       /* positional arguments */
    int64_t threads;   /* --threads, default: GEODEC_THREADS, else OMP_NUM_THREADS, else the usable processors */
    bool pin;          /* --pin: each worker stays on one processor */
    uint64_t seed;     /* --seed, default 1 */
    bool force, quiet; /* --force: outputs may be replaced */
    /* --plan: run checks options and inputs as always, adds to this what the work needs (needs.h) and returns before it
     * creates a file. NULL: run does the work. */
    geodec_needs *needs;
    int64_t verbose;
    geodec_pool *pool;        /* `threads` workers */
    geodec_hooks hooks;       /* stderr log; progress on a terminal; stops on SIGINT/SIGTERM */
    const char *command_line; /* canonical: every result-changing option with its value, last path components only */
} cli;

typedef geodec_status (*cli_run)(const cli *c, geodec_err *err);

#define CLI_OUTPUT_OPTION(var, default_name)                                                                           \
    OPT_FILE("output", 'o', &(var), "FILE", "write to FILE (default " default_name ")", .flags = CLI_VOLATILE)
/* Options that several tools share. */
#define CLI_MODEL_OPTION(var) OPT_FILE("model", 'm', &(var), "FILE", "model as GGUF", .flags = CLI_REQUIRED)
#define CLI_ARTIFACTS_OPTION(var)                                                                                      \
    OPT_FILE("artifacts", 0, &(var), "DIR",                                                                            \
             "folder of this model's drafting artifacts: flowmap.h5 (geodec-bake), onedecode.h5, rollout.h5; none: "   \
             "use no artifacts (default: the artifacts made by geodec-prepare, if found)")
#define CLI_ISA_OPTION(var)                                                                                            \
    OPT_CHOICE("isa", 0, &(var), "auto|scalar|avx2|avx512", "SET", "instruction set for the passes of the model")
#define CLI_COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
/* Members of a cli_tool: its table of options, and the numbers of positional arguments. */
#define CLI_TAKES(table, min_, max_)                                                                                   \
    .options = (table), .n_options = CLI_COUNT(table), .min_args = (min_), .max_args = (max_)

/* Parses, runs, reports, closes stdout; returns the exit code. */
int cli_main(int argc, char **argv, const cli_tool *tool, cli_run run);
/* A main function that first sets the options to the library's defaults, which need a function call. */
#define CLI_MAIN(defaults_)                                                                                            \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        defaults_;                                                                                                     \
        return cli_main(argc, argv, &tool, run);                                                                       \
    }

/* The last component of a path, as a pointer into it. */
const char *cli_base_name(const char *path);
/* For run(), after it has replaced the value "auto" of an option by its choice: updates the canonical command line. */
void cli_settled(const cli *c);
/* For run(): prints one summary line on stderr, unless --quiet. */
void cli_say(const cli *c, const char *fmt, ...) GEODEC_PRINTF(2, 3);
/* For helpers without a cli: a warning of the running tool, one line on stderr, unless --quiet. */
void cli_warn(const char *fmt, ...) GEODEC_PRINTF(1, 2);
/* Provenance of this run without inputs and fingerprints: tool, canonical command line, seed, BLAS kernels. */
geodec_provenance cli_provenance(const cli *c);
/* Runs fn on every positional argument. A failure is reported at once, on its own line. The remaining arguments are
 * processed, unless the run was interrupted. Returns the status of the first failure; cli_main does not report it
 * again.
 */
geodec_status cli_each(const cli *c, geodec_status (*fn)(const cli *c, const char *path, geodec_err *err),
                       geodec_err *err);
/* Checks an output before the work. GEODEC_EXISTS: it exists, and --force is not given. GEODEC_INVAL: this command also
 * reads it, or writes it twice. GEODEC_IO: it is a folder, or its folder cannot be written. */
geodec_status cli_may_write(const cli *c, const char *path, geodec_err *err) GEODEC_MUST_USE;

#endif
