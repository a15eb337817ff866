# Every rule of the pipeline is a stage (pipelines/stage): it depends on the contents of its inputs, and its outputs are renamed into place together.
# A rule's recipe is one command that writes to $(out), and to $(new)/NAME for NAME in its variable `also`; $(w).NAME is scratch. It has
# FORCE among its prerequisites, because contents and not times decide whether it runs. Variables of a rule, all private:
#   also       names of further outputs, in the same folder
#   needs      any: runs with inputs that were not measured; fatal: its failure ends the run
#   reads      inputs that are not prerequisites
# LIBRARY, the shared library that the tools link, is an input of every rule: a tool's own file does not change with it.
# PLAN is made first and is not an input: the command of a rule contains the sizes that it uses.
# Recipes must not use $(shell ..), because make would run it by stage too.
new = $(@D)/.new-$(@F)
out = $(new)/$(@F)
w = $(new)/.w
define staged
$1: private SHELL = pipelines/stage
$1: private .SHELLFLAGS = --root $(R) $$(if $$(also),--also '$$(strip $$(also))') $$(needs:%=--%) $(KEEP_GOING) $(if $(PARTS),--lock) $$@ $$(filter-out FORCE $$(PLAN),$$^) $$(reads) $(LIBRARY) --
endef
also :=
needs :=
reads :=
.PHONY: FORCE
FORCE:
