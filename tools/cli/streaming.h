/* Options of the tools that run a model: experts on disk under a memory budget (session/streamed.h). */
#ifndef GEODEC_TOOLS_CLI_STREAMING_H
#define GEODEC_TOOLS_CLI_STREAMING_H

#include "cli/cli.h"
#include "session/streamed.h"

typedef struct streaming_words {
    const char *ram, *io, *experts;
    double throttle;     /* MB/s */
    const char *ternary; /* NULL: exact */
    bool plan;
} streaming_words;
extern streaming_words streaming;

/* A model's text does not depend on them, so they are not in the canonical command line. */
#define CLI_STREAMING_OPTIONS                                                                                          \
    OPT_FLAG("plan", 0, &streaming.plan, "print what --ram means for this model, and stop before any weight is read",  \
             .flags = CLI_VOLATILE),                                                                                   \
        CLI_STREAMING_OPTIONS_OF_PLAN
/* CLI_STREAMING_OPTIONS for a tool that has a plan of its own (cli_tool.plans). With --ram the plan is that of the
 * experts. */
#define CLI_STREAMING_OPTIONS_OF_PLAN                                                                                  \
    OPT_STR("ram", 0, &streaming.ram, "SIZE|auto",                                                                     \
            "memory for weights, cache and experts (as 900M or 1.5G): experts that do not fit are read from the file " \
            "when they are needed; auto: from the limit of the control group (default: all of a GGUF in memory; auto " \
            "for a store)",                                                                                            \
            .flags = CLI_VOLATILE),                                                                                    \
        OPT_CHOICE(                                                                                                    \
            "io", 0, &streaming.io, "direct|buffered|mmap", "MODE",                                                    \
            "with --ram: direct: reads past the page cache; buffered: through it; mmap: a mapped file, without "       \
            "a budget, for comparison",                                                                                \
            .flags = CLI_VOLATILE),                                                                                    \
        OPT_F64("io-throttle", 0, &streaming.throttle, 0, 1e6, "MB/s",                                                 \
                "with --ram: read no faster than this, as a slow disk (0: as fast as possible)",                       \
                .flags = CLI_VOLATILE),                                                                                \
        OPT_CHOICE("ternary", 0, &streaming.ternary, "exact|add|int8", "FORM",                                         \
                   "of a store of ternary experts: exact: the bits of the weights that were packed; add: sums of "     \
                   "float32, then the scale; int8: inputs rounded to 8 bits (default exact)"),                         \
        OPT_STR("experts", 0, &streaming.experts, "SETTINGS",                                                          \
                "with --ram: settings joined by commas: evict=POLICY, ahead=PREDICTOR, least=P (prefetch from this "   \
                "probability on), most=N (slots of prefetches), slots=N (instead of --ram), quota=yes|no, "            \
                "engine=io_uring|threads, map=FILE (flowmap.h5 with routes), foresight=FILE (its calibration), "       \
                "price=foretold|chance|none (of drafts when their length adapts), "                                    \
                "differences=adaptive|off|always, verify=all|sample (their results), "                                 \
                "check=yes|no (compute a prompt first), usage=FILE, trace=FILE, report=FILE",                          \
                .flags = CLI_VOLATILE)

/* For a tool with a plan of its own: whether the plan is that of the experts. It is then begun by streaming_begin, and
 * the first session prints it. */
bool streaming_plans(const cli *c);
/* After the arithmetic is known, before the first session: with --ram the model's experts stream. sessions: those that
 * are open at the same time. With --plan, the first session prints the plan and ends the program. */
geodec_status streaming_begin(const cli *c, geodec_model *m, geodec_arithmetic arithmetic, int32_t sessions,
                              geodec_err *err) GEODEC_MUST_USE;
/* Between passes of a run with --verbose: shows on a terminal what became of the experts in the last moments (live.h).
 * Progress lines of a tool have the same note by themselves. */
void streaming_live(void);
/* Before the model is closed (m NULL: nothing): with --verbose, reads, hits and stalls; writes what
 * --experts asked for. Returns st, or the first error after GEODEC_OK. */
geodec_status streaming_end(const cli *c, const geodec_model *m, geodec_status st, geodec_err *err) GEODEC_MUST_USE;

#endif
