# The rooms of libcommon/ and their folders. A folder may include and call the folders above it in its room, and the rooms that its room uses.
# scripts/check-layers compares #include lines with this; a unit test links nothing else, so a call of another folder fails to link.
# An include names the folder without its room ("base/err.h"), but for the laboratory ("lab/corpus/corpus.h").
# docs/manual/layers.md is made from these lines (make docs).
ROOMS := core geometry model decode lab

# core: errors, memory, files, linear algebra: nothing of geometry or models
core_USES :=
core_FOLDERS    += geodec                 # the headers that are installed, each with its part of what the library promises
core_FOLDERS    += base                   # status, errors, memory, random streams, hashing, threads, fallible tasks, half-precision floats
core_FOLDERS    += linalg                 # checked LAPACK calls, eigenvectors, Cholesky, SVD, matrix exponential, k-NN, least squares, statistics, surrogate clouds
core_FOLDERS    += io                     # HDF5, atomic files, mapped files, JSON, TSV, .npy, safetensors, matrices of any of them
core_FOLDERS    += cluster                # ranks of a job: messages, collectives, agreement on errors; the driver of MPI (cluster/mpi, a shared object of its own)
core_FOLDERS    += artifact               # kinds of artifacts and their binding to structs, provenance, comparison, merging, sweeps by slices or ranks

# geometry: geometry of points in a file; it never sees a model
geometry_USES := core
geometry_FOLDERS += geodec                 # the headers that are installed: spaces, geodesics, the stages of the chain
geometry_FOLDERS += neighbours             # exact nearest neighbours slab by slab, by one process or a ring of ranks; their artifact
geometry_FOLDERS += geometry               # mathematics only: spaces, the RBF field, geodesics, log map, Jacobi fields, Magnus, propagation, curvature, PCA, TwoNN
geometry_FOLDERS += chain                  # the stages, a pair of files each, named after tool and artifact: activations, cloud, metric, christoffel, geodesics, riemann, ..
geometry_FOLDERS += records                # trajectory records, their compression, and the lookup of the nearest one

# model: language models: files, tokens, forward passes, training, export
model_USES := core
model_FOLDERS   += geodec                 # the headers that are installed: models, tokenizers, sessions, streaming, export
model_FOLDERS   += gguf                   # GGUF reader and writer, tensor types, quantisation
model_FOLDERS   += kernels                # products and attention for each instruction set, and the layouts of weights that they read
model_FOLDERS   += tokenizer              # SentencePiece, BPE of bytes and of text, unigrams, special tokens, chat templates, vocabulary training, streaming detokeniser
model_FOLDERS   += documents              # division of texts into documents, JSON Lines, the plan of a run
model_FOLDERS   += streaming              # experts on demand: disk, slots, eviction, look-ahead, stores and traces; it knows blobs, not models
model_FOLDERS   += integer/fixed          # fixed-point functions: exp, softmax, RMS norm, gates, rotations; tables as literals; products modulo q
model_FOLDERS   += integer/engine         # the forward pass in integers: weights, products, attention, experts, sampling, files of networks
model_FOLDERS   += recurrence             # states of recurrent layers: steps, trees, convolutions of the last rows
model_FOLDERS   += routing                # positions on a torus, distances, neighbours
model_FOLDERS   += ternary                # ternary matrices: encodings, quantiser, products, experts and their differences in files, conversions
model_FOLDERS   += session                # an opened model and its sessions: configuration, weights, forward pass, attention, cache, streamed experts, random models
model_FOLDERS   += reference              # every architecture in float64: forward, jvp and vjp of an operator, a block, or from a block to the logits
model_FOLDERS   += evaluate               # perplexity, needle retrieval, residual profiles, speed and its limits
model_FOLDERS   += lowrank                # weights and caches in low-rank factors: projection, whitening, its controls, the artifacts
model_FOLDERS   += train                  # backward pass, AdamW, trainer
model_FOLDERS   += fisher                 # the Fisher metric of the next token at hidden states, and at the points of a cloud
model_FOLDERS   += shf                    # a penalty for training that makes residual streams geodesics
model_FOLDERS   += export                 # hidden states, Jacobian secants and logits of a model on texts, written to HDF5
USES_model/export := geometry
USES_model/fisher := geometry
USES_model/shf    := geometry

# decode: decoding with drafters, and the artifacts that drafters read
decode_USES := core geometry model
decode_FOLDERS  += geodec                 # the headers that are installed: sampling, drafters, decoding, the flow map; geodec.h of all rooms
decode_FOLDERS  += flowmap                # the flow map: bake, charts, calibration, scan, track, library, routes of experts
decode_FOLDERS  += foresight              # which experts the next token uses: recorded routes, predictors, mixtures with a router, recall
decode_FOLDERS  += mixture                # several distributions of one token: divergence, mixtures, the rule; calibration and temperature
decode_FOLDERS  += decode                 # sampling, verification of candidates, the loop and its cost model, the interface of a drafter
decode_FOLDERS  += attest                 # records of runs in integers, transcripts of their products, and their check
decode_FOLDERS  += drafters               # the drafters, a group of files each with its fit and artifact; one registry
decode_FOLDERS  += measure                # measurements of drafters: acceptance, speed, calibration, readiness, ablation
decode_FOLDERS  += prepare                # drafting artifacts within a time budget: plan, texts, flow map, trial of the drafters, location
decode_FOLDERS  += kinds                  # the kinds of artifacts of all rooms above

# lab: experiments, their rules of verdicts, closed questions; nothing else uses it
lab_USES := core geometry model decode
lab_FOLDERS     += verdict                # references to values of artifacts and tables, conditions, rules, the headline and the claims
lab_FOLDERS     += corpus                 # story generator with exact entropy
lab_FOLDERS     += integer/ntt            # number-theoretic transforms, exact products of polynomials, correlation
lab_FOLDERS     += integer/scores         # scores of attention by sums and by transforms, stores of transformed keys, their cost
lab_FOLDERS     += integer/codes          # codes of rows of the key and value cache
lab_FOLDERS     += integer/ring           # the ring Z[w]: elements, products of matrices and vectors, encoding, the shim
lab_FOLDERS     += perspective/memory     # hypervectors, encoders of states, the memory of pairs of key and text, its capacity and file; a text as such a memory
lab_FOLDERS     += perspective/polytope   # the nearest point of a polytope, half-spaces fitted to states
lab_FOLDERS     += perspective/dual       # forward-mode derivatives of the operators of the perspective model; adapters, evolution strategies
lab_FOLDERS     += adapt                  # a PERSPECTIVE model with tangents; adaptation to a text by forward derivatives and evolution strategies
lab_FOLDERS     += worlds                 # synthetic worlds with a known effect, of the sizes of the data in hand, and their closed forms
lab_FOLDERS     += harness                # what experiments share: manifold and paths of the published harness, trajectories, splits, metrics and their controls
lab_FOLDERS     += published              # what the source work computed, stage by stage, a pair of files each, with the defects of its harness

# Every other folder of the laboratory is an experiment. An experiment may use the library that it measures, but no other experiment.
LAB_EXPERIMENTS := $(filter-out $(lab_FOLDERS),$(patsubst libcommon/lab/%/,%,$(sort $(dir $(wildcard libcommon/lab/*/*.c libcommon/lab/*/*/*.c)))))

room_folders = $($1_FOLDERS:%=$1/%)
LIBRARY_FOLDERS := $(foreach r,$(filter-out lab,$(ROOMS)),$(call room_folders,$r))
LABORATORY_FOLDERS := $(call room_folders,lab) $(LAB_EXPERIMENTS:%=lab/%)
FOLDERS := $(LIBRARY_FOLDERS) $(LABORATORY_FOLDERS)
reversed = $(if $1,$(call reversed,$(wordlist 2,99,$1)) $(firstword $1))
before = $(if $(filter-out $1,$(firstword $2)),$(firstword $2) $(call before,$1,$(wordlist 2,99,$2)))
# The nearest first, as a linker wants its archives.
DEPS_of = $(call reversed,$(foreach r,$($(firstword $(subst /, ,$1))_USES) $(USES_$1),$(call room_folders,$r)) $(call before,$1,$(call room_folders,$(firstword $(subst /, ,$1)))))
$(foreach f,$(FOLDERS),$(eval DEPS_$f := $(call DEPS_of,$f)))

# Private headers that other folders of the library may include; they are not installed.
SHARED_INTERNAL := gguf/code_books_internal.h gguf/order_internal.h integer/engine/product_internal.h integer/engine/rows_internal.h base/arena_internal.h base/cpu_internal.h base/extremes_internal.h base/lanes_internal.h base/names_internal.h base/simd_internal.h base/unroll_internal.h base/vec_internal.h io/h5_internal.h \
  kernels/columns_internal.h kernels/isa_internal.h kernels/kernels_internal.h kernels/matrix_internal.h kernels/panels_internal.h kernels/products_internal.h session/weights_internal.h session/arch_internal.h \
  lab/harness/kernels_internal.h fisher/kl_internal.h
# The public headers: those that are installed. geodec.h includes all others.
PUBLIC_HEADERS := $(sort $(wildcard libcommon/*/geodec/*.h))
