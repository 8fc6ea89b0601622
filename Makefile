# A thin front: every target is one or two commands that can be run by hand (see CONTRIBUTING.md).
PRESET ?= release
JOBS ?= $(shell nproc)
SOURCES = $(shell git ls-files '*.cpp' '*.h')

.DEFAULT_GOAL := build
.PHONY: help bootstrap configure build train demo test test-python bench install format format-check tidy docs site clean

help:            ## this list
	@sed -n 's/^\([a-z-]*\):.*## */\1\t/p' Makefile | expand -t 16

bootstrap:       ## install missing Debian packages (does nothing when all are there)
	@scripts/bootstrap.sh

configure: bootstrap
	@cmake --preset $(PRESET) --log-level=WARNING

build: configure ## build/release/augur and the tests (PRESET=debug: another preset)
	@cmake --build --preset $(PRESET) -j $(JOBS)

train:           ## installs libtorch and builds augur-train, for `augur train`
	@scripts/bootstrap.sh --train
	@cmake --preset $(PRESET) -DAUGUR_BUILD_TRAINING=ON --log-level=WARNING
	@cmake --build --preset $(PRESET) -j $(JOBS) --target augur_lab_program augur_program augur_train_program

demo: bootstrap  ## builds the engine alone; three prompts on a real model, plainly and with speculation
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build --preset $(PRESET) -j $(JOBS) --target augur_program
	@scripts/demo.sh build/$(PRESET)/augur

test: build      ## build and run every test; the last line counts them
	@scripts/run_tests.sh $(PRESET)

test-python: bootstrap ## the Python package: its wheel, types and tests (tests/run_python.sh)
	@tests/run_python.sh

bench: configure ## kernels and whole model on this machine
	@cmake --build --preset $(PRESET) -j $(JOBS) --target augur_program augur_lab_program
	@mkdir -p build/bench
	@build/$(PRESET)/augur bench kernels --k 4096 --n 14336 --dtype bf16 --json build/bench/kernels.json
	@build/$(PRESET)/augur bench decode -m $$(scripts/get_model.sh || echo models/stories260k) --json build/bench/decode.json

install: build   ## cmake --install (PREFIX=/usr/local)
	@cmake --install build/$(PRESET) $(if $(PREFIX),--prefix $(PREFIX))

format:          ## clang-format in place
	@clang-format -i $(SOURCES)

format-check:    ## fails where `make format` would change something
	@clang-format --dry-run -Werror $(SOURCES)

tidy:            ## clang-tidy over src/ (half an hour of CPU), or over FILES
	@cmake --preset release -B build/tidy -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
		-DAUGUR_BUILD_LAB=OFF -DAUGUR_BUILD_TESTS=OFF -DAUGUR_UNITE=OFF --log-level=WARNING
	@cmake --build build/tidy --target augur_embedded augur_commit
	@run-clang-tidy -quiet -p build/tidy -j $(JOBS) $(or $(FILES),'$(CURDIR)/src/.*\.cpp')

docs:            ## checks links, lengths, paths, flags and the reference of the Markdown pages
	@scripts/check_docs.py build/$(PRESET)/augur
	@scripts/check_snippets.py
	@docs/site/reference.py build/$(PRESET)/augur

site:            ## build/site/index.html: the pages as a site, strictly; needs no server and no network to read
	@docs/site/make_site.py

clean:           ## remove build/
	@rm -rf build
