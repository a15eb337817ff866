# The layer table: a folder of libcommon may include and call its own files and these folders only.
# scripts/check-layers compares #include lines with it. A unit test links nothing else, so a call of another folder fails to link.
LAB := $(patsubst libcommon/lab/%/,%,$(sort $(dir $(wildcard libcommon/lab/*/*.c))))
LAB_EXPERIMENTS := $(filter-out harness,$(LAB))
FOLDERS := base linalg io cluster artifact neighbours verdict gguf tokenizer documents corpus streaming model/kernels integer/fixed integer/ring integer/ntt integer/codes integer/engine integer/scores perspective/recurrence perspective/routing perspective/ternary perspective/memory perspective/polytope perspective/mixture perspective/dual model reference evaluate lowrank train adapt \
  geometry chain records flowmap export foresight decode integer/attest drafters measure prepare lab/harness $(LAB_EXPERIMENTS:%=lab/%)

FILES_BELOW := neighbours artifact cluster linalg io base
MODEL_BELOW := perspective/recurrence perspective/routing perspective/ternary integer/scores integer/engine integer/ntt integer/fixed model/kernels streaming tokenizer gguf $(FILES_BELOW)

DEPS_base          :=
DEPS_linalg        := base
DEPS_io            := base
DEPS_cluster       := base
DEPS_artifact      := cluster io base
DEPS_neighbours    := artifact cluster linalg io base
DEPS_verdict       := $(FILES_BELOW)
DEPS_gguf          := io base
DEPS_tokenizer     := gguf io base
DEPS_documents     := tokenizer gguf io base
DEPS_corpus        := io base
DEPS_streaming     := io base
DEPS_model/kernels := gguf base
DEPS_integer/ring  := integer/fixed model/kernels gguf io base
DEPS_integer/ntt   := model/kernels gguf io base
DEPS_integer/codes := linalg gguf io base
DEPS_integer/fixed := base
DEPS_integer/engine := integer/fixed model/kernels gguf base
DEPS_integer/scores := integer/engine integer/ntt integer/fixed model/kernels gguf linalg io base
DEPS_perspective/recurrence := model/kernels gguf base
DEPS_perspective/routing := base
DEPS_perspective/memory := model/kernels gguf io base
DEPS_perspective/polytope := linalg base
DEPS_perspective/mixture := linalg base
DEPS_perspective/dual := base
DEPS_perspective/ternary := model/kernels gguf io base
DEPS_model         := $(MODEL_BELOW)
DEPS_reference     := model $(MODEL_BELOW)
DEPS_evaluate      := integer/codes reference model $(MODEL_BELOW)
DEPS_lowrank       := model $(MODEL_BELOW)
DEPS_train         := model documents $(MODEL_BELOW)
DEPS_adapt         := train perspective/dual model documents $(MODEL_BELOW)
DEPS_geometry      := linalg base
DEPS_chain         := geometry $(FILES_BELOW)
DEPS_records       := chain geometry $(FILES_BELOW)
DEPS_flowmap       := chain geometry $(FILES_BELOW)
DEPS_export        := chain geometry model documents $(MODEL_BELOW)
DEPS_foresight     := export flowmap chain geometry model documents $(MODEL_BELOW)
DEPS_decode        := perspective/mixture model documents $(MODEL_BELOW)
DEPS_integer/attest := integer/ntt integer/engine integer/fixed model/kernels gguf io base
DEPS_drafters      := decode perspective/mixture foresight export flowmap chain geometry lowrank model documents $(MODEL_BELOW)
DEPS_measure       := perspective/memory drafters $(DEPS_drafters)
DEPS_prepare       := export drafters $(DEPS_drafters)
DEPS_lab/harness   := records chain geometry evaluate integer/codes reference model $(MODEL_BELOW)
# An experiment may use the library that it measures, but no other experiment.
LAB_BELOW          := lab/harness records chain geometry evaluate integer/codes reference model $(MODEL_BELOW)
$(foreach e,$(LAB_EXPERIMENTS),$(eval DEPS_lab/$e := $(LAB_BELOW)))
DEPS_lab/integer   := integer/ring integer/codes linalg $(MODEL_BELOW)
PERSPECTIVE_PARTS  := perspective/recurrence perspective/routing perspective/ternary perspective/memory perspective/polytope perspective/mixture perspective/dual
DEPS_lab/perspective := $(PERSPECTIVE_PARTS) linalg model/kernels gguf io base
# The unit tests of all experiments are one program.
DEPS_lab           := $(LAB_EXPERIMENTS:%=lab/%) integer/ring $(filter-out $(MODEL_BELOW),$(PERSPECTIVE_PARTS)) $(LAB_BELOW)

# So are those of the integer engine; tests of a model's pass in integers are in the folder model.
DEPS_integer       := integer/attest integer/scores integer/ring integer/ntt integer/codes integer/fixed integer/engine model/kernels gguf $(FILES_BELOW)

# And those of perspective.
DEPS_perspective   := $(PERSPECTIVE_PARTS) linalg model/kernels gguf $(FILES_BELOW)

# Private headers that other folders of the library may include; they are not installed.
SHARED_INTERNAL := gguf/order_internal.h gguf/trits_internal.h integer/engine/product_internal.h integer/engine/rows_internal.h base/lanes_internal.h base/names_internal.h base/unroll_internal.h base/vec_internal.h linalg/vec64_internal.h io/h5_internal.h \
  model/weights_internal.h model/arch_internal.h \
  lab/harness/kernels_internal.h lab/harness/kl_internal.h
# The public headers: those that are installed, and that geodec.h includes.
PUBLIC_HEADERS := $(sort $(filter-out %_internal.h %_body.h,$(wildcard $(FOLDERS:%=libcommon/%/*.h))))
