# File names are data: what MODEL and TEXT say is never expanded by make nor read by a shell. First of all includes, before anything is expanded.
ifneq ($(origin MODEL),undefined)
override MODEL := $(value MODEL)
endif
ifneq ($(origin TEXT),undefined)
override TEXT := $(value TEXT)
endif
# One word for a POSIX shell.
quote = '$(subst ','\'',$1)'
define newline


endef
ifneq ($(findstring $(newline),$(MODEL)$(TEXT)),)
$(error MODEL, TEXT: a file name with a line break is refused)
endif
