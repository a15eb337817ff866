# File names are data: make never expands the values of MODEL and TEXT, and no shell interprets them. This file is included first, before any expansion.
ifneq ($(origin MODEL),undefined)
override MODEL := $(value MODEL)
endif
ifneq ($(origin TEXT),undefined)
override TEXT := $(value TEXT)
endif
# Quotes a text as one word for a POSIX shell.
quote = '$(subst ','\'',$1)'
define newline


endef
ifneq ($(findstring $(newline),$(MODEL)$(TEXT)),)
$(error MODEL, TEXT: a file name with a line break is refused)
endif
