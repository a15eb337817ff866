# Install: tools, library, headers, pkg-config file, man pages, completion and the embedded model, below DESTDIR and PREFIX.
.PHONY: install uninstall man
MAN_PAGES := $(TOOLS:%=$(B)/man/geodec-%.1) $(B)/man/geodec.1
man: $(MAN_PAGES)
$(B)/man/geodec.1: docs/man/geodec.h2m
$(B)/man/%.1: $(B)/bin/% docs/man/common.h2m $(B)/tools.tsv
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)name=$$(awk -F '\t' -v tool=$* '$$1 == "tool" && $$2 == tool { print $$5 }' $(B)/tools.tsv); \
	  help2man --no-info --name "$${name:-run a stage of Geodec}" $(if $(filter geodec,$*),--include docs/man/geodec.h2m) --include docs/man/common.h2m --no-discard-stderr --output $@ $<

# Made at every install, because PREFIX and the folders may differ from those of an earlier one.
$(B)/geodec.pc: mk/geodec.pc.in VERSION FORCE
	@mkdir -p $(@D)
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(libdir)|; s|@INCLUDEDIR@|$(includedir)|; s|@VERSION@|$(VERSION)|' $< > $@.tmp
	$(Q)if cmp -s $@.tmp $@; then rm -f $@.tmp; else mv $@.tmp $@; fi

# Completion: bash finds one file by the name of each command, zsh and fish read one for all of them.
COMPLETIONS := $(addprefix $(B)/completion/geodec.,bash zsh fish)
.PHONY: completion
completion: $(COMPLETIONS)
$(B)/completion/geodec.%: mk/completion.awk $(B)/tools.tsv
	@mkdir -p $(@D)
	$(Q)awk -v shell=$* -f $^ > $@.tmp && mv $@.tmp $@

# The models, and the files about them that the pipeline reads.
DATA_MODELS := $(wildcard data/model/*)
PIPELINE_FILES = $(shell find pipelines -type f)
# The value, written if it changes.
$(B)/install/rpath: FORCE
	$(Q)mkdir -p $(@D) && echo '$(TOOLS_RPATH) $(libdir)' | cmp -s - $@ || echo '$(TOOLS_RPATH) $(libdir)' > $@
INSTALL_BINS := $(if $(filter-out ../lib/geodec,$(TOOLS_RPATH)),$(TOOL_BINS:$(B)/bin/%=$(B)/install/%),$(TOOL_BINS))
install: build man completion $(B)/geodec.pc $(INSTALL_BINS)
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(mandir)/man1 $(DESTDIR)$(datadir)/model
	$(INSTALL_PROGRAM) $(INSTALL_BINS) $(DESTDIR)$(bindir)
	install -m 755 $(B)/bin/geodec $(DESTDIR)$(bindir)
	install -m 644 $(LIB_A) $(DESTDIR)$(libdir)
	$(STRIP_ARCHIVE) $(DESTDIR)$(libdir)/$(notdir $(LIB_A))
	$(INSTALL_PROGRAM) $(LIB_SO) $(MPI_SO) $(DESTDIR)$(libdir)
	install -d $(DESTDIR)$(libdir)/geodec
	$(INSTALL_PROGRAM) $(TOOLS_SO) $(DESTDIR)$(libdir)/geodec
	ln -sf libgeodec.so.$(SOVERSION) $(DESTDIR)$(libdir)/libgeodec.so
	install -d $(DESTDIR)$(includedir)/geodec
	install -m 644 $(PUBLIC_HEADERS) $(DESTDIR)$(includedir)/geodec
	install -m 644 $(B)/geodec.pc $(DESTDIR)$(libdir)/pkgconfig
	install -m 644 $(MAN_PAGES) $(DESTDIR)$(mandir)/man1
	install -d $(DESTDIR)$(bashcompdir) $(DESTDIR)$(zshcompdir) $(DESTDIR)$(fishcompdir)
	install -m 644 $(B)/completion/geodec.bash $(DESTDIR)$(bashcompdir)/geodec
	for t in $(TOOLS); do ln -sf geodec $(DESTDIR)$(bashcompdir)/geodec-$$t; done
	install -m 644 $(B)/completion/geodec.zsh $(DESTDIR)$(zshcompdir)/_geodec
	install -m 644 $(B)/completion/geodec.fish $(DESTDIR)$(fishcompdir)/geodec.fish
	$(if $(DATA_MODELS),install -m 644 $(DATA_MODELS) $(DESTDIR)$(datadir)/model)
	@for f in $(PIPELINE_FILES); do if [ -x $$f ]; then m=755; else m=644; fi; install -D -m $$m $$f $(DESTDIR)$(datadir)/$$f || exit 1; done
uninstall:
	rm -f $(addprefix $(DESTDIR)$(bindir)/,$(notdir $(TOOL_BINS)) geodec) $(addprefix $(DESTDIR)$(mandir)/man1/,$(notdir $(MAN_PAGES)))
	rm -f $(DESTDIR)$(libdir)/libgeodec.* $(DESTDIR)$(libdir)/libgeodec-mpi.so $(DESTDIR)$(libdir)/pkgconfig/geodec.pc
	rm -f $(addprefix $(DESTDIR)$(bashcompdir)/,geodec $(TOOLS:%=geodec-%)) $(DESTDIR)$(zshcompdir)/_geodec
	rm -f $(DESTDIR)$(fishcompdir)/geodec.fish
	rm -rf $(DESTDIR)$(includedir)/geodec $(DESTDIR)$(libdir)/geodec $(DESTDIR)$(datadir)
