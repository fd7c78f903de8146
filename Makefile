# Larder: `make run` serves the demo on http://localhost:8080, `make test` proves that all works.
# `make help` lists the rest.

VERSION = 0.1.0
PORT ?= 8080
DB ?= var/larder.db
RUN_DIR ?= var/run
READERS ?=
SYNC ?=

CC = gcc
BUILD = build

WARNINGS = -std=c17 -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wconversion \
           -Wstrict-prototypes -Wno-missing-field-initializers
HARDENING = -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fPIE -fstack-clash-protection
DEFINES = -DLARDER_VERSION='"$(VERSION)"' -D_DEFAULT_SOURCE
CFLAGS = -O2 -g $(HARDENING)
LDFLAGS = -pie -Wl,-z,relro,-z,now
LIBS = -lfcgi -lsqlite3 -ljson-c

SOURCES = $(wildcard app/*.c app/endpoints/*.c)
MODULES = $(filter-out app/main.c,$(SOURCES))
HEADERS = $(wildcard app/*.h app/endpoints/*.h)

objects = $(patsubst %.c,$(1)/%.o,$(2)) $(1)/app/schema.o
compile = $(1) $(WARNINGS) $(DEFINES) $(2) -c -o $@ $<

.PHONY: build
build: $(BUILD)/larder ## build/larder

$(BUILD)/larder: $(call objects,$(BUILD)/release,$(SOURCES))
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/release/%.o: %.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	$(call compile,$(CC),$(CFLAGS))

$(BUILD)/release/%.o: %.S schema.sql app/demo.sql
	@mkdir -p $(@D)
	$(CC) -c -I. -o $@ $<
