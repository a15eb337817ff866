# Tests. Unit: one Criterion binary a folder, linked with its own and lower layers only.
TEST_FOLDERS := $(foreach f,$(FOLDERS),$(if $(wildcard tests/unit/$f/sources.mk),$f))
include $(TEST_FOLDERS:%=tests/unit/%/sources.mk)
include tests/unit/support/sources.mk
CRITERION_LIBS := $(shell pkg-config --libs criterion 2>/dev/null)

TEST_SUPPORT_OBJS := $(patsubst %.c,$(B)/obj/tests/unit/support/%.o,$(TEST_SUPPORT_SRCS))
$(TEST_SUPPORT_OBJS): CPPFLAGS_EXTRA := -Itests/unit

define unit_test
$1_TEST_OBJS := $(patsubst %.c,$(B)/obj/tests/unit/$1/%.o,$($1_TESTS))
$$($1_TEST_OBJS): CPPFLAGS_EXTRA := -Itests/unit
$(B)/tests/test-$1: $$($1_TEST_OBJS) $(TEST_SUPPORT_OBJS) $(patsubst %,$(B)/lib/layer-%.a,$1 $(DEPS_$1))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$(CC) $(LDFLAGS_ALL) -o $$@ $$^ $(CRITERION_LIBS) $(PKG_LIBS)
.PHONY: check-unit-$1
check-unit-$1: $(B)/tests/test-$1
	$(B)/tests/test-$1
-include $$($1_TEST_OBJS:.o=.d)
endef
$(foreach f,$(TEST_FOLDERS),$(eval $(call unit_test,$f)))
UNIT_TESTS := $(TEST_FOLDERS:%=$(B)/tests/test-%)

.PHONY: check check-unit check-all check-asan check-tsan
check-unit: $(UNIT_TESTS)
	@for t in $(UNIT_TESTS); do echo "== $$t"; $$t || exit 1; done
