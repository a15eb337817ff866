# The layer table: a folder of libcommon may include and call its own files and these folders only.
# scripts/check-layers compares #include lines with it; every unit test links nothing else (so an illegal call fails to link).
FOLDERS := base linalg io verdict gguf tokenizer documents corpus model reference evaluate project train geometry records published experiments export decode drafters measure prepare bench

DEPS_base      :=
DEPS_linalg    := base
DEPS_io        := base
DEPS_verdict   := linalg io base
DEPS_gguf      := io base
DEPS_tokenizer := gguf io base
DEPS_documents := tokenizer gguf io base
DEPS_corpus    := io base
DEPS_model     := tokenizer gguf linalg io base
DEPS_reference := model tokenizer gguf linalg io base
DEPS_evaluate  := reference model tokenizer gguf linalg io base
DEPS_project   := model tokenizer gguf linalg io base
DEPS_train     := model documents tokenizer gguf linalg io base
DEPS_geometry  := linalg io base
DEPS_records   := geometry linalg io base
DEPS_published := records geometry linalg io base
DEPS_experiments := published records geometry linalg io base
DEPS_export    := geometry model documents tokenizer gguf linalg io base
DEPS_decode    := model documents tokenizer gguf linalg io base
DEPS_drafters  := decode records geometry project model documents tokenizer gguf linalg io base
DEPS_measure   := drafters decode records geometry project model documents tokenizer gguf linalg io base
DEPS_prepare   := export drafters decode records geometry project model documents tokenizer gguf linalg io base
DEPS_bench     := model tokenizer gguf linalg io base
