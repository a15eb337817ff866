# A tool is one file: geodec-<name> from tools/<topic>/geodec-<name>.c; shared code is in tools/cli.
TOOL_SRCS := $(filter-out $(if $(filter 0,$(LAB)),tools/lab/%),$(wildcard tools/*/geodec-*.c))
TOOLS := $(sort $(patsubst geodec-%.c,%,$(notdir $(TOOL_SRCS))))
