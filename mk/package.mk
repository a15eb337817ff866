# Releases: the tarball, the Debian packages and their checks (docs/manual/packaging.md). Missing packages of the purpose `package` are installed.
DIST := build/dist/geodec-$(VERSION).tar.xz
DEB := build/deb
SYMBOLS := debian/libgeodec$(SOVERSION).symbols
# Commands that call make again with a clean command line.
outside = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u MODEL -u TEXT

.PHONY: dist deb symbols abi check-dist check-symbols-file check-abi check-lintian check-reproducible check-package release-check
dist:
	@scripts/dist $(DIST)
	@ls -l $(DIST)
# dpkg-buildpackage in a folder unpacked from the tarball. DEB_BUILD_OPTIONS=nocheck leaves out the unit tests.
deb: dist
	@bash scripts/packages install build package
	@rm -rf $(DEB) && mkdir -p $(DEB) && tar -xf $(DIST) -C $(DEB)
	cd $(DEB)/geodec-$(VERSION) && $(outside) dpkg-buildpackage -us -uc > ../build.log 2>&1 || { tail -n 40 ../build.log; exit 1; }
	@ls -l $(DEB)/*.deb

# The tarball builds, installs and runs without git.
check-dist: dist
	@$(outside) tests/package/tarball $(DIST)
check-lintian:
	@bash scripts/packages install package
	@lintian --fail-on error --tag-display-limit 0 $(DEB)/*.changes && echo "lintian: no error"
# Once more from the tarball of `make deb`.
check-reproducible:
	@bash scripts/packages install build package
	@$(outside) tests/package/reproducible $(DIST) $(DEB)
# The packages of `make deb` in a bare Debian root. Minutes; needs root.
check-package:
	@bash scripts/packages install package
	@tests/package/bare-root $(DEB)

# The symbols that the shared library exports, each with the version that first had it. A lost symbol needs a new soname.
gensymbols = cd debian/.. && dpkg-gensymbols -plibgeodec$(SOVERSION) -v$(VERSION) -e$(LIB_SO) -I$(SYMBOLS)
symbols: $(LIB_SO)
	@bash scripts/packages install package
	@touch $(SYMBOLS) && $(gensymbols) -c0 -q -t -O$(SYMBOLS).tmp && mv $(SYMBOLS).tmp $(SYMBOLS) && grep -c '@GEODEC' $(SYMBOLS)
check-symbols-file: $(LIB_SO)
	@bash scripts/packages install package
	@$(gensymbols) -c4 -O/dev/null && echo "symbols file: current"
# The description of the binary interface of a release. The newest one before this version is what check-abi compares with.
ABI := abi/libgeodec-$(VERSION).abi.xz
abi: $(LIB_SO)
	@bash scripts/packages install package
	@scripts/abi write $(LIB_SO) $(ABI) && ls -l $(ABI)
check-abi: $(LIB_SO)
	@bash scripts/packages install package
	@scripts/abi check $(LIB_SO) $(VERSION)

release-check: build
	@scripts/versions
	@scripts/build-depends && echo "Build-Depends: those of packages.txt"
	@bash scripts/packages install build package
	+@$(MAKE) --no-print-directory check-symbols-file
	+@$(MAKE) --no-print-directory check-abi
	+@$(MAKE) --no-print-directory check-dist
	+@$(MAKE) --no-print-directory deb
	+@$(MAKE) --no-print-directory check-lintian
	@echo "release-check: geodec $(VERSION) is ready"
