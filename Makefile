# The two commands are `make run` and `make test`; `make help` lists the rest.
# This file only names things: meson.build says what is built, tools/ does the work.

PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   := build
RUN     := $(CURDIR)/$(BUILD)/run

.PHONY: all build web run audit-module story check test test-long coverage bench install uninstall format lint clean help
.DEFAULT_GOAL := all

all: build

build:                  ## build/holdfast, build/libholdfast.so and build/libholdfast.a
	@tools/install-deps build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix "$(PREFIX)"
	@ninja -C $(BUILD)

# Settings of the environment and of files are ignored here.
run: build              ## start the server and a web application to try it with; data stays in build/run; Ctrl-C stops both
	@tools/end-with-make $$$$ $$PPID >/dev/null 2>&1 </dev/null & \
	exec tools/run-demo "$(CURDIR)/$(BUILD)" "$(RUN)"

audit-module:           ## build holdfast-audit.so, which reads programs; installs npm for its grammars
	@tools/install-deps build audit
	@$(MAKE) --no-print-directory build

story: build            ## play a short two-person story in the terminal
	@HOLDFAST="$(CURDIR)/$(BUILD)/holdfast" examples/story.sh

check:                  ## the quick tests, for the loop while editing
	@tools/install-deps build test
	@tools/run-tests --quick

test:                   ## every check and test; ends with "N passed, N failed"
	@tools/install-deps build test
	@tools/run-tests

test-long:              ## the same, with the long tests
	@tools/install-deps build test
	@tools/run-tests --long

# TESTS: which tests are run; "all", or parts of their names. Without it the quick ones.
coverage:               ## how much of the products the quick tests run, folder by folder; TESTS=all or TESTS="cli/ http/" for others
	@tools/install-deps build test coverage
	@tools/coverage $(TESTS)

bench: build            ## print a table of speeds, write build/bench.json
	@tools/install-deps build test bench
	@ninja -C $(BUILD) bench/hf-bench bench/hf-evhttp-base bench/hf-http-base bench/bench-records
	@urls=$$(tools/servers start $(BUILD)/bench-servers --large --while $$$$ postgres mariadb redis etcd); \
	env $$urls $(BUILD)/bench/hf-bench --json $(BUILD)/bench.json; code=$$?; \
	for guards in '' "$$urls"; do env $$guards HOLDFAST=$(BUILD)/holdfast HF_SOURCE_ROOT=. bench/guards.py || code=1; done; \
	HOLDFAST=$(BUILD)/holdfast HF_SOURCE_ROOT=. bench/audit.py || code=1; \
	env $$urls HOLDFAST_MODULES=$(abspath $(BUILD)) BUILD=$(BUILD) bench/records.py || code=1; \
	tools/servers stop $(BUILD)/bench-servers; exit $$code

web:                    ## bundle web/dashboard.js and web/edit-lock.js from their folders; both are committed
	@tools/install-deps test
	@tools/bundle-web

install: build          ## install below PREFIX (/usr/local), staged under DESTDIR if given
	@meson configure $(BUILD) -Dprefix="$(abspath $(PREFIX))"
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

uninstall:              ## remove what install installed; with the same PREFIX and DESTDIR
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) >/dev/null
	@meson setup --reconfigure $(BUILD) -Dprefix="$(abspath $(PREFIX))" >/dev/null
	@tools/uninstall $(BUILD) "$(DESTDIR)"

format:                 ## clang-format all C in place
	@tools/install-deps lint
	@find lib server cli advisor include tests bench examples -name '*.[ch]' | xargs -r clang-format -i

lint: build             ## clang-tidy and cppcheck
	@tools/install-deps lint
	@tools/lint $(BUILD)

clean:                  ## remove every build directory
	rm -rf build build-asan build-tsan build-coverage

help:                   ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
