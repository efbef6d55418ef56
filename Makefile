# Interlock. `make` alone lists what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# Tools that a target needs and this machine lacks are built once, into here: outside the clone, under the user's cache.
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/interlock/tools
CARGO_DENY_VERSION := 0.20.2
CARGO_FUZZ_VERSION := 0.13.2

FUZZ_SECONDS ?= 60
FUZZ_TARGETS := classify dialect protocol_parse ws_frame api_body

# What the user has installed comes first; our own copy stands in a folder with its version in the name.
export PATH := $(PATH):$(TOOLS)/cargo-deny-$(CARGO_DENY_VERSION)/bin:$(TOOLS)/cargo-fuzz-$(CARGO_FUZZ_VERSION)/bin

say = @printf '\n==> %s\n' "$(1)"

.PHONY: help demo build test test-rust test-roots test-web test-api test-model test-sandbox prove-wall lint lint-web audit audit-table audit-walls audit-reads measure-shell bench bench-sessions bench-server fuzz fuzz-oracles fuzz-model fuzz-logic web

help: ## list the targets
	@printf 'Interlock: the model proposes; code decides.\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# With someone at the terminal: a server on loopback, a sign-in link, the story in a browser. Without, nobody could
# approve: then it approves by itself, plays once in the terminal and ends.
demo: build ## play an incident in a simulated cluster, from the alert to the verified fix
	@interlock="$${CARGO_TARGET_DIR:-$$PWD/target}/release/interlock"; \
	if [ -t 0 ] && [ -t 2 ]; then exec "$$interlock" demo; else exec "$$interlock" demo --once --yes; fi

build: web ## build the binaries, with the dashboard inside (release)
	$(call say,building interlock, interlock-confine and interlock-lab)
	cargo build --release --locked --package interlock --package interlock-confine --package interlock-lab

# Laws are tried on the same cases every time; `make fuzz` is where new ones are looked for.
test-rust: export PROPTEST_RNG_SEED ?= 20260101
test-rust: web ## run the tests of the rooms
	@scripts/test-tools
	cargo build --locked --package interlock-confine --package interlock-lab
	@if cargo nextest --version >/dev/null 2>&1; then \
	  printf '==> running the examples in the documentation\n'; \
	  cargo test --workspace --locked --doc; \
	  printf '\n==> running the tests\n'; \
	  cargo nextest run --workspace --locked --no-fail-fast; \
	else \
	  cargo test --workspace --locked --no-fail-fast; \
	fi

test: test-rust test-web ## run every test

# A test of the shell analysis must pass whatever programs a machine has.
test-roots: ## run the tests of the shell analysis in a bare, a busybox, a plain and this machine's root, as root and as a user
	@scripts/test-roots

# The tests run a fixed set of programs. This runs whatever is installed; what it finds is for a person to judge.
audit-table: ## run every example of the shell table whose program is installed, and report what tries to write or to connect
	@scripts/test-tools
	cargo run --locked --quiet --package interlock-shell --example audit-table -- $(PROGRAMS)

# See docs/shell.md for the corpora and their format.
measure-shell: ## count false allows and false blocks of the shell analysis in CORPUS="a.tsv b.tsv"
	@cargo run --locked --quiet --package interlock-shell --example measure-shell -- $(CORPUS)

# The page's logic, then the page itself in a real browser, against the real binary.
test-web: web ## run the tests of the dashboard
	$(call say,the logic of the dashboard)
	cd web && npm run --silent test
	$(call say,the dashboard in a browser)
	cargo build --locked --package interlock --package interlock-confine --package interlock-lab
	@scripts/test-page

# Somebody else's program looks whether the API does what its description says; fetched once into the user's cache.
test-api: web ## let schemathesis loose on the API, as everybody there can be (optional; needs python3)
	cargo build --locked --package interlock --package interlock-confine --package interlock-lab
	@scripts/test-api

# A real model, on any server that speaks the OpenAI API. No weights are fetched.
test-model: build ## let a real model loose on this machine and the lab (optional; needs MODEL_URL=http://127.0.0.1:8080/v1)
	@MODEL_URL="$(MODEL_URL)" MODEL="$(MODEL)" MODEL_KEY="$(MODEL_KEY)" \
	  INTERLOCK="$${CARGO_TARGET_DIR:-$$PWD/target}/release/interlock" scripts/test-model

test-sandbox: ## run every command that must be refused inside the read sandboxes of the lab, and compare every file (some minutes)
	INTERLOCK_ALL_EXAMPLES=1 cargo test --locked --package interlock-lab --test sandbox -- --nocapture prove
# A build of its own: the binary without the analysis must not lie where others look for it.
prove-wall: export CARGO_TARGET_DIR := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/prove-wall
prove-wall: ## run every command that must be refused on the lab, with a binary that calls everything a read (some minutes)
	cargo build --locked --package interlock-confine --package interlock-lab
	cargo test --locked --package interlock --features everything-is-a-read --test hostile_model -- --nocapture wall::

# Runs what the analysis refuses, as reads, in a root of its own without network and devices: the second wall alone.
audit-walls: export INTERLOCK_AUDIT_ALL = 1
audit-walls: ## run every command that the analysis refuses as a read, and look whether a file changes (needs bwrap)
	cargo build --locked --package interlock-confine
	cargo test --locked --package interlock-exec --lib tests::prove::with_an_analysis -- --nocapture

# How many reads of a corpus succeed in the sandbox, compared with how many do without it.
audit-reads: ## count the reads of a corpus that succeed with and without the sandbox (optional; needs READS=a.tsv)
	@if [ ! -e "$(READS)" ]; then printf 'SKIPPED: no corpus was named; make audit-reads READS=a.tsv\n'; else \
	  cargo build --locked --package interlock-confine && \
	  INTERLOCK_READS="$$(realpath "$(READS)")" cargo test --locked --package interlock-tools --lib tests::audit -- --nocapture; fi

lint-web: web ## the dashboard: types and rules
	$(call say,rules of the dashboard)
	cd web && npm run --silent lint

lint: lint-web ## formatting, clippy as errors, the dashboard's rules, licences and sources of what we depend on
	$(call say,checking the formatting)
	cargo fmt --all --check
	$(call say,clippy)
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(call say,licences and sources of dependencies)
	@$(MAKE) --no-print-directory tool-cargo-deny-$(CARGO_DENY_VERSION)
	cargo deny --locked check licenses bans sources

audit: ## known vulnerabilities in what we depend on (fetches the advisory database)
	@$(MAKE) --no-print-directory tool-cargo-deny-$(CARGO_DENY_VERSION)
	cargo deny --locked check advisories

bench: bench-sessions bench-server ## measure the shell analysis, the gate, the store, masking, placement, logic and whole sessions
	$(call say,measuring the rooms)
	cargo bench --workspace --locked --benches

bench-sessions: build ## measure 1,000 sessions of 8 turns against a model that answers at once
	cargo build --release --locked --package interlock-engine --example instant-model
	$(call say,1000 sessions of 8 turns beside a loop that records nothing)
	@scripts/bench-sessions "$${CARGO_TARGET_DIR:-$$PWD/target}/release"

bench-server: build ## measure the server: its start, 2,000 people who watch, lists over 100,000 sessions, masking
	cargo build --release --locked --package interlock-server --examples
	$(call say,how long it takes to start)
	@scripts/bench-start "$${CARGO_TARGET_DIR:-$$PWD/target}/release/interlock"
	$(call say,2000 WebSocket subscribers)
	@"$${CARGO_TARGET_DIR:-$$PWD/target}/release/examples/ws-load"
	$(call say,lists and details over 100000 sessions)
	@"$${CARGO_TARGET_DIR:-$$PWD/target}/release/examples/list-load"
	$(call say,/health and the kill switch while ten alerts of 1 MB are masked)
	@"$${CARGO_TARGET_DIR:-$$PWD/target}/release/examples/mask-load"

# The generators of the shell analysis, against the real sed, awk, shells, find, jq and sqlite3, with new seeds: scripts, folders
# and loops, and commands from the flags of the table under strace.
ORACLES := sed awk shell find jq sql folders watched

fuzz: fuzz-oracles fuzz-model fuzz-logic prove-wall ## run each generator and each fuzz target for FUZZ_SECONDS (60); needs a C++ compiler
	@$(MAKE) --no-print-directory tool-cargo-fuzz-$(CARGO_FUZZ_VERSION)
	@for target in $(FUZZ_TARGETS); do \
	  printf '\n==> fuzzing %s for %s s\n' "$$target" "$(FUZZ_SECONDS)"; \
	  mkdir -p "fuzz/corpus/$$target"; \
	  cargo fuzz run --sanitizer none "$$target" "fuzz/corpus/$$target" "fuzz/seeds/$$target" -- \
	    -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -timeout=10; \
	done

fuzz-oracles: ## run each generator of scripts against the real programs for FUZZ_SECONDS (60)
	@scripts/test-tools
	@seed="$${ORACLE_SEED:-$$(date +%s)000}"; \
	for language in $(ORACLES); do \
	  printf '\n==> generating %s for %s s, from seed %s on\n' "$$language" "$(FUZZ_SECONDS)" "$$seed"; \
	  ORACLE_SEED="$$seed" ORACLE_SECONDS=$(FUZZ_SECONDS) \
	    cargo test --locked --quiet --package interlock-shell --test oracles -- --nocapture "$$language::"; \
	done

# The lab is started once, and every machine in it is compared after each session.
fuzz-model: ## let a hostile model loose on the lab for FUZZ_SECONDS (60), with new seeds
	cargo build --locked --package interlock-confine --package interlock-lab
	MODEL_SEED="$${MODEL_SEED:-$$(date +%s)000}" MODEL_SECONDS=$(FUZZ_SECONDS) \
	  cargo test --locked --quiet --package interlock --test hostile_model -- --nocapture

# A hostile goal that passes the checker, changes a fact or opens a file ends it. SWI-Prolog is compared where it is installed.
fuzz-logic: ## ask 100,000 generated hostile goals, with a new seed, and compare answers with SWI-Prolog
	cargo run --release --locked --quiet --package interlock-logic --example hostile-goals -- 100000 "$${LOGIC_SEED:-$$(date +%s)}"
	ORACLE_GOALS=5000 ORACLE_SEED="$${LOGIC_SEED:-$$(date +%s)}" \
	  cargo test --locked --quiet --package interlock-logic --test oracle -- --nocapture

WEB_SOURCES := $(shell find web -path web/node_modules -prune -o -path web/e2e -prune -o -path web/dist -prune -o -path web/src/api/schema.ts -prune -o -path web/test-results -prune -o -type f -print 2>/dev/null)

web: web/dist/index.html ## build the dashboard

# What the lock file says. Not `npm ci`: that stops where a registry lacks a package for another platform.
web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	$(call say,fetching what the dashboard is built from)
	cd web && npm install --no-save --no-audit --no-fund --loglevel=error
	@touch $@

web/dist/index.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	$(call say,building the dashboard)
	cd web && npm run --silent build
	cd web && npm run --silent size
	@touch $@

# tool-CRATE-VERSION: builds a cargo tool, unless there is one.
tool-%:
	@name='$*'; version="$${name##*-}"; crate="$${name%-*}"; \
	if ! command -v "$$crate" >/dev/null; then \
	  printf '==> building %s %s, once\n' "$$crate" "$$version"; \
	  CARGO_TARGET_DIR="$(TOOLS)/target" cargo install --locked --root "$(TOOLS)/$$name" "$$crate@$$version"; \
	  rm -rf "$(TOOLS)/target"; \
	fi
