/* Drafters by name: what the tools offer, and the artifacts they need. One geodec_drafting holds the artifacts of a
 * run; any number of drafters (one a worker) are made from it. */
#ifndef GEODEC_DRAFTERS_DRAFTING_H
#define GEODEC_DRAFTERS_DRAFTING_H

#include "artifact/artifact.h"
#include "base/err.h"
#include "decode/drafter.h"
#include "flowmap/library.h"
#include "model/model.h"

typedef struct geodec_drafting geodec_drafting;

enum { GEODEC_DRAFTER_NAME_MAX = 64 };

/* A drafter as the table of drafters has it (registry.c). */
enum {
    GEODEC_DRAFTER_ALONE = 1,      /* never part of a mixture */
    GEODEC_DRAFTER_TEXTS = 2,      /* also drafts from the texts of flowmap.h5, if there is one */
    GEODEC_DRAFTER_STOCHASTIC = 4, /* keeps the distribution of sampled text, not the text of a seed */
    GEODEC_DRAFTER_CONTROL = 8,    /* a control for other drafters */
    GEODEC_DRAFTER_BLOCKS = 16     /* "name:N" gives it N blocks of the model */
};
typedef struct geodec_drafter_info {
    const char *name;
    const char *source; /* source of its drafts */
    const char *needs;  /* an artifact of the folder, or in words; "": nothing */
    unsigned flags;
} geodec_drafter_info;
/* Row i of the table; NULL past the last. */
GEODEC_API const geodec_drafter_info *geodec_registry_at(int i);

/* Names are those of the table; + between them makes a mixture (drafters/mixture_drafter.h): "ngram+flowmap". dir:
 * folder with flowmap.h5, onedecode.h5 .., or NULL: "ngram" and "bigram" then draft from the prompt and the output
 * alone, and drafters that need an artifact are refused. names [n]: those create will be called with. GEODEC_INVAL:
 * unknown name; GEODEC_CHECKSUM: an artifact made for another model or tokenizer. The model is borrowed. */
GEODEC_API geodec_status geodec_drafting_open(const geodec_model *m, const char *dir, const char *const *names, int n,
                                              geodec_drafting **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API bool geodec_drafting_knows(const char *name);
/* Whether a drafter of this name, or a part of it, reads drafting artifacts if there are some; and whether it needs
 * them. "ngram" and "auto" do the first alone. */
GEODEC_API bool geodec_drafting_takes_artifacts(const char *name);
GEODEC_API bool geodec_drafting_needs_artifacts(const char *name);
/* For "model" and "exit": their sessions (n_blocks is set by them) and the file of the second model, NULL = none. To be
 * called before create. GEODEC_CHECKSUM: it has another tokenizer. */
GEODEC_API geodec_status geodec_drafting_sessions(geodec_drafting *d, const geodec_session_options *how,
                                                  const char *draft_model, geodec_err *err) GEODEC_MUST_USE;
/* Runs "model" from the projection at `path` (lowrank/projection.h): of the second model, or without one of the target
 * itself, which is opened once more and then drafts for itself. After sessions, before create. GEODEC_CHECKSUM: the
 * projection is another model's. */
GEODEC_API geodec_status geodec_drafting_project(geodec_drafting *d, const char *path, geodec_err *err) GEODEC_MUST_USE;
/* The second model, NULL = there is none. After sessions and project. */
GEODEC_API const geodec_model *geodec_drafting_second(const geodec_drafting *d);
/* Its arithmetic, in place of that of `how` (sessions). Before create. */
GEODEC_API void geodec_drafting_arithmetic(geodec_drafting *d, geodec_arithmetic a);
/* Gives the flowmap drafter, of which only one may then be made, a library in a file that grows while it drafts
 * (flowmap/library.h). bound: bytes of file and memory, 0 = the file's own or the default. After open, before create.
 * GEODEC_INVAL: no flowmap was asked for; else the errors of geodec_flowmap_library_open. */
GEODEC_API geodec_status geodec_drafting_library(geodec_drafting *d, const char *path, int64_t bound,
                                                 const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;
/* The library, or NULL. */
GEODEC_API const geodec_flowmap_library *geodec_drafting_grown(const geodec_drafting *d);
GEODEC_API void geodec_drafting_close(geodec_drafting *d);
/* *out = NULL for "none". */
GEODEC_API geodec_status geodec_drafting_create(const geodec_drafting *d, const char *name, geodec_drafter **out,
                                                geodec_err *err) GEODEC_MUST_USE;
/* Adds the artifacts that were read. */
GEODEC_API geodec_status geodec_drafting_provenance(const geodec_drafting *d, geodec_provenance *p,
                                                    geodec_err *err) GEODEC_MUST_USE;

/* The consistency measured when the flow map was baked, and its control (flowmap/map.h): the stored values. NaN without
 * a map or without values. */
GEODEC_API void geodec_drafting_consistency(const geodec_drafting *d, double *consistency, double *shuffled);

/* Tokens that end a text: EOS, BOS (a new text begins) and control tokens that end a turn. Returns how many. */
enum { GEODEC_STOP_TOKENS = 16 };
GEODEC_API int32_t geodec_drafting_stop_tokens(const geodec_tokenizer *t, int32_t stop[GEODEC_STOP_TOKENS]);

#endif
