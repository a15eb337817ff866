# Install: tools, library, headers, pkg-config file, man pages, the embedded model. DESTDIR and PREFIX are respected.
.PHONY: install uninstall man
MAN_PAGES := $(TOOLS:%=$(B)/man/geodec-%.1) $(B)/man/geodec.1
man: $(MAN_PAGES)
$(B)/man/%.1: $(B)/bin/% docs/man/common.h2m
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)help2man --no-info --include docs/man/common.h2m --no-discard-stderr --output $@ $<

$(B)/geodec.pc: mk/geodec.pc.in VERSION
	@mkdir -p $(@D)
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(libdir)|; s|@INCLUDEDIR@|$(includedir)|; s|@VERSION@|$(VERSION)|' $< > $@

PUBLIC_HEADERS := $(filter-out %_internal.h %/internal.h %_impl.h %_body.h,$(wildcard $(FOLDERS:%=libcommon/%/*.h)))
DATA_MODELS := $(wildcard data/model/*.gguf)
install: build man $(B)/geodec.pc
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(mandir)/man1 $(DESTDIR)$(datadir)/model
	install -m 755 $(TOOL_BINS) $(B)/bin/geodec $(DESTDIR)$(bindir)
	install -m 644 $(LIB_A) $(DESTDIR)$(libdir)
	install -m 755 $(LIB_SO) $(DESTDIR)$(libdir)
	ln -sf libgeodec.so.$(SOVERSION) $(DESTDIR)$(libdir)/libgeodec.so
	for h in libcommon/geodec.h $(PUBLIC_HEADERS); do \
	  d=$(DESTDIR)$(includedir)/geodec/$$(dirname $${h#libcommon/}); install -d $$d; install -m 644 $$h $$d; done
	install -m 644 $(B)/geodec.pc $(DESTDIR)$(libdir)/pkgconfig
	install -m 644 $(MAN_PAGES) $(DESTDIR)$(mandir)/man1
	$(if $(DATA_MODELS),install -m 644 $(DATA_MODELS) $(DESTDIR)$(datadir)/model)
uninstall:
	rm -f $(addprefix $(DESTDIR)$(bindir)/,$(notdir $(TOOL_BINS)) geodec) $(addprefix $(DESTDIR)$(mandir)/man1/,$(notdir $(MAN_PAGES)))
	rm -f $(DESTDIR)$(libdir)/libgeodec.* $(DESTDIR)$(libdir)/pkgconfig/geodec.pc
	rm -rf $(DESTDIR)$(includedir)/geodec $(DESTDIR)$(datadir)
