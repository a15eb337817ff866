# docs/schema/<kind>.md from the kinds' tables, docs/drafters.md from that of the drafters, geodec.h and docs/headers.md from the public headers. The pages are committed; tests/cli/artifacts.bats finds stale ones.
.PHONY: docs
docs: $(B)/bin/geodec-info
	@mkdir -p docs/schema
	$(Q)sh scripts/public-headers include $(PUBLIC_HEADERS) > libcommon/.geodec.h.tmp && mv libcommon/.geodec.h.tmp libcommon/geodec.h
	$(Q)sh scripts/public-headers page $(PUBLIC_HEADERS) > docs/.headers.tmp && mv docs/.headers.tmp docs/headers.md
	$(Q)$< --drafters > docs/.drafters.tmp && mv docs/.drafters.tmp docs/drafters.md
	$(Q)for k in $$($< --kinds); do \
	  $< --schema $$k > docs/schema/.$$k.tmp && mv docs/schema/.$$k.tmp docs/schema/$$k.md || exit 1; done
	$(Q)for f in docs/schema/*.md; do \
	  $< --kinds | grep -qx "$$(basename $$f .md)" || { rm $$f; echo "removed $$f: no such kind"; }; done
