# The front door. `make` builds with what is here; `make demo` and `make test` install what they need first.
.PHONY: all demo test lint bench install uninstall package reference pictures clean setup format

all:
	@scripts/build

setup:
	@scripts/setup

# The main job, on this machine, in about a minute.
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

# Our figures beside the peers', in one run.
bench:
	@scripts/setup test
	@scripts/build
	@bench/run

install: all
	@cmake --install build

# What the last `make install` put into place.
uninstall:
	@cmake -DMANIFEST=build/install_manifest.txt -P cmake/uninstall.cmake

# Debian packages for this release of Debian, in build-package.
package:
	@scripts/setup package
	@scripts/package

# The reference of the C interface, made from the headers: build/reference/index.html.
reference:
	@scripts/setup reference
	@scripts/reference

# The pictures of docs/pictures, from the text beside each.
pictures:
	@scripts/draw

format:
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs scripts/wrap-comments
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf build build-dev build-tsan build-fuzz build-package
