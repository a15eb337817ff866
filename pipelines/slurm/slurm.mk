# make submit: the goals of GOALS as jobs of Slurm (pipelines/slurm/submit --help; docs/manual/cluster.md). make cluster-status: how far they are.
#   make submit MODEL= TEXT= SHARDS=64 [GOALS=results] [PARTITION= TIME= MEM= ACCOUNT= CPUS= MAX_TRIES= SCRATCH=] [DRY=1] [RUNNER=xargs JOBS=N]
GOALS ?= results
GIVEN := $(foreach v,$(filter-out GOALS LOCKED -%,$(.VARIABLES)),$(if $(or $(findstring command line,$(origin $v)),$(filter MODEL TEXT,$v)),$v))
ifneq ($(filter submit cluster-status,$(MAKECMDGOALS)),)
ifneq ($(findstring $(newline),$(foreach v,$(GIVEN),$(value $v))),)
$(error a value with a line break is refused)
endif
endif
.PHONY: submit cluster-status print-folders
submit:
	@pipelines/slurm/submit $(foreach v,$(GIVEN),$(if $(value $v),$(call quote,$v=$(value $v)))) $(GOALS)
cluster-status:
	@pipelines/slurm/status $(R)/cluster
# The result folder, the build folder and the folder of the tools, for pipelines/slurm/submit.
print-folders:
	@printf '%s\t%s\t%s\n' '$(R)' '$(B)' '$(BIN)'
