# A tool is one file: geodec-<name> from tools/<topic>/geodec-<name>.c; shared code is in tools/cli.
TOOL_SRCS := $(wildcard tools/*/geodec-*.c)
TOOLS := $(sort $(patsubst geodec-%.c,%,$(notdir $(TOOL_SRCS))))
