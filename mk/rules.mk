# Compile and link: one archive per folder (unit tests link only what their layer may use), the public library, and that of the tools.
# Every .c file of a folder is a source of the library. A header that is compiled several times ends in .inc or _body.h.
include tools/tools.mk

objs_of = $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libcommon/$1/*.c)))
ALL_OBJS := $(foreach f,$(LIBRARY_FOLDERS),$(call objs_of,$f))
LAB_OBJS := $(if $(filter 0,$(LAB)),,$(foreach f,$(LABORATORY_FOLDERS),$(call objs_of,$f)))

$(B)/obj/%.o: %.c | build/.packages-build
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CPPFLAGS_EXTRA) $(CFLAGS_ALL) $(call simd_flags,$<) -MMD -MP -c -o $@ $<

# Files whose loops are written for the vectoriser, or whose blocks of sums stay in registers only when unrolled. Only release
# builds use the flag; it changes the speed, not the values.
VECTORISED := model/integer/engine/rows_scalar model/integer/engine/rows_avx2 geometry/geometry/rbf_kernel_% lab/harness/kernels_% decode/drafters/recurrent_% model/train/ops_% model/recurrence/steps_%
# A distribution's -O2 (CFLAGS) does not lower it.
VECTORISED_OBJS := $(VECTORISED:%=$(B)/obj/libcommon/%.o) $(B)/obj/libcommon/geometry/geometry/space_warped.o
$(VECTORISED_OBJS): OPT_release := -O3 -g -fno-var-tracking
$(VECTORISED_OBJS): OPT_LAST = $(if $(filter release,$(PROFILE)),$(if $(filter -O2,$(CFLAGS)),-O3))
$(B)/obj/libcommon/core/base/version.o: CPPFLAGS_EXTRA := -DGEODEC_VERSION_TEXT='"$(VERSION)"'
$(B)/obj/libcommon/core/base/version.o: VERSION
# The values of the kernels are short-lived structs. With a check of the scope of each, these files take minutes to compile.
ifeq ($(PROFILE),asan)
$(B)/obj/libcommon/model/kernels/kernels_%.o: CPPFLAGS_EXTRA := -fno-sanitize-address-use-after-scope
endif

# The list of objects, written if it changes: archives are made again when a file is removed.
# Two runs of make at once have a temporary file each.
OBJECTS_TMP := $(B)/objects.txt.$(shell echo $$PPID).tmp
$(B)/objects.txt: FORCE
	$(shell mkdir -p $(@D))$(file >$(OBJECTS_TMP),$(ALL_OBJS) $(LAB_OBJS) $(CLI_OBJS))
	$(Q)if cmp -s $(OBJECTS_TMP) $@; then rm -f $(OBJECTS_TMP); else mv $(OBJECTS_TMP) $@; fi
.PHONY: FORCE
FORCE:

define folder_archive
$(B)/lib/layer-$1.a: $(call objs_of,$1) $(B)/objects.txt
	@mkdir -p $$(@D)
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $(AR) rcsD $$@ $$(filter %.o,$$^)
endef
$(foreach f,$(FOLDERS),$(eval $(call folder_archive,$f)))

LIB_A := $(B)/lib/libgeodec.a
LIB_SO := $(B)/lib/libgeodec.so.$(SOVERSION)
$(LIB_A): $(ALL_OBJS) $(B)/objects.txt
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(ALL_OBJS)
# The laboratory is an archive of its own, which is not installed. Tools take from it what they call.
LAB_A := $(if $(LAB_OBJS),$(B)/lib/liblab.a)
$(B)/lib/liblab.a: $(LAB_OBJS) $(B)/objects.txt
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(LAB_OBJS)
# The public library exports what GEODEC_API marks, and nothing else: all other functions of the objects are of protected visibility.
$(B)/geodec.map: $(LIB_A) scripts/exported
	$(Q)sh scripts/exported $(LIB_A) GEODEC_$(SOVERSION) > $@.tmp && mv $@.tmp $@
$(LIB_SO): $(ALL_OBJS) $(B)/objects.txt $(B)/geodec.map
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libgeodec.so.$(SOVERSION) -Wl,--version-script=$(B)/geodec.map $(LDFLAGS_ALL) -o $@ $(ALL_OBJS) $(PKG_LIBS)
# The library of the tools has the same objects and exports all of them: it belongs to the tools of this version alone.
TOOLS_SO := $(B)/lib/geodec/libgeodec-tools-$(VERSION).so
$(TOOLS_SO): $(ALL_OBJS) $(B)/objects.txt
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic $(LDFLAGS_ALL) -o $@ $(ALL_OBJS) $(PKG_LIBS)

# The driver of MPI, if Open MPI is there; tools load it for --mpi.
MPI_SO := $(if $(MPI_FOUND),$(B)/lib/libgeodec-mpi.so)
$(B)/lib/libgeodec-mpi.so: libcommon/core/cluster/mpi/driver_mpi.c libcommon/core/cluster/driver.h
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ROOM_DIRS) -D_GNU_SOURCE $(MPI_CFLAGS) $(CFLAGS_ALL) -shared $(LDFLAGS_ALL) -o $@ $< $(MPI_LIBS)

CLI_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/cli/*.c $(if $(LAB_OBJS),tools/cli/lab/*.c))))
$(CLI_OBJS): CPPFLAGS_EXTRA := -Itools
$(B)/obj/tools/cli/kinds.o: CPPFLAGS_EXTRA := -Itools $(if $(LAB_OBJS),,-DGEODEC_NO_LAB)
# The tools look for installed data next to themselves; datadir is where a program without /proc looks. An install with another PREFIX
# does not link the tools again.
$(B)/obj/tools/cli/embedded.o: CPPFLAGS_EXTRA := -Itools -DGEODEC_DATADIR='"$(datadir)"'
$(B)/obj/tools/cli/line_editor.o: CPPFLAGS_EXTRA = -Itools $(EDIT_CFLAGS)
CLI_A := $(B)/lib/libgeodeccli.a
$(CLI_A): $(CLI_OBJS) $(B)/objects.txt
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(CLI_OBJS)

# Tools find their library relative to their own folder; a new library does not link them again. Those of an installation whose
# folders lie otherwise are linked a second time (mk/install.mk); where there is no /proc, which ORIGIN needs, they find it by its
# path. --as-needed: the libraries that only the library calls are not loaded twice.
tool_rpath = -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/$1'
install_rpath = -Wl$(comma)-rpath$(comma)$(libdir)/geodec
comma := ,
TOOL_BINS := $(TOOLS:%=$(B)/bin/geodec-%)
TOOL_OBJS := $(TOOL_SRCS:%.c=$(B)/obj/%.o)
$(TOOL_OBJS): CPPFLAGS_EXTRA := -Itools
define tool_binary
$(B)/bin/$(basename $(notdir $1)): $(B)/obj/$(basename $1).o $(CLI_A) $(LAB_A) | $(TOOLS_SO)
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$(CC) $(LDFLAGS_ALL) $(call tool_rpath,../lib/geodec) -Wl,--as-needed -o $$@ $$^ $(TOOLS_SO) $$(TOOL_LIBS) $$(PKG_LIBS)
$(B)/install/$(basename $(notdir $1)): $(B)/obj/$(basename $1).o $(CLI_A) $(LAB_A) $(B)/install/rpath | $(TOOLS_SO)
	$$(call say,LD,$$@)
	$$(Q)$(CC) $(LDFLAGS_ALL) $(call tool_rpath,$(TOOLS_RPATH)) $$(install_rpath) -Wl,--as-needed -o $$@ $$(filter-out %/rpath,$$^) \
	    $(TOOLS_SO) $$(TOOL_LIBS) $$(PKG_LIBS)
endef
$(foreach f,$(TOOL_SRCS),$(eval $(call tool_binary,$f)))
$(B)/bin/geodec-decode $(B)/install/geodec-decode: TOOL_LIBS = $(EDIT_LIBS)
# One table of the options and purposes that the tools print, for the stages of `geodec --help`, the NAME lines of the man pages and completion.
$(B)/tools.tsv: $(TOOL_BINS) $(TOOLS_SO)
	$(Q)for t in $(TOOLS); do $(B)/bin/geodec-$$t --options || exit 1; done > $@.tmp && mv $@.tmp $@
$(B)/bin/geodec: tools/geodec.sh pipelines/nearest.awk mk/completion.awk $(B)/tools.tsv VERSION
	@mkdir -p $(@D)
	$(Q)awk -v shell=stages -f mk/completion.awk $(B)/tools.tsv > $(B)/stages.txt
	$(Q)sed -e 's/@VERSION@/$(VERSION)/' -e '/@STAGES@/{r $(B)/stages.txt' -e 'd;}' -e '/@NEAREST@/{r pipelines/nearest.awk' -e 's/@NEAREST@//;}' $< > $@.tmp && chmod 755 $@.tmp && mv $@.tmp $@

.PHONY: build lib tools
build: lib tools
lib: $(LIB_A) $(LAB_A) $(LIB_SO) $(MPI_SO)
tools: $(TOOL_BINS) $(TOOLS_SO) $(B)/bin/geodec
# Missing packages give one clear message before the compiler runs.
build/.packages-build: packages.txt
	@bash scripts/packages check build

# Inlined and instrumented, the sixteen-lane scalar kernels take minutes to compile.
ifneq ($(filter asan ubsan tsan,$(PROFILE)),)
$(B)/obj/libcommon/model/kernels/kernels_scalar.o: CPPFLAGS_EXTRA := -fno-inline
endif

-include $(ALL_OBJS:.o=.d) $(LAB_OBJS:.o=.d) $(CLI_OBJS:.o=.d) $(TOOL_OBJS:.o=.d)
