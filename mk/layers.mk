# The layer table: a folder of libcommon may include and call its own files and these folders only.
# scripts/check-layers compares #include lines with it; every unit test links nothing else (so an illegal call fails to link).
FOLDERS := base linalg io verdict gguf tokenizer corpus model reference evaluate project train geometry records published experiments export decode drafters measure bench

DEPS_base      :=
DEPS_linalg    := base
DEPS_io        := base
DEPS_verdict   := linalg io base
DEPS_gguf      := io base
DEPS_tokenizer := gguf io base
DEPS_corpus    := io base
DEPS_model     := tokenizer gguf linalg io base
DEPS_reference := model tokenizer gguf linalg io base
DEPS_evaluate  := reference model tokenizer gguf linalg io base
DEPS_project   := model tokenizer gguf linalg io base
DEPS_train     := model tokenizer gguf linalg io base
DEPS_geometry  := linalg io base
DEPS_records   := geometry linalg io base
DEPS_published := records geometry linalg io base
DEPS_experiments := published records geometry linalg io base
DEPS_export    := geometry model tokenizer gguf linalg io base
DEPS_decode    := model tokenizer gguf linalg io base
DEPS_drafters  := decode records geometry project model tokenizer gguf linalg io base
DEPS_measure   := drafters decode records geometry project model tokenizer gguf linalg io base
DEPS_bench     := model tokenizer gguf linalg io base
