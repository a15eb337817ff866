# Every rule of the pipeline is a stage (pipelines/stage): it depends on the contents of what it reads, and its outputs land together.
# A rule's recipe is one command that writes to $(out), and to $(new)/NAME for NAME in its variable `also`; $(w).NAME is scratch. It has
# FORCE among its prerequisites: whether anything is to be done is decided by contents, not by times. Variables of a rule, all private:
#   also       names of further outputs, in the same folder
#   needs      any: runs with inputs that were not measured; fatal: its failure ends the run
#   reads      inputs that are no prerequisites
# PLAN is made before and no input: a rule's command holds the sizes it uses.
# No $(shell ..) in recipes: make would run it by stage too.
new = $(@D)/.new-$(@F)
out = $(new)/$(@F)
w = $(new)/.w
define staged
$1: private SHELL = pipelines/stage
$1: private .SHELLFLAGS = --root $(R) $$(if $$(also),--also '$$(strip $$(also))') $$(needs:%=--%) $(KEEP_GOING) $(if $(PARTS),--lock) $$@ $$(filter-out FORCE $$(PLAN),$$^) $$(reads) --
endef
also :=
needs :=
reads :=
.PHONY: FORCE
FORCE:
