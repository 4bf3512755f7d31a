# Parley's tasks. `make` alone prints them. What `make check` finds is what CI finds.

export GOTOOLCHAIN := auto
TAGS               := sqlite_fts5
WINDOW_TAGS        := $(TAGS),desktop,production,webkit2_41
# One set of flags everywhere: another set compiles all of SQLite again.
export GOFLAGS     := -buildvcs=false -tags=$(TAGS)

# Without symbol tables: a third of the program. Stack traces and profiles need none.
LDFLAGS := -s -w

DATA      ?= .cache/demo
CYCLES    ?= 200
FUZZTIME  ?= 60s
MESSAGES  ?= 1000000
BENCHTIME ?= 1s
# go test, which names what failed once more where a long log ends.
GOTESTSUM := $(CURDIR)/bin/tools/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped,output --
# Some packages wait for browsers and programs most of the time: half as many more at once than there are processors.
TEST      := $(GOTESTSUM) -race -shuffle=on -timeout=15m -p=$(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)))

# What only compiles collects its garbage a quarter as often: a fifth of the time less, for some memory.
build cluster cluster-lint temporal-server package interop-deps tools lint uptodate gen compiled: export GOGC := 400
# All packages that tests of a module are made of, compiled but not linked.
COMPILED = go list -race -test -deps -export -f '{{""}}' ./... >/dev/null

.DEFAULT_GOAL := help
.PHONY: help run build cluster test check dev e2e bench bench-history bench-page crash cluster-test temporal-server interop interop-deps desktop desktop-smoke package pictures golden gen fuzz \
	fmt lint uptodate tidy clean deps tools compiled cluster-lint

help: ## print this
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build, start with the demo agents, open the browser (or print the address)
	@bin/parley $(ARGS)

build: ## build bin/parley, the browser edition: needs Go and a C compiler, nothing else
	@go build -ldflags "$(LDFLAGS)" -o bin/parley .

cluster: ## build bin/parley-cluster, for more than one machine: docs/scale.md
	@cd cluster && go build -ldflags "$(LDFLAGS)" -o ../bin/parley-cluster ./cmd/parley-cluster

test: deps tools ## install what the tests need, then run all of them, browser included
	$(TEST) ./...

# lint has vetted everything when the tests begin.
check: deps fmt lint uptodate compiled ## what CI runs first: format, vet, staticcheck, generated files, arrows, all tests
	$(TEST) -vet=off ./...

compiled: # all that the tests are made of
	@$(COMPILED)

dev: ## serve with demo data, and reload templ, TypeScript and Go on change
	@build/dev.sh

e2e: tools ## the tests in a real Chromium alone
	@build/deps.sh browser
	$(TEST) -run E2E ./...

bench: ## Go benchmarks of the hot paths, with allocations
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

bench-history: ## seed MESSAGES (1,000,000) messages and measure the pages of a real serve
	go test -count=1 -timeout=60m -v -run TestHistory ./app/historytest -messages $(MESSAGES) -dir $(CURDIR)/.cache/history-$(MESSAGES)

bench-page: ## measure the page in a real Chromium: start, scrolling, from a chunk to pixels, a flood
	go test -count=1 -timeout=15m -v -run TestSpeed ./frontend -speed

crash: ## CYCLES (200) times kill -9 under load, then compare with what was acknowledged
	go test -count=1 -timeout=40m -v -run TestCrash ./app/crashtest -cycles $(CYCLES)

cluster-lint: tools
	cd cluster && go vet ./... && ../bin/tools/staticcheck ./...
	@cd cluster && $(COMPILED)

# Most of these tests wait for others most of the time: more of them at once than there are processors.
cluster-test: cluster-lint temporal-server ## vet and test the module cluster, against a real PostgreSQL and a real Temporal
	@build/deps.sh postgres
	cd cluster && PARLEY_CLUSTER_TESTS=all $(TEST) -timeout=30m -parallel=6 ./...

temporal-server: bin/tools/temporal-server ## build the Temporal server of the tests from its module: some minutes, once

bin/tools/temporal-server: cluster/temporaltest/go.mod cluster/temporaltest/server/main.go
	cd cluster/temporaltest && go build -o ../../$@ ./server

interop: interop-deps ## other makers' SDKs against our agents, and our client against theirs; ARGS=-update writes docs/interop.md
	go test -tags $(TAGS),interop -count=1 -parallel=8 -timeout=15m $(if $(CI),-v) ./interop $(ARGS)
	go test -tags $(TAGS),interop -count=1 $(if $(CI),-v) ./interop/sign

interop-deps: ## install the peers of interop: npm packages, Python environments and Java libraries, by their lock files
	@build/deps.sh peers
	@interop/install.sh

desktop: ## build bin/parley-window and open it (under Xvfb where there is no display)
	@build/deps.sh window
	@go build -tags $(WINDOW_TAGS) -ldflags "$(LDFLAGS)" -o bin/parley-window .
	@build/display.sh bin/parley-window $(ARGS)

desktop-smoke: ## build the window, wait until its page is live, take a picture into bin/
	@build/deps.sh window
	@go vet -tags $(WINDOW_TAGS) . ./app/desktop
	@go build -tags $(WINDOW_TAGS) -ldflags "$(LDFLAGS)" -o bin/parley-window .
	@build/desktop-smoke.sh bin/parley-window bin/window.png

package: ## pack bin/package/: two .deb, and an archive for Windows; VERSION=1.2.3
	@build/deps.sh packages
	@build/package.sh all $(VERSION)

pictures: build ## take the pictures of the README from the real program
	@build/deps.sh browser
	@build/deps.sh window
	@go build -tags $(WINDOW_TAGS) -ldflags "$(LDFLAGS)" -o bin/parley-window .
	@build/pictures.sh bin/parley bin/parley-window docs/img

golden: ## rewrite the golden files and show what changed
	go test $$(grep -rl --include='*_test.go' 'Bool("update"' . | grep -v -e '^./interop/' -e '^./cluster/' | xargs -n1 dirname | sort -u) -update
	@git --no-pager diff --stat

gen: ## write the generated files: templ, and what esbuild makes of frontend/src
	@go tool templ generate -log-level error
	@go run -C build/assets .

fuzz: ## fuzz every target for FUZZTIME (60s) each
	@build/fuzz.sh $(FUZZTIME)

fmt: tools ## say which files gofumpt would change
	@out=$$(bin/tools/gofumpt -l $$(git ls-files -co --exclude-standard '*.go' | grep -v _templ.go)); \
		[ -z "$$out" ] || { echo "gofumpt wants:"; echo "$$out"; exit 1; }

lint: tools ## vet and staticcheck
	go vet ./...
	bin/tools/staticcheck ./...

uptodate: ## fail when a generated file or go.mod is not what its sources say
	@build/uptodate.sh

clean: ## remove what was built, and the demo data
	rm -rf bin .cache interop/*/node_modules interop/*/.venv interop/java03/target

deps:
	@build/deps.sh browser

tools: bin/tools/.stamp
bin/tools/.stamp: build/tools/go.mod build/tools/go.sum
	@mkdir -p bin/tools
	@GOFLAGS= go build -C build/tools -o ../../bin/tools/ tool
	@touch $@
