# Every command a developer needs; `make` alone lists them. `make test` and `make build` need only Go, make and git.
# Recipes name files relative to this folder, so that a path with spaces works, and share nothing but Go's own caches,
# so that `make -j` works.

GO      ?= go
MODULE  := github.com/goclaw/goclaw
LDFLAGS := -s -w
# Without this tag grpc, which the SDK for Gemini brings, has a page of its own for looking at calls; it makes the
# linker keep every exported method there is, and the program 34 MB larger.
TAGS    := grpcnotrace

.DEFAULT_GOAL := help
.PHONY: help go-version build run test race fuzz lint fmt generate ui bench load cover check clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

go-version:
	@GO="$(GO)" scripts/need-go

# Without cgo the program is static and needs no C compiler. Its version comes from git and is empty outside a checkout;
# Go itself need not ask git, which fails where another user owns the folder.
build: go-version ## build bin/goclaw
	@version=$$(git describe --tags --always --dirty 2>/dev/null || true); \
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -tags "$(TAGS)" \
		-ldflags "$(LDFLAGS)$${version:+ -X $(MODULE)/internal/cli.version=$$version}" \
		-o bin/goclaw ./cmd/goclaw

run: build ## build and start the gateway, with the model your environment offers or the demo model; prints the link to its page
	@exec bin/goclaw start --allow-demo

test: ## run all tests; needs only Go, make and git
	@GO="$(GO)" scripts/test

race: go-version ## run the concurrent packages (scripts/race-packages) under the race detector; needs gcc
	@GO="$(GO)" scripts/race

fuzz: go-version ## fuzz every target for a short time (FUZZTIME, FUZZBUDGET in seconds)
	@GO="$(GO)" scripts/fuzz

lint: go-version ## check format, vet and staticcheck, with and without the tag of the test tools
	@GO="$(GO)" scripts/lint

fmt: go-version ## format the Go files
	@GO="$(GO)" scripts/gofiles | GO="$(GO)" xargs -0 -r scripts/tool gofumpt -w

ui: ## build the web UI anew into internal/gateway/web/dist; needs Node and npm
	@scripts/ui build

generate: go-version ## write generated files anew
	@$(GO) generate ./...

bench: go-version ## run benchmarks (PKGS, BENCH, COUNT, BENCHTIME), tell ratios, compare with the run before
	@GO="$(GO)" scripts/bench $(PKGS)

load: build ## measure a running gateway beside the floor (LOAD="-turns 100 -sessions 50")
	@CGO_ENABLED=0 $(GO) run -trimpath ./scripts/load $(LOAD)

cover: go-version ## write .cache/cover.html and print the total
	@mkdir -p .cache
	@CGO_ENABLED=0 $(GO) test -count=1 -coverprofile=.cache/cover.out ./...
	@$(GO) tool cover -html=.cache/cover.out -o .cache/cover.html
	@$(GO) tool cover -func=.cache/cover.out | tail -n 1

check: ## run the whole gate
	@.ci/run

clean: ## remove what these commands made; Go's caches stay
	@rm -rf bin .cache ui/node_modules ui/tests/out
