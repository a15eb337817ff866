# Rules that are checked automatically.
.PHONY: lint check-layers check-symbols check-callers check-headers check-style check-integer-code
# Targets that need other packages than the build install them, as make check does.
build/.packages-lint: packages.txt
	@bash scripts/packages install lint
lint: check-layers check-symbols check-callers check-headers check-style check-integer-code check-clang
check-layers:
	@mkdir -p $(B)
	@{ $(foreach f,$(FOLDERS),echo '$f' $(DEPS_$f);) } > $(B)/layers.txt
	@sh scripts/check-layers $(B)/layers.txt "$(SHARED_INTERNAL)" && echo "layers: ok"
check-symbols: $(LIB_A) $(LIB_SO)
	@sh scripts/check-symbols $(LIB_A) $(LIB_SO) $(B)/obj/libcommon && echo "symbols: ok"
check-callers: lib $(TOOL_OBJS) $(CLI_OBJS)
	@sh scripts/check-callers $(B)/obj && echo "callers: ok"
check-headers:
	@sh scripts/check-headers $(CC) $(CPPFLAGS) -std=c11 $(WARN) && echo "headers: ok"
INTEGER_CODE := model/integer/engine model/integer/fixed decode/attest
# No arithmetic of floats between token id and token id, in the object code.
check-integer-code: $(foreach f,$(INTEGER_CODE),$(call objs_of,$f))
	@sh scripts/check-integer-code $(B)/obj/libcommon
# What clang says of every source, which is not translated for it.
.PHONY: check-clang clang-objects
clang-objects: $(ALL_OBJS) $(LAB_OBJS) $(CLI_OBJS) $(TOOL_OBJS)
check-clang: build/.packages-lint
	+@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc)) CC="clang -fsyntax-only" B=build/clang clang-objects
	@echo "clang: ok"
check-style:
	@bash scripts/packages install lint
	@sh scripts/check-style && echo "style: ok"
