#include "cli/cli.h"

#include "base/mem.h"
#include "base/topology.h"
#include "cli/blas_memory.h"
#include "cli/live.h"
#include "cli/needs.h"
#include "cli/ranks.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "geodec/err.h"
#include "io/h5.h"
#include "io/inputs.h"
#include "linalg/lapack.h"

#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_OPTIONS = 80, COMMAND_LINE = 4096, FIRST_CODE = 1000 };

static const char listing_option[] = "options";
static const char bug_address[] = "Report bugs with the command line, the version and the input's geodec-info.";

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/* Refuses a value that is none of the choices, and names the nearest one. */
static geodec_status refuse_choice(const cli_option *o, const char *text, geodec_err *err)
{
    suggestion s = suggest_begin(text, strlen(text));
    for (const char *p = o->choices; *p; p += strspn(p, "|")) {
        const size_t n = strcspn(p, "|");
        suggest_compare(&s, p, n);
        p += n;
    }
    if (!s.best) GEODEC_FAIL(GEODEC_INVAL, "--%s: '%s' is not one of %s", o->name, text, o->choices);
    GEODEC_FAIL(GEODEC_INVAL, "--%s: '%s' is not one of %s; did you mean '%.*s'?", o->name, text, o->choices,
                (int)s.best_length, s.best);
}

static geodec_status parse_value(const cli_option *o, const char *text, geodec_err *err)
{
    char *end = NULL;
    const bool limited = o->min < o->max;
    errno = 0;
    switch (o->type) {
    case CLI_FLAG:
        *(bool *)o->target = true;
        break;
    case CLI_I64: {
        const long long v = strtoll(text, &end, 10);
        if (end == text || *end || errno) GEODEC_FAIL(GEODEC_INVAL, "--%s: '%s' is not a whole number", o->name, text);
        if (limited && ((double)v < o->min || (double)v > o->max))
            GEODEC_FAIL(GEODEC_RANGE, "--%s: %lld is outside %.0f to %.0f", o->name, v, o->min, o->max);
        *(int64_t *)o->target = v;
        break;
    }
    case CLI_U64: {
        const unsigned long long v = strtoull(text, &end, 10);
        if (end == text || *end || errno || strchr(text, '-'))
            GEODEC_FAIL(GEODEC_INVAL, "--%s: '%s' is not a whole number from 0", o->name, text);
        *(uint64_t *)o->target = v;
        break;
    }
    case CLI_F64: {
        const double v = strtod(text, &end);
        if (end == text || *end || !isfinite(v)) GEODEC_FAIL(GEODEC_INVAL, "--%s: '%s' is not a number", o->name, text);
        if (limited && (v < o->min || v > o->max))
            GEODEC_FAIL(GEODEC_RANGE, "--%s: %g is outside %g to %g", o->name, v, o->min, o->max);
        *(double *)o->target = v;
        break;
    }
    case CLI_STR:
    case CLI_FILE:
        *(const char **)o->target = text;
        break;
    case CLI_LIST: {
        cli_list *list = o->target;
        if (list->n == CLI_LIST_MAX)
            GEODEC_FAIL(GEODEC_RANGE, "--%s is given more than %d times", o->name, CLI_LIST_MAX);
        list->item[list->n++] = text;
        break;
    }
    case CLI_CHOICE: {
        const size_t n = strlen(text);
        const char *p = o->choices;
        for (; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
            if (n && strncmp(p, text, n) == 0 && (p[n] == '|' || !p[n])) break;
        if (!p) GEODEC_PASS(refuse_choice(o, text, err));
        *(const char **)o->target = text;
        break;
    }
    }
    return GEODEC_OK;
}

/* ---- canonical command line and help ---------------------------------------------------------------------------- */

const char *cli_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void shortest(double v, char *buf, size_t n)
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(buf, n, "%.*g", digits, v);
        if (strtod(buf, NULL) == v) return; /* the text reads back as the same number */
    }
}

/* The value as text, or NULL for a flag that is off or a string that is not set. */
static const char *value_text(const cli_option *o, char *buf, size_t n)
{
    switch (o->type) {
    case CLI_FLAG:
        return *(const bool *)o->target ? "" : NULL;
    case CLI_I64:
        (void)snprintf(buf, n, "%lld", (long long)*(const int64_t *)o->target);
        return buf;
    case CLI_U64:
        (void)snprintf(buf, n, "%llu", (unsigned long long)*(const uint64_t *)o->target);
        return buf;
    case CLI_F64:
        shortest(*(const double *)o->target, buf, n);
        return buf;
    case CLI_LIST:
        return NULL; /* one text for each of its values */
    case CLI_STR:
    case CLI_FILE:
    case CLI_CHOICE:
        break;
    }
    const char *s = *(const char *const *)o->target;
    return s && o->type == CLI_FILE ? cli_base_name(s) : s;
}

static void add_text(char *line, const char *fmt, ...) GEODEC_PRINTF(2, 3);
static void add_text(char *line, const char *fmt, ...)
{
    const size_t at = strlen(line);
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(line + at, COMMAND_LINE - at, fmt, ap);
    va_end(ap);
}

static void canonical_command(const cli *c, char *line)
{
    char value[64];
    line[0] = '\0';
    add_text(line, "%s --seed=%llu", c->tool->name, (unsigned long long)c->seed);
    for (int i = 0; i < c->tool->n_options; i++) {
        const cli_option *o = &c->tool->options[i];
        if (o->flags & CLI_VOLATILE) continue;
        const cli_list *list = o->type == CLI_LIST ? o->target : NULL;
        for (int k = 0; list && k < list->n; k++) add_text(line, " --%s=%s", o->name, list->item[k]);
        const char *text = value_text(o, value, sizeof value);
        if (!text) continue;
        add_text(line, o->type == CLI_FLAG ? " --%s%s" : " --%s=%s", o->name, text);
    }
    for (int i = 0; i < c->n_args; i++)
        add_text(line, " %s", c->tool->args_are_text ? c->args[i] : cli_base_name(c->args[i]));
}

enum { HELP_AT = 29, HELP_END = 118 }; /* columns of the texts of options */

/* Prints the words of `text` from column `at`, with line breaks as blanks. Returns the column after the last word. */
static int print_words(const char *text, int at)
{
    while (*text) {
        const int n = (int)strcspn(text, " \n");
        if (at > HELP_AT && at + 1 + n > HELP_END) {
            printf("\n%*s", HELP_AT, "");
            at = HELP_AT;
        } else if (at > HELP_AT) {
            printf(" ");
            at++;
        }
        printf("%.*s", n, text);
        at += n;
        text += n;
        text += strspn(text, " \n");
    }
    return at;
}

static void print_option(const cli_option *o)
{
    char letter[5] = "    ", left[96], value[64], text[512];
    const char *metavar = o->type == CLI_CHOICE ? o->choices : o->metavar ? o->metavar : "VALUE";
    const char *def = o->type == CLI_FLAG ? NULL : value_text(o, value, sizeof value);
    if (o->letter) (void)snprintf(letter, sizeof letter, "-%c, ", o->letter);
    if (o->type == CLI_FLAG)
        (void)snprintf(left, sizeof left, "%s--%s", letter, o->name);
    else
        (void)snprintf(left, sizeof left, "%s--%s=%s", letter, o->name, metavar);
    if (strlen(left) < HELP_AT - 3)
        printf("  %-*s", HELP_AT - 2, left);
    else
        printf("  %s\n%*s", left, HELP_AT, "");
    const int at = print_words(o->help, HELP_AT);
    if (def && *def && !strstr(o->help, "(default")) {
        (void)snprintf(text, sizeof text, "(default %s)", def);
        (void)print_words(text, at);
    }
    printf("\n");
}

static void print_help(const cli_tool *t, const cli_option *const *all, int n)
{
    printf("Usage: %s %s\n%s.\n", t->name, t->usage, t->purpose);
    if (t->description) printf("\n%s\n", t->description);
    printf("\nOptions:\n");
    for (int i = 0; i < n; i++)
        if (all[i]->name != listing_option) print_option(all[i]);
    printf("\nExit status: 0 ok; 1 operational failure; 2 usage; 3 input refused (kind, version, checksum, limits);\n"
           "4 a requested check failed; 5 not measured (too little data); 130 interrupted.\n");
    if (t->examples) printf("\nExamples:\n%s\n", t->examples);
    printf("\n%s\n", bug_address);
}

/* ---- table of options ------------------------------------------------------------------------------------------- */

static const char *value_kind(const cli_option *o)
{
    return o->type == CLI_FLAG ? "flag" : o->type == CLI_CHOICE ? "choice" : o->type == CLI_FILE ? "path" : "value";
}

/* Rows: "tool", name, topic's heading, purpose, files|none; then "option", name, letter, flag|choice|path|value,
 * choices, metavar, help for each. */
static void list_options(const cli_tool *t, const cli_option *const *all, int n)
{
    static const char *const heading[] = {NULL,
#define X(name, heading_) heading_,
                                          CLI_TOPICS(X)
#undef X
    };
    if (t->topic == CLI_TOPIC_NONE) {
        fprintf(stderr, "%s has no topic\n", t->name);
        exit(1);
    }
    printf("tool\t%s\t%d\t%s\t%s\t%s\n", t->name, (int)t->topic, heading[t->topic], t->purpose,
           t->max_args != 0 && !t->args_are_text ? "files" : "none");
    for (int i = 0; i < n; i++) {
        const cli_option *o = all[i];
        if (o->name == listing_option) continue;
        const char letter[2] = {o->letter ? o->letter : '-', '\0'};
        printf("option\t%s\t%s\t%s\t%s\t%s\t%s\n", o->name, letter, value_kind(o), o->choices ? o->choices : "-",
               o->metavar ? o->metavar : "-", o->help);
    }
}

/* ---- parsing ---------------------------------------------------------------------------------------------------- */

static int64_t default_threads(void)
{
    const char *names[] = {"GEODEC_THREADS", "OMP_NUM_THREADS"};
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);
        char *end = NULL;
        const long v = text ? strtol(text, &end, 10) : 0;
        if (text && end != text && !*end && v >= 1 && v <= 1024) return v;
    }
    const int64_t usable = ranks_threads(geodec_topology_usable());
    return usable > 1024 ? 1024 : usable;
}

enum { DONE = -1 };

/* Refuses a long option that is unknown or short for several, and names the nearest one. */
static geodec_status refuse_option(const char *word, const cli_option *const *all, int n, geodec_err *err)
{
    const size_t length = strcspn(word, "=");
    suggestion s = suggest_begin(word + 2, length - 2);
    int matches = 0;
    for (int i = 0; i < n; i++) {
        if (all[i]->name == listing_option) continue;
        matches += strncmp(all[i]->name, s.word, s.length) == 0;
        suggest_compare(&s, all[i]->name, strlen(all[i]->name));
    }
    const char *what = matches > 1 ? "option that is short for several" : "unknown option";
    if (!s.best) GEODEC_FAIL(GEODEC_INVAL, "%s '%.*s'", what, (int)length, word);
    GEODEC_FAIL(GEODEC_INVAL, "%s '%.*s'; did you mean '--%s'?", what, (int)length, word, s.best);
}

/* The model of a run is named by --model or as an argument, in every tool that takes one. Tools with an option take an
 * argument that ends in .gguf in its place; in tools with an argument, the value of --model becomes the last one. */
static void place_model(cli *c, const char *model, const cli_option *const *all, bool *given, int n)
{
    if (model) { /* its option stands before the arguments, so there is room */
        memmove(c->args - 1, c->args, (size_t)c->n_args * sizeof *c->args);
        c->args--;
        c->args[c->n_args++] = (char *)(uintptr_t)model;
        return;
    }
    const char *first = c->n_args > 0 && !c->tool->args_are_text && !c->tool->takes_model ? c->args[0] : "";
    const size_t length = strlen(first);
    if (length < 6 || strcmp(first + length - 5, ".gguf") != 0) return;
    for (int i = 0; i < n; i++) {
        if (strcmp(all[i]->name, "model") != 0 || given[i]) continue;
        *(const char **)all[i]->target = first;
        given[i] = true;
        c->args++;
        c->n_args--;
    }
}

/* Returns GEODEC_OK, DONE after --help or --version, or another status. */
static int parse(cli *c, bool *planned, int argc, char **argv, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli_tool *t = c->tool;
    bool help = false, version = false, verbose = false, listing = false;
    const char *model = NULL;
    const cli_option common[] = {
        OPT_FILE("model", 'm', &model, "FILE", "model as GGUF: another way to give the argument"),
        OPT_FLAG(
            "plan", 0, planned,
            "print what the run needs, memory and time first, and exit; creates no file (geodec-plan chooses sizes)"),
        OPT_I64("threads", 't', &c->threads, 1, 1024, "N",
                "worker threads; results do not depend on N (default: the usable processors, and not more than a quota "
                "of the control group)"),
        OPT_FLAG("pin", 0, &c->pin,
                 "bind each worker to one processor: cores before hyperthreads, alternating between nodes"),
        OPT_U64("seed", 0, &c->seed, "N", "seed of all random numbers"),
        OPT_FLAG("force", 0, &c->force, "replace existing outputs"),
        OPT_FLAG("quiet", 'q', &c->quiet, "print no summary and no progress"),
        OPT_FLAG("verbose", 'v', &verbose, "print more detail; given twice, also the chain of an error"),
        OPT_FLAG("help", 'h', &help, "print this help and exit"),
        OPT_FLAG("version", 0, &version, "print the version and exit"),
        OPT_FLAG(listing_option, 0, &listing, ""),
    };
    const cli_option *all[MAX_OPTIONS];
    bool given[MAX_OPTIONS] = {false};
    struct option longs[MAX_OPTIONS + 1];
    char shorts[2 * MAX_OPTIONS + 2] = ":";
    int n = 0;
    for (int i = 0; i < t->n_options && n < MAX_OPTIONS; i++) all[n++] = &t->options[i];
    for (int i = 0; i < CLI_COUNT(common) && n < MAX_OPTIONS; i++)
        if (!(common[i].target == &model && !t->takes_model) && !(common[i].target == planned && !t->plans))
            all[n++] = &common[i];
    for (int i = 0; i < n; i++) {
        const bool has_arg = all[i]->type != CLI_FLAG;
        longs[i] = (struct option){all[i]->name, has_arg ? required_argument : no_argument, NULL, FIRST_CODE + i};
        if (all[i]->letter) {
            const size_t at = strlen(shorts);
            shorts[at] = all[i]->letter;
            if (has_arg) shorts[at + 1] = ':';
        }
    }
    longs[n] = (struct option){0};
    opterr = 0;
    for (;;) {
        const int code = getopt_long(argc, argv, shorts, longs, NULL);
        if (code == -1) break;
        if (code == ':') GEODEC_THROW(GEODEC_INVAL, "option '%s' needs a value", argv[optind - 1]);
        int which = -1;
        if (code >= FIRST_CODE) which = code - FIRST_CODE;
        for (int i = 0; which < 0 && i < n; i++)
            if (all[i]->letter && all[i]->letter == code) which = i;
        if (which < 0 || code == '?') {
            if (optopt && optopt < FIRST_CODE) GEODEC_THROW(GEODEC_INVAL, "unknown option '-%c'", optopt);
            GEODEC_TRY(refuse_option(argv[optind - 1], all, n, err));
        }
        if (given[which] && (all[which]->flags & CLI_ONCE))
            GEODEC_THROW(GEODEC_INVAL, "--%s is given twice", all[which]->name);
        GEODEC_TRY(parse_value(all[which], optarg, err));
        given[which] = true;
        if (all[which]->target == &verbose) c->verbose++;
    }
    if (help || version || listing) {
        if (listing)
            list_options(t, all, n);
        else if (help)
            print_help(t, all, n);
        else
            printf("%s (geodec) %s\n", t->name, geodec_version());
        return DONE;
    }
    c->n_args = argc - optind;
    c->args = argv + optind;
    place_model(c, model, all, given, n);
    for (int i = 0; i < t->n_options; i++)
        if ((t->options[i].flags & CLI_REQUIRED) && !given[i])
            GEODEC_THROW(GEODEC_INVAL, "option --%s is required", t->options[i].name);
    if (c->n_args < t->min_args) GEODEC_THROW(GEODEC_INVAL, "an argument is missing; usage: %s %s", t->name, t->usage);
    if (t->max_args >= 0 && c->n_args > t->max_args)
        GEODEC_THROW(GEODEC_INVAL, "unexpected argument '%s'", c->args[t->max_args]);
done:
    return (int)st;
}

static const cli *running;
static bool reported; /* cli_each has printed the error */
static char command[COMMAND_LINE];

/* The tool, and the rank of a job. */
static const char *name_of(const cli_tool *tool)
{
    static char text[400];
    char rank[300];
    if (!ranks_name(rank, sizeof rank)) return tool->name;
    (void)snprintf(text, sizeof text, "%s: %s", tool->name, rank);
    return text;
}

int cli_main(int argc, char **argv, const cli_tool *tool, cli_run run)
{
    geodec_err error = {0}, *err = &error;
    geodec_needs needs;
    bool planned = false;
    cli c = {.tool = tool, .threads = default_threads(), .seed = 1, .command_line = command};
    report_streams();
    (void)setlocale(LC_NUMERIC, "C");
    report_signals();
    report_guard(tool->name);
    geodec_io_init();
    geodec_linalg_init();
    geodec_inputs_watch();

    int st = parse(&c, &planned, argc, argv, err);
    if (st == DONE) return report_close(tool->name, 0);
    if (st != GEODEC_OK) {
        report_error(tool->name, err, 0);
        fprintf(stderr, "%s: try '%s --help'\n", tool->name, tool->name);
        return report_close(tool->name, 2);
    }
    canonical_command(&c, command);
    c.hooks = report_hooks(tool->name, c.quiet, c.verbose);
    if (tool->topic != CLI_TOPIC_ARTIFACTS) st = (int)blas_memory_reserve(c.threads, err);
    if (st == GEODEC_OK)
        st =
            (int)geodec_pool_create_with(&(geodec_pool_options){.threads = (int)c.threads, .pin = c.pin}, &c.pool, err);
    running = &c;
    if (planned) needs_begin(&c, &needs);
    if (st == GEODEC_OK) st = (int)run(&c, err);
    if (st == GEODEC_OK && planned) st = (int)needs_print(&needs, err);
    if (st == GEODEC_OK) st = (int)geodec_inputs_check(err);
    geodec_pool_destroy(c.pool);
    live_end();
    report_progress_end();
    if (st != GEODEC_OK && !reported && ranks_report((geodec_status)st)) report_error(name_of(tool), err, c.verbose);
    ranks_end((geodec_status)st);
    if (st == GEODEC_IO && report_stop_asked()) st = GEODEC_INTERRUPTED; /* the signal ended a write */
    return report_close(tool->name, geodec_status_exit((geodec_status)st));
}

void cli_settled(const cli *c) { canonical_command(c, command); }

void cli_say(const cli *c, const char *fmt, ...)
{
    if (c->quiet || ranks_silent()) return;
    report_progress_end();
    fprintf(stderr, "%s: ", c->tool->name);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
}

void cli_warn(const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (running) geodec_hooks_log(&running->hooks, GEODEC_LOG_WARN, "%s", text);
}

geodec_provenance cli_provenance(const cli *c)
{
    return (geodec_provenance){
        .tool = c->tool->name, .command_line = c->command_line, .seed = c->seed, .blas_core = geodec_linalg_core()};
}

geodec_status cli_each(const cli *c, geodec_status (*fn)(const cli *c, const char *path, geodec_err *err),
                       geodec_err *err)
{
    geodec_status first = GEODEC_OK;
    for (int i = 0; i < c->n_args; i++) {
        geodec_err_clear(err);
        const geodec_status st = fn(c, c->args[i], err);
        if (st == GEODEC_OK) continue;
        (void)fflush(stdout); /* the output of earlier files comes first */
        report_error(c->tool->name, err, c->verbose);
        reported = true;
        if (first == GEODEC_OK) first = st;
        if (st == GEODEC_INTERRUPTED) break;
    }
    return first;
}

/* True if the path is this file, also under another name. */
static bool is_file(const char *path, const struct stat *file)
{
    struct stat s;
    return path && stat(path, &s) == 0 && s.st_dev == file->st_dev && s.st_ino == file->st_ino;
}

/* Refuses an output that this command also reads or writes twice: its content would be lost. */
static geodec_status check_others(const cli *c, const char *path, const struct stat *file, geodec_err *err)
{
    for (int i = 0; file && !c->tool->args_are_text && i < c->n_args; i++)
        if (is_file(c->args[i], file))
            GEODEC_FAIL(GEODEC_INVAL, "%s is an input of this command and cannot be an output", path);
    for (int i = 0; i < c->tool->n_options; i++) {
        const cli_option *o = &c->tool->options[i];
        if (o->type != CLI_FILE) continue;
        const char *other = *(const char *const *)o->target;
        if (!other || other == path) continue;
        if (!(o->flags & CLI_VOLATILE) && file && is_file(other, file))
            GEODEC_FAIL(GEODEC_INVAL, "%s is an input of this command (--%s) and cannot be an output", path, o->name);
        if ((o->flags & CLI_VOLATILE) && strcmp(other, path) == 0)
            GEODEC_FAIL(GEODEC_INVAL, "%s would be written twice (--%s)", path, o->name);
    }
    return GEODEC_OK;
}

/* Checks that the folder can be written, before the work begins. */
static geodec_status check_folder(const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *folder = NULL;
    GEODEC_STRDUP(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = '\0';
        if (access(folder, W_OK | X_OK) != 0) GEODEC_THROW(GEODEC_IO, "%s: %s: %s", path, folder, strerror(errno));
    }
done:
    geodec_mem_free(folder);
    return st;
}

geodec_status cli_may_write(const cli *c, const char *path, geodec_err *err)
{
    struct stat file;
    const bool there = stat(path, &file) == 0;
    GEODEC_PASS(check_others(c, path, there ? &file : NULL, err));
    if (there && S_ISDIR(file.st_mode)) GEODEC_FAIL(GEODEC_IO, "%s: is a folder, not a file", path);
    if (there && !S_ISREG(file.st_mode)) GEODEC_FAIL(GEODEC_IO, "%s: not a regular file", path);
    if (there && !c->force) GEODEC_FAIL(GEODEC_EXISTS, "%s exists; --force replaces it", path);
    if (!c->needs) GEODEC_PASS(check_folder(path, err)); /* a plan writes nothing: the folder may come later */
    return GEODEC_OK;
}
