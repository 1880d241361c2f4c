# Entry points. `make` builds with what is installed; `make demo` and `make test` install what they need first.
.PHONY: all demo test lint bench install uninstall package reference pictures clean setup format

all:
	@scripts/build

setup:
	@scripts/setup

# A small training comparison on this machine, in about a minute.
demo:
	@scripts/setup
	@scripts/build
	@scripts/demo

# Everything: unit, contract, threads, mpirun, sanitizers, fuzzers, lint.
test:
	@scripts/setup test
	@scripts/test

# Format, static analysis, layers, ceilings.
lint:
	@scripts/setup test
	@cmake --preset release >/dev/null
	@scripts/lint

# Our figures next to those of other libraries, in one run.
bench:
	@scripts/setup test
	@scripts/build
	@bench/run

install: all
	@cmake --install build

# Remove what the last `make install` installed.
uninstall:
	@cmake -DMANIFEST=build/install_manifest.txt -P cmake/uninstall.cmake

# Debian packages for this release of Debian, in build-package.
package:
	@scripts/setup package
	@scripts/package

# The reference of the C interface, generated from the headers: build/reference/index.html.
reference:
	@scripts/setup reference
	@scripts/reference

# The pictures in docs/pictures, each drawn from the text file next to it.
pictures:
	@scripts/draw

format:
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs scripts/wrap-comments
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf build build-dev build-tsan build-fuzz build-package
