# Everything a developer runs. Needs Rust (rustup) and Python 3.9 or later; each target sets up the rest.

PYTHON ?= python3
VENV := $(CURDIR)/.venv
READY := .venv/.ready
# What is released names no directory of the machine that built it.
TARGET := $(or $(CARGO_TARGET_DIR),target)
NO_PATHS = --remap-path-prefix=$(CURDIR)=pageway --remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=cargo
IN_VENV := VIRTUAL_ENV="$(VENV)" PATH="$(VENV)/bin:$$PATH"

.DEFAULT_GOAL := help
.PHONY: help setup check check-arm check-musl doc test test-rust test-python extension demo lab crash resume faults filters contract fuzz miri judges abuse kills py wheel dist site bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make the Python environment in .venv

$(READY):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9) and "Python 3.9 or later is needed")'
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check maturin pytest pytest-xdist numpy pyyaml
	@touch $(READY)

check: ## formatting, lints and house rules
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo xtask tidy

check-arm: ## whether the command compiles for 64-bit ARM, NEON kernels included
	rustup target add aarch64-unknown-linux-gnu
	cargo check -p pageway-cli --target aarch64-unknown-linux-gnu

check-musl: ## whether the engine compiles for the C library musl
	rustup target add x86_64-unknown-linux-musl
	cargo check -p pageway --target x86_64-unknown-linux-musl

doc: ## the API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

test: test-rust test-python ## every test: Rust, documentation examples, suites, Python

test-rust: ## the Rust tests alone
	cargo xtask test

test-python: $(READY) extension ## the Python tests alone, over the extension as the Rust tests compile it
	$(IN_VENV) PYTHONPATH=$(CURDIR)/python python -m pytest -q -n auto --durations=10 python/tests

extension: ## the extension of Python as the Rust tests compile it, beside its package
	cargo build --profile test --workspace --lib
	cp $(TARGET)/debug/lib_native.$(if $(filter Darwin,$(shell uname)),dylib,so) python/pageway/_native.abi3.so

demo: ## build and search 10,000 real sentence embeddings, results in ./demo-output
	cargo run --release -p pageway-cli -- demo --out demo-output

lab: ## measure every design on the small data: a first report in ./lab-output, about eight minutes
	cargo build --release -p pageway-cli -p pageway-lab
	target/release/pageway lab run all --quick --skip comparators --out lab-output

crash: ## the long crash suite
	PAGEWAY_SUITE=long cargo test --release -p pageway-suites --test 'crash*' -- --nocapture

resume: ## kill -9 of builds that go on, 200 times
	PAGEWAY_SUITE=long cargo test --release -p pageway-suites --test crash_resume -- --nocapture

faults: ## the long fault suite
	PAGEWAY_SUITE=long cargo test --release -p pageway-suites --test 'fault*' -- --nocapture

filters: ## a million random filtered queries against brute force
	PAGEWAY_FILTER_QUERIES=1000000 cargo test --release -p pageway-suites --test filters -- --nocapture

contract: ## recall asked and got on made data, before and after changes (needs numpy)
	cargo build --release -p pageway-cli
	python3 suites/contract.py --bin target/release/pageway --work target/contract

fuzz: ## 100,000 forged indexes with right checksums, and property tests of other cases than always
	PAGEWAY_FORGERIES=100000 cargo test --release -p pageway-suites --test forged -- --nocapture
	PROPTEST_RNG_SEED=$$(date +%s) PROPTEST_CASES=2000 cargo test --release

judges: extension ## outside judges: a browser, tests of qdrant-client, Qdrant and LangChain (needs network and Chromium)
	cargo build --release -p pageway-server
	python3 suites/judges/console.py
	python3 suites/judges/openapi.py
	python3 suites/judges/congruence.py
	python3 suites/judges/langchain.py
	python3 suites/judges/fuzz.py
	python3 suites/judges/clients.py
	cargo build --release -p pageway-import
	python3 suites/judges/snapshot.py

abuse: ## abuse of the server: stops, slow and half-open connections, bombs, full and slow disks (needs Linux)
	cargo build --release -p pageway-server
	python3 suites/server/abuse.py

kills: ## 500 kills of the server under load: nothing acknowledged is lost
	cargo build --release -p pageway-server
	python3 suites/server/kills.py

# Tests that ask nothing of the system that Miri lacks, and end within minutes.
MIRI_STORE := --skip every_ error:: frame:: io::lane io::probe io::reader io::slots io::transfer log::header page::geometry
MIRI_QUANT := pq::sub_spaces pq::unit rabitq::allocation::tests::constant rabitq::allocation::tests::equal rabitq::factors \
	rabitq::layout

miri: ## undefined behaviour in types, codes and page files, as far as Miri runs them (needs nightly)
	rustup component add miri --toolchain nightly
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-tree-borrows" cargo +nightly miri test -p pageway-types --lib
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-tree-borrows" cargo +nightly miri test -p pageway-store --lib -- $(MIRI_STORE)
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-tree-borrows" cargo +nightly miri test -p pageway-quant --lib -- $(MIRI_QUANT)

py: $(READY) ## build the Python package into .venv
	$(IN_VENV) maturin develop --release

wheel: $(READY) ## build a wheel into ./dist
	$(IN_VENV) RUSTFLAGS="$(NO_PATHS)" maturin build --release --out dist

dist: ## the commands for this machine in ./dist: stripped, with debug symbols apart
	.ci/dist

site: $(READY) ## the documentation as a site in ./site, links checked
	.venv/bin/pip install --quiet --disable-pip-version-check mkdocs-material
	.venv/bin/mkdocs build --strict

bench: ## the bench programs of the kernels and the graph
	cargo run --release -p pageway-kernels --example speed
	cargo run --release -p pageway-graph --example vamana_speed

clean: ## remove everything that was built
	cargo clean
	rm -rf .venv dist site demo-output lab-output
