SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help check test race e2e lint fmt vet verify fuzz bench bench-coldstart bench-engine bench-policy build release soak deps clean

GO       ?= go
TOOL      = $(GO) tool -modfile=tools/go.mod
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# every package but the end-to-end tests, which need the built binary and minutes
PACKAGES  = $(shell $(GO) list ./... | grep -v '/e2e')
# the race detector needs cgo and a C compiler; `make deps` brings one
RACE      = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),$(if $(shell command -v "$$($(GO) env CC)"),-race))
# what the detector's own memory would hide: these skip themselves under it
UNRACED   = TestIdleTunnelIsSmall|TestAnswersAreCopiedWithPooledBuffers
E2E_FLAGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: lint ## what to run before a commit: lint and the short tests
	$(GO) test -short -timeout 5m $(PACKAGES)

test: race e2e ## all tests, the end-to-end tests and their table of clients last

race: ## unit tests with the race detector
	$(if $(RACE),,@echo "no C compiler found: the unit tests run without the race detector (make deps installs one)"; test "$${CI:-}" != true)
	$(GO) test $(RACE) -timeout 15m $(PACKAGES)
	$(if $(RACE),$(GO) test -run '^($(UNRACED))$$' ./proxy)
	$(GO) -C bench test ./...

e2e: ## end-to-end tests: the built binary, ways past it, every real client found, real robots.txt files
	$(GO) -C e2e test -count=1 -timeout 10m $(E2E_FLAGS) ./bypass
	$(GO) -C e2e test -count=1 -timeout 25m $(E2E_FLAGS)

lint: vet ## formatting, vet and the chosen linters (.golangci.yml)
	$(TOOL) golangci-lint run --timeout 10m
	cd bench && $(GO) tool -modfile=../tools/go.mod golangci-lint run --timeout 10m

vet:
	$(GO) vet ./...

fmt: ## format every Go file
	$(TOOL) golangci-lint fmt

verify: ## what heed is made of and runs as: checksums, known vulnerabilities, a build that can be repeated, the unit's exposure
	$(GO) mod verify
	tools/vuln
	tools/release reproducible
	tools/exposure

FUZZTIME ?= 30s
fuzz: ## every fuzz target, FUZZTIME (30s) each
	@grep -rln --include='*_test.go' '^func Fuzz' . | grep -v '^./bench/' | sort | while read -r file; do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
	    echo "$$(dirname "$$file") $$target"; \
	    $(GO) test "$$(dirname "$$file")" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) </dev/null || exit 1; \
	  done; \
	done

bench: ## benchmarks, six runs each, as benchstat wants them
	$(GO) test -run '^$$' -bench . -benchmem -count 6 -timeout 60m $(PACKAGES)

bench-coldstart: ## 10,000 origins that heed has never met, through the binary (bench/README.md)
	$(GO) -C bench run ./coldstart -heed "$(VERSION)"

bench-engine: ## heed as a proxy next to its peers, in one run of 20 minutes (bench/README.md)
	$(GO) -C bench run ./engine -require-all -version "$(VERSION)"

bench-policy: ## heed/policy next to its peers, in one run (bench/README.md)
	$(GO) -C bench run ./policy -heed "$(VERSION)"

SOAKTIME ?= 10m
soak: ## mixed load with faults for SOAKTIME (10m), each decision checked by another parser (bench/README.md)
	$(GO) -C bench run ./soak -for $(SOAKTIME)

build: ## the static binary, ./heed
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X heed/internal/cli.version=$(VERSION)' -o heed .

release: ## binaries, what they are made of, and checksums, in dist/
	VERSION="$(VERSION)" tools/release

deps: ## install every real client that the end-to-end tests drive
	@tools/deps

clean: ## remove what make built
	rm -rf heed e2e/node/node_modules
