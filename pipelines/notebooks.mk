# make notebooks: executes each notebook on the artifacts of $(R), without a display, and writes a page next to the report.
NOTEBOOKS := $(patsubst notebooks/%.ipynb,%,$(wildcard notebooks/*.ipynb))
$(NOTEBOOKS:%=$(REPORT)/%.html): $(REPORT)/%.html: notebooks/%.ipynb $(REPORT)/index.html FORCE
	@bash scripts/packages install notebook && HOME=$(abspath $(R)) GEODEC_RESULTS=$(abspath $(R)) PYDEVD_DISABLE_FILE_VALIDATION=1 \
	  /usr/bin/python3 -m nbconvert --log-level WARN --to html --execute --output-dir $(new) --output $* $<
.PHONY: notebooks
notebooks: $(NOTEBOOKS:%=$(REPORT)/%.html)
