# Pages of docs/ that are made from the library's tables: schema pages from the kinds, the others from those of drafters,
# tensor types and integrators; tables inside other pages by scripts/docs-tables. They are committed; tests/cli/artifacts.bats
# finds stale ones.
DOCS_PAGES := drafters tensor-types integrators
DOCS_WITH_TABLES = $(shell grep -l "^<!-- table: " docs/*.md docs/manual/*.md)
.PHONY: docs
docs: $(B)/bin/geodec-info $(B)/tools.tsv
	@mkdir -p docs/schema
	$(Q)for p in $(DOCS_PAGES); do $< --$$p > docs/manual/.$$p.tmp && mv docs/manual/.$$p.tmp docs/manual/$$p.md || exit 1; done
	$(Q)for f in $(DOCS_WITH_TABLES); do scripts/docs-tables $(B)/bin $$f > docs/.table.tmp && mv docs/.table.tmp $$f || exit 1; done
	$(Q)for k in $$($< --kinds); do \
	  $< --schema $$k > docs/schema/.$$k.tmp && mv docs/schema/.$$k.tmp docs/schema/$$k.md || exit 1; done
	$(Q)for f in docs/schema/*.md; do \
	  $< --kinds | grep -qx "$$(basename $$f .md)" || { rm $$f; echo "removed $$f: no such kind"; }; done
