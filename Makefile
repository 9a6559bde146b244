# make setup   system packages, and the CUDA compiler in .venv where there is none
# make build   everything; TARGETS=kw: the tool alone
# make test    setup, build, every test
# make demo    setup, build, a short tour without a GPU
# make mutants breaks the judge on purpose, in every way of tools/judge_mutants.txt: does a test notice? Half an hour.
# make fmt     format the sources; make lint: clang-tidy; make clean: remove build/
# Sanitizers: cmake --preset debug (ASan, UBSan) or tsan; cmake --build --preset debug; ctest --test-dir build/debug
JOBS ?= $(shell nproc)
# A CMake that setup.sh had to bring goes before the system's; so does g++-12 where g++ is older.
CMAKE = $(or $(wildcard .venv/bin/cmake),cmake)
CTEST = $(or $(wildcard .venv/bin/ctest),ctest)
CXX_CHOICE = $(shell for c in g++ g++-13 g++-12; do \
  [ "$$($$c -dumpversion 2>/dev/null | cut -d. -f1)" -ge 12 ] 2>/dev/null && { echo $$c; break; }; done)

.PHONY: setup build test mutants demo fmt fmt-check lint clean

setup:
	@tools/setup.sh

build:
	@test -f build/release/build.ninja || \
	  $(CMAKE) --preset release $(if $(CXX_CHOICE),-DCMAKE_CXX_COMPILER=$(CXX_CHOICE))
	@$(CMAKE) --build --preset release -j $(JOBS) --target $(or $(TARGETS),all)

# One test more than cores: each judgement waits for the processes of its jail now and then.
test: setup
	@$(MAKE) --no-print-directory build
	@$(CTEST) --test-dir build/release --output-on-failure -j $$(( $(JOBS) + 1 ))

mutants: setup
	@$(MAKE) --no-print-directory build
	@tools/judge_mutants.py --jobs $(JOBS)

demo: setup
	@$(MAKE) --no-print-directory build TARGETS="kw kw_record"
	@tools/demo.sh

fmt:
	@tools/format.sh

fmt-check:
	@tools/format.sh check

lint:
	@tools/lint.sh

clean:
	rm -rf build
