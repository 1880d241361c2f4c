# The front door. `make demo` and `make test` install what they need by themselves.
.PHONY: all demo test lint bench install clean setup setup-test format

all: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release

setup:
	@scripts/setup

setup-test:
	@scripts/setup test

# The main job, on this machine, in about a minute.
demo: all
	@scripts/demo

# Everything: unit, contract, threads, mpirun, sanitizers, fuzzers, lint.
test: setup-test
	@scripts/test

# Format, static analysis, layers, ceilings.
lint: setup-test
	@cmake --preset release >/dev/null
	@scripts/lint

# Our figures beside the peers', in one run.
bench: setup-test all
	@bench/run

install: all
	@cmake --install build

format:
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs scripts/wrap-comments
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf build build-dev build-tsan build-fuzz
