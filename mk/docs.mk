# Pages of docs/ that are made from the tables of the library: schema pages from the kinds, other pages from the tables of drafters,
# tensor types and integrators. scripts/docs-tables makes the tables inside other pages. The pages are committed, and
# tests/cli/artifacts.bats finds stale ones.
DOCS_PAGES := drafters tensor-types integrators
DOCS_WITH_TABLES = $(shell grep -l "^<!-- table: " docs/*.md docs/manual/*.md libcommon/*/README.md)
.PHONY: docs
docs: $(B)/bin/geodec-info $(B)/tools.tsv
	@mkdir -p docs/schema
	$(Q)for p in $(DOCS_PAGES); do $< --$$p > docs/manual/.$$p.tmp && mv docs/manual/.$$p.tmp docs/manual/$$p.md || exit 1; done
	$(Q)for f in $(DOCS_WITH_TABLES); do scripts/docs-tables $(B)/bin $$f > docs/.table.tmp && mv docs/.table.tmp $$f || exit 1; done
	$(Q)for k in $$($< --kinds); do \
	  $< --schema $$k > docs/schema/.$$k.tmp && mv docs/schema/.$$k.tmp docs/schema/$$k.md || exit 1; done
	$(Q)for f in docs/schema/*.md; do \
	  $< --kinds | grep -qx "$$(basename $$f .md)" || { rm $$f; echo "removed $$f: no such kind"; }; done
