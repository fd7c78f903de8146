# Larder: `make run` serves the demo on http://localhost:8080, `make test` proves that all works.
# `make help` lists the rest.

VERSION = 0.1.0
PORT ?= 8080
DB ?= var/larder.db
RUN_DIR ?= var/run
SECRET ?= var/secret
READERS ?=
SYNC ?=
PROBES ?= 1

CC = gcc
BUILD = build

# What is missing is installed: PROBE=PACKAGE, see tools/packages.sh.
PACKAGES_BUILD = gcc=gcc stdlib.h=libc6-dev fcgiapp.h=libfcgi-dev sqlite3.h=libsqlite3-dev \
                 json-c/json.h=libjson-c-dev sodium.h=libsodium-dev
PACKAGES_RUN = nginx=nginx
PACKAGES_TEST = python3=python3 cmocka.h=libcmocka-dev clang=clang clang-tidy=clang-tidy \
                clang-format=clang-format cppcheck=cppcheck shellcheck=shellcheck \
                chromium=chromium

WARNINGS = -std=c17 -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wconversion \
           -Wstrict-prototypes -Wno-missing-field-initializers
DEFINES = -DLARDER_VERSION='"$(VERSION)"' -D_DEFAULT_SOURCE -I. -Iapp
HARDENING = -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fPIE
LINK_HARDENING = -pie -Wl,-z,relro,-z,now
RELEASE = -O2 -g $(HARDENING)
SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
LIBS = -lfcgi -lsqlite3 -ljson-c -lsodium

SOURCES = $(wildcard app/*.c app/endpoints/*.c)
HEADERS = $(wildcard app/*.h app/endpoints/*.h tests/unit/*.h)
SCRIPTS = tools/packages.sh tools/run.sh tests/run.sh nginx/render.sh .ci/run
UNITS = $(filter-out support,$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*.c)))
C_FILES = $(SOURCES) $(wildcard tests/unit/*.c)

objects = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2)) $(patsubst %.S,$(BUILD)/$(1)/%.o,$(wildcard app/*.S))
MODULES = $(filter-out app/main.c,$(SOURCES))

.DEFAULT_GOAL = build
.SECONDARY:

.PHONY: run
run: packages-run build ## serve the demo on http://localhost:8080 until Ctrl-C
	@PORT='$(PORT)' DB='$(DB)' RUN_DIR='$(RUN_DIR)' SECRET='$(SECRET)' \
	  $(if $(READERS),LARDER_READERS='$(READERS)') LARDER_PROBES='$(PROBES)' $(if $(SYNC),LARDER_SYNC='$(SYNC)') tools/run.sh

.PHONY: build
build: packages-build ## build/larder
	@$(MAKE) --no-print-directory $(BUILD)/larder

.PHONY: san
san: packages-build ## build/san/larder, with AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory $(BUILD)/san/larder

$(BUILD)/larder: $(call objects,release,$(SOURCES))
	@echo "  link $@" && $(CC) $(RELEASE) $(LINK_HARDENING) -o $@ $^ $(LIBS)

$(BUILD)/san/larder: $(call objects,san,$(SOURCES))
	@echo "  link $@" && $(CC) $(SANITIZE) -o $@ $^ $(LIBS)

$(BUILD)/release/%.o: %.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	@echo "  $(CC) $<" && $(CC) $(WARNINGS) $(DEFINES) $(RELEASE) -c -o $@ $<

$(BUILD)/san/%.o: %.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	@echo "  $(CC) $<" && $(CC) $(WARNINGS) $(DEFINES) $(SANITIZE) -c -o $@ $<

$(BUILD)/release/%.o $(BUILD)/san/%.o: %.S schema.sql app/demo.sql docs/openapi.json
	@mkdir -p $(@D)
	@$(CC) -I. -c -o $@ $<

.PHONY: packages-build packages-run packages-test
packages-build:
	@CC=$(CC) tools/packages.sh $(PACKAGES_BUILD)
packages-run:
	@CC=$(CC) tools/packages.sh $(PACKAGES_BUILD) $(PACKAGES_RUN)
packages-test:
	@CC=$(CC) tools/packages.sh $(PACKAGES_BUILD) $(PACKAGES_RUN) $(PACKAGES_TEST)

.PHONY: test
test: packages-test ## all tests: lint, unit, contract, faults
	@tests/run.sh

.PHONY: unit
unit: packages-test $(UNITS:%=$(BUILD)/unit/%) ## unit tests of each module, under the sanitizers
	@total=0; bad=0; for unit in $(UNITS); do \
	  $(BUILD)/unit/$$unit >$(BUILD)/unit/$$unit.log 2>&1; status=$$?; \
	  n=$$(grep -c '\[       OK \]' $(BUILD)/unit/$$unit.log); total=$$((total + n)); \
	  if [ $$status != 0 ]; then cat $(BUILD)/unit/$$unit.log; bad=$$((bad + 1)); fi; \
	  echo "$$unit: $$n tests"; \
	done; echo "$$total passed, $$bad failed"; [ $$bad = 0 ]

$(BUILD)/unit/%: $(BUILD)/san/tests/unit/%.o $(BUILD)/san/tests/unit/support.o $(call objects,san,$(MODULES))
	@mkdir -p $(@D)
	@echo "  link $@" && $(CC) $(SANITIZE) -o $@ $^ $(LIBS) -lcmocka

.PHONY: contract
contract: packages-test build ## the HTTP contract through nginx, on a service of its own
	@python3 tests/harness.py python3 tests/contract.py --secret-file '{SECRET}' '{URL}'

.PHONY: browser
browser: packages-test build ## the page at /docs/ in headless Chromium
	@python3 tests/harness.py python3 tests/browser.py '{URL}'

.PHONY: faults
faults: packages-test build ## crashes, full disks, locks, starts and stops, with real processes
	@python3 tests/faults/run.py

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed 's/:.*## /\t/' | expand -t 16
	@echo
	@echo "Variables of run: PORT ($(PORT)), DB ($(DB)), RUN_DIR ($(RUN_DIR)), SECRET ($(SECRET)), READERS, SYNC (full or normal), PROBES ($(PROBES))"

.PHONY: lint lint-clang lint-tidy lint-cppcheck lint-shell lint-format
lint: packages-test lint-clang lint-tidy lint-cppcheck lint-shell lint-format ## all static checks
lint-clang:
	@clang $(WARNINGS) $(DEFINES) -fsyntax-only $(C_FILES)
lint-tidy:
	@printf '%s\n' $(C_FILES) | xargs -P 2 -n 8 clang-tidy --quiet $(patsubst %,--extra-arg=%,-std=c17 $(DEFINES)) 2>/dev/null
lint-cppcheck:
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
	  --error-exitcode=1 --suppress=missingIncludeSystem $(DEFINES) $(SOURCES)
lint-shell:
	@shellcheck $(SCRIPTS)
lint-format:
	@clang-format --dry-run -Werror $(C_FILES) $(HEADERS)

.PHONY: format
format: ## lay out the C files with clang-format
	@clang-format -i $(C_FILES) $(HEADERS)

.PHONY: clean
clean: ## delete what was built (the database in var stays)
	@rm -rf $(BUILD)
