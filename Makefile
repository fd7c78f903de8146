# Larder: `make run` serves the demo on http://localhost:8080, `make test` proves that all works.
# `make help` lists the rest.

VERSION = 0.1.0
REVISION ?= 1
PORT ?= 8080
DB ?= var/larder.db
RUN_DIR ?= var/run
SECRET ?= var/secret
READERS ?=
SYNC ?=
PROBES ?= 1
# Of image and test-compose: docker, or the path of a script that keeps an engine in a network namespace of its own
# and has the commands build DIR, up DIR, in COMMAND, docker ARGUMENTS and down DIR.
ENGINE ?= docker

# SQLite: the system's library; "bundled", a lean build of a pinned newer version, fetched with npm; or a directory
# of your own with sqlite3.c and sqlite3.h.
SQLITE ?= system
SQLITE_DIR ?= $(if $(filter bundled,$(SQLITE)),$(BUILD)/sqlite)

CC = gcc
BUILD = build

# What is missing is installed: PROBE=PACKAGE, see tools/packages.sh.
PACKAGES_BUILD = gcc=gcc stdlib.h=libc6-dev sqlite3.h=libsqlite3-dev \
                 json-c/json.h=libjson-c-dev sodium.h=libsodium-dev
PACKAGES_RUN = nginx=nginx
PACKAGES_TEST = python3=python3 cmocka.h=libcmocka-dev clang=clang clang-tidy=clang-tidy \
                clang-format=clang-format cppcheck=cppcheck shellcheck=shellcheck \
                chromium=chromium sqlite3=sqlite3 strace=strace valgrind=valgrind wrk=wrk curl=curl openssl=openssl \
                lighttpd=lighttpd apache2=apache2-bin spawn-fcgi=spawn-fcgi \
                systemd-analyze=systemd mandoc=mandoc lintian=lintian adduser=adduser
PACKAGES_BENCH = python3=python3 wrk=wrk strace=strace valgrind=valgrind
PACKAGES_DEB = dpkg-shlibdeps=dpkg-dev strip=binutils

WARNINGS = -std=c17 -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wconversion \
           -Wstrict-prototypes -Wno-missing-field-initializers
DEFINES = -DLARDER_VERSION='"$(VERSION)"' -D_DEFAULT_SOURCE -I. -Iapp
HARDENING = -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fPIE
LINK_HARDENING = -pie -Wl,-z,relro,-z,now
RELEASE = -O2 -g $(HARDENING)
STATIC = -O2 -flto=auto -ffunction-sections -fdata-sections -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
         -fno-asynchronous-unwind-tables -fno-unwind-tables
# Where a profile is found again: gcc names it after the object file, which is another one when it counts.
PROFILE = -dumpdir $(BUILD)/profile/$(*D)/ -dumpbase $(*F).c
SQLITE_PROFILE = -dumpdir $(BUILD)/profile/ -dumpbase sqlite3.c
COUNTING = $(filter-out -flto=auto,$(STATIC)) -fprofile-generate -fprofile-update=single
# Half of the profile's growth is unrolled loops and what is not quite hot; the instructions it saves are elsewhere.
PROFILED = $(STATIC) -fprofile-use -fprofile-correction -fno-unroll-loops --param hot-bb-count-ws-permille=950
STATIC_LINK = -static -s -Wl,--gc-sections -Wl,-z,noseparate-code -Wl,--build-id=none
SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
LIBS = -ljson-c -lsodium
SQLITE_LIBS = $(if $(SQLITE_DIR),-lm,-lsqlite3)
# What the service does not use is left out. An amalgamation does not look for fdatasync: it must be told.
SQLITE_OPTIONS = -DHAVE_FDATASYNC=1 -DSQLITE_THREADSAFE=0 -DSQLITE_DQS=0 -DSQLITE_ENABLE_FTS5 -DSQLITE_LIKE_DOESNT_MATCH_BLOBS \
                 -DSQLITE_MAX_EXPR_DEPTH=0 -DSQLITE_OMIT_COMPLETE -DSQLITE_OMIT_DECLTYPE -DSQLITE_OMIT_DEPRECATED \
                 -DSQLITE_OMIT_DESERIALIZE -DSQLITE_OMIT_GET_TABLE -DSQLITE_OMIT_JSON -DSQLITE_OMIT_LOAD_EXTENSION \
                 -DSQLITE_OMIT_LOCALTIME -DSQLITE_OMIT_PROGRESS_CALLBACK -DSQLITE_OMIT_SHARED_CACHE

SOURCES = $(wildcard app/*.c app/endpoints/*.c)
HEADERS = $(wildcard app/*.h app/endpoints/*.h tests/unit/*.h)
SCRIPTS = tools/image.sh tools/packages.sh tools/run.sh tools/sqlite.sh tests/run.sh nginx/render.sh tests/machine.sh packaging/deb/build.sh \
          packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm .ci/run \
          $(wildcard bench/peers/*.sh bench/peers/*/peer.sh)
UNITS = $(filter-out support,$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*.c)))
C_FILES = $(SOURCES) $(wildcard tests/unit/*.c bench/*.c bench/peers/*/*.c)

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

$(BUILD)/larder: $(call objects,release,$(SOURCES)) $(if $(SQLITE_DIR),$(BUILD)/release/sqlite3.o) $(BUILD)/sqlite-choice
	@echo "  link $@" && $(CC) $(RELEASE) $(LINK_HARDENING) -o $@ $(filter %.o,$^) $(LIBS) $(SQLITE_LIBS)

# One file for all of it, without libraries of the system's at run time. It is compiled twice: a first program counts
# which way its branches go while tools/train.py asks it for a bit of everything, the second is laid out by that.
.PHONY: static
static: packages-static ## build/static/larder: SQLite bundled, all in one file, optimised as a whole, stripped
	@$(MAKE) --no-print-directory SQLITE=bundled $(BUILD)/static/larder

$(BUILD)/static/larder: $(call objects,static,$(SOURCES) app/static/sodium.c) $(BUILD)/static/sqlite3.o
	@echo "  link $@" && $(CC) $(PROFILED) $(STATIC_LINK) -o $@ $^ $(LIBS) -lm

$(BUILD)/counting/larder: $(call objects,counting,$(SOURCES) app/static/sodium.c) $(BUILD)/counting/sqlite3.o
	@echo "  link $@" && $(CC) $(COUNTING) -o $@ $^ $(LIBS) -lm

$(BUILD)/profile/done: $(BUILD)/counting/larder tools/train.py tests/fastcgi_client.py
	@find $(@D) -name '*.gcda' -delete
	@echo "  train $<" && tools/train.py $<
	@touch $@

$(BUILD)/static/%.o: %.c $(BUILD)/profile/done
	@mkdir -p $(@D)
	@echo "  $(CC) $<" && $(CC) $(WARNINGS) $(DEFINES) $(PROFILED) $(PROFILE) -I$(SQLITE_DIR) -c -o $@ $<

$(BUILD)/counting/%.o: %.c $(HEADERS) Makefile $(BUILD)/sqlite/sqlite3.h
	@mkdir -p $(@D) $(BUILD)/profile/$(*D)
	@echo "  $(CC) $<" && $(CC) $(WARNINGS) $(DEFINES) $(COUNTING) $(PROFILE) -I$(SQLITE_DIR) -c -o $@ $<

# Changes when another SQLite is chosen: what depends on it is made anew.
.PHONY: always
$(BUILD)/sqlite-choice: always
	@mkdir -p $(@D)
	@echo '$(SQLITE_DIR)' | cmp -s - $@ || echo '$(SQLITE_DIR)' >$@

$(BUILD)/release/app/db.o $(BUILD)/release/app/db_admin.o $(BUILD)/release/app/db_wal.o: $(BUILD)/sqlite-choice $(if $(SQLITE_DIR),$(SQLITE_DIR)/sqlite3.h)

$(BUILD)/release/sqlite3.o: $(SQLITE_DIR)/sqlite3.c $(BUILD)/sqlite-choice Makefile
	@mkdir -p $(@D)
	@echo "  $(CC) $<" && $(CC) -std=gnu17 -w $(SQLITE_OPTIONS) $(RELEASE) -c -o $@ $<

$(BUILD)/static/sqlite3.o: $(BUILD)/sqlite/sqlite3.c $(BUILD)/profile/done
	@mkdir -p $(@D)
	@echo "  $(CC) $<" && $(CC) -std=gnu17 -w $(SQLITE_OPTIONS) $(PROFILED) $(SQLITE_PROFILE) -c -o $@ $<

$(BUILD)/counting/sqlite3.o: $(BUILD)/sqlite/sqlite3.c Makefile
	@mkdir -p $(@D) $(BUILD)/profile
	@echo "  $(CC) $<" && $(CC) -std=gnu17 -w $(SQLITE_OPTIONS) $(COUNTING) $(SQLITE_PROFILE) -c -o $@ $<

$(BUILD)/sqlite/sqlite3.c $(BUILD)/sqlite/sqlite3.h: tools/sqlite.sh
	@tools/sqlite.sh $(BUILD)/sqlite
	@touch $(BUILD)/sqlite/sqlite3.c $(BUILD)/sqlite/sqlite3.h

$(BUILD)/san/larder: $(call objects,san,$(SOURCES))
	@echo "  link $@" && $(CC) $(SANITIZE) -o $@ $^ $(LIBS) -lsqlite3

$(BUILD)/release/%.o: %.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	@echo "  $(CC) $<" && $(CC) $(WARNINGS) $(DEFINES) $(if $(SQLITE_DIR),-I$(SQLITE_DIR)) $(RELEASE) -c -o $@ $<

$(BUILD)/san/%.o: %.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	@echo "  $(CC) $<" && $(CC) $(WARNINGS) $(DEFINES) $(SANITIZE) -c -o $@ $<

# A rule each: one pattern rule with three targets would make all three at once, from one of them.
define embed
$(BUILD)/$(1)/%.o: %.S schema.sql app/demo.sql $(wildcard migrations/*.sql) docs/openapi.json Makefile
	@mkdir -p $$(@D)
	@$(CC) -I. -c -o $$@ $$<
endef
$(foreach profile,release san static counting,$(eval $(call embed,$(profile))))

# What `make install` puts where, for packagers too: PREFIX, DESTDIR, UNITDIR.
PREFIX ?= /usr/local
DESTDIR ?=
UNITDIR ?= $(PREFIX)/lib/systemd/system
SHARE = $(PREFIX)/share/larder
DOCUMENTS = $(PREFIX)/share/doc/larder
MANUAL = $(PREFIX)/share/man/man1/larder.1

.PHONY: install
install: build ## install the program, its man page, configuration for web servers, the unit and the docs
	@install -D -m 755 $(BUILD)/larder $(DESTDIR)$(PREFIX)/bin/larder
	@install -D -m 644 man/larder.1 $(DESTDIR)$(MANUAL)
	@install -d $(DESTDIR)$(SHARE)/nginx/docs $(DESTDIR)$(SHARE)/other-servers $(DESTDIR)$(DOCUMENTS) $(DESTDIR)$(UNITDIR)
	@install -m 644 nginx/*.conf $(DESTDIR)$(SHARE)/nginx
	@install -m 755 nginx/render.sh $(DESTDIR)$(SHARE)/nginx
	@install -m 644 nginx/docs/* $(DESTDIR)$(SHARE)/nginx/docs
	@install -m 644 other-servers/*.conf $(DESTDIR)$(SHARE)/other-servers
	@install -m 644 schema.sql $(DESTDIR)$(SHARE)
	@install -d $(DESTDIR)$(SHARE)/ops && install -m 644 docs/ops/* $(DESTDIR)$(SHARE)/ops
	@install -m 644 README.md LICENSE docs/*.md docs/openapi.json $(DESTDIR)$(DOCUMENTS)
	@sed 's|/usr/bin/larder|$(PREFIX)/bin/larder|' systemd/larder.service >$(DESTDIR)$(UNITDIR)/larder.service
	@chmod 644 $(DESTDIR)$(UNITDIR)/larder.service

.PHONY: uninstall
uninstall: ## remove what install put there; data and settings stay
	@rm -f $(DESTDIR)$(PREFIX)/bin/larder $(DESTDIR)$(MANUAL) $(DESTDIR)$(UNITDIR)/larder.service
	@rm -rf $(DESTDIR)$(SHARE) $(DESTDIR)$(DOCUMENTS)

.PHONY: deb
deb: build ## build/larder_VERSION_ARCHITECTURE.deb, a Debian package
	@tools/packages.sh $(PACKAGES_DEB)
	@packaging/deb/build.sh '$(BUILD)' '$(VERSION)-$(REVISION)'

.PHONY: packages-build packages-static packages-run packages-test
packages-build:
	@CC=$(CC) tools/packages.sh $(PACKAGES_BUILD)
packages-static:
	@CC=$(CC) tools/packages.sh $(PACKAGES_BUILD) python3=python3
packages-run:
	@CC=$(CC) tools/packages.sh $(PACKAGES_BUILD) $(PACKAGES_RUN)
packages-test:
	@CC=$(CC) tools/packages.sh $(PACKAGES_BUILD) $(PACKAGES_RUN) $(PACKAGES_TEST)

.PHONY: test
test: packages-test ## all tests: lint, unit, contract, browser, guide, faults
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
	@echo "  link $@" && $(CC) $(SANITIZE) -o $@ $^ $(LIBS) -lsqlite3 -lcmocka

.PHONY: contract
contract: packages-test build ## the HTTP contract through nginx, on a service of its own
	@python3 tests/harness.py python3 tests/contract.py --secret-file '{SECRET}' '{URL}'

.PHONY: other-servers
other-servers: packages-test build ## the application's part of the contract behind Apache httpd and lighttpd
	@for how in 'apache' '--one-socket port --close --prefix /shop apache' 'lighttpd' '--one-socket path --prefix /shop lighttpd'; do \
	  echo "$$how"; python3 tests/other_servers.py $$how python3 tests/contract.py --application --secret-file '{SECRET}' '{URL}' || exit 1; \
	done

.PHONY: browser
browser: packages-test build ## the page at /docs/ in headless Chromium
	@python3 tests/harness.py python3 tests/browser.py '{URL}'

.PHONY: faults
faults: packages-test build ## crashes, full disks, locks, starts and stops, with real processes
	@python3 tests/faults/run.py

.PHONY: image
image: ## the image of docker-compose.yml, and its size (needs an engine: ENGINE)
	@tools/image.sh '$(ENGINE)'

.PHONY: test-compose
test-compose: ## docker-compose.yml built, started, tested and stopped (needs an engine: ENGINE)
	@tools/packages.sh python3=python3
	@python3 tests/compose.py '$(ENGINE)'

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed 's/:.*## /\t/' | expand -t 16
	@echo
	@echo "Variables of run: PORT ($(PORT)), DB ($(DB)), RUN_DIR ($(RUN_DIR)), SECRET ($(SECRET)), READERS, SYNC (full or normal), PROBES ($(PROBES))"
	@echo "Variables of bench: SECTIONS, WARMUP ($(WARMUP)), SECONDS ($(SECONDS)), ROUNDS ($(ROUNDS)), PEERS, SIZES: see docs/benchmarks.md"

# The benchmark, see docs/benchmarks.md.
SECTIONS ?=
WARMUP ?= 10
SECONDS ?= 30
ROUNDS ?= 3
PEERS ?=
SIZES ?=
BENCH = $(MAKE) --no-print-directory packages-bench build static && python3 bench/bench.py
BENCH_OPTIONS = --warmup $(WARMUP) --seconds $(SECONDS) --rounds $(ROUNDS) $(if $(SECTIONS),--sections '$(SECTIONS)') \
                $(if $(PEERS),--peers '$(PEERS)') $(if $(SIZES),--sizes '$(SIZES)')

.PHONY: bench bench-quick bench-plan bench-report bench-syscalls packages-bench
bench: ## Larder and its peers side by side; writes docs/benchmarks.md and its charts
	@$(BENCH) $(BENCH_OPTIONS)
bench-quick: ## the same for two peers in two minutes, in the terminal alone
	@$(BENCH) --quick --warmup 1 --seconds 5 --rounds 1 $(if $(PEERS),--peers '$(PEERS)')
bench-plan: ## how long `make bench` is going to take
	@$(BENCH) $(BENCH_OPTIONS) --plan
bench-report: ## writes docs/benchmarks.md from what was measured before
	@python3 bench/bench.py --report
bench-syscalls: ## system calls a request and requests a batch, of a busy reader
	@$(MAKE) --no-print-directory packages-bench build
	@python3 bench/syscalls.py
packages-bench:
	@CC=$(CC) tools/packages.sh $(PACKAGES_BUILD) $(PACKAGES_RUN) $(PACKAGES_BENCH)

# SQLite inside the process: the system's and the lean build of the bundled one, whatever SQLITE says. What sees sqlite3.h
# is compiled for each.
BENCH_OBJECTS = $(filter-out %/db.o %/db_admin.o %/db_wal.o,$(call objects,release,$(MODULES)))
BENCH_OWN = $(addprefix $(BUILD)/bench/$(1)/,sqlite.o db.o db_admin.o db_wal.o)

.PHONY: bench-sqlite
bench-sqlite: packages-build ## nanoseconds a read and an insert, in several ways of using SQLite; BENCH_SQLITE_FLAGS=--instructions counts
	@CC=$(CC) tools/packages.sh npm=npm $(if $(findstring --instructions,$(BENCH_SQLITE_FLAGS)),valgrind=valgrind)
	@$(MAKE) --no-print-directory -s $(BUILD)/larder $(BUILD)/bench/sqlite-system $(BUILD)/bench/sqlite-bundled
	@python3 bench/sqlite.py $(BENCH_SQLITE_FLAGS)

.PHONY: bench-sqlite-options
bench-sqlite-options: packages-build ## instructions and size for each compile option of the bundled SQLite: takes its time
	@CC=$(CC) tools/packages.sh npm=npm valgrind=valgrind
	@$(MAKE) --no-print-directory -s $(BUILD)/larder $(BUILD)/bench/sqlite-bundled
	@CC='$(CC)' SQLITE_OPTIONS='$(SQLITE_OPTIONS)' RELEASE='$(RELEASE)' LINK='$(LINK_HARDENING)' LIBS='$(LIBS)' \
	  OBJECTS='$(call BENCH_OWN,bundled) $(BENCH_OBJECTS)' \
	  python3 bench/sqlite-options.py $(BENCH_SQLITE_FLAGS)

define bench_library
$(BUILD)/bench/$(1)/%.o: app/%.c $(HEADERS) Makefile $(BUILD)/sqlite/sqlite3.h
	@mkdir -p $$(@D)
	@echo "  $(CC) $$<" && $(CC) $(WARNINGS) $(DEFINES) $(2) $(RELEASE) -c -o $$@ $$<
$(BUILD)/bench/$(1)/%.o: bench/%.c $(HEADERS) Makefile $(BUILD)/sqlite/sqlite3.h
	@mkdir -p $$(@D)
	@echo "  $(CC) $$<" && $(CC) $(WARNINGS) $(DEFINES) $(2) $(RELEASE) -c -o $$@ $$<
endef
$(eval $(call bench_library,system,))
$(eval $(call bench_library,bundled,-I$(BUILD)/sqlite))

$(BUILD)/bench/bundled/sqlite3.o: $(BUILD)/sqlite/sqlite3.c Makefile
	@mkdir -p $(@D)
	@echo "  $(CC) $<" && $(CC) -std=gnu17 -w $(SQLITE_OPTIONS) $(RELEASE) -c -o $@ $<

$(BUILD)/bench/sqlite-system: $(call BENCH_OWN,system) $(BENCH_OBJECTS)
	@echo "  link $@" && $(CC) $(RELEASE) $(LINK_HARDENING) -o $@ $^ $(LIBS) -lsqlite3

$(BUILD)/bench/sqlite-bundled: $(call BENCH_OWN,bundled) $(BUILD)/bench/bundled/sqlite3.o $(BENCH_OBJECTS)
	@echo "  link $@" && $(CC) $(RELEASE) $(LINK_HARDENING) -o $@ $^ $(LIBS) -lm

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
