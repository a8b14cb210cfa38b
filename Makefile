# pichat: from a clone to a running server in one command, `make run`, and to
# tested in another, `make test`. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The Go that scripts/setup.sh found fit for go.mod. `make GO=/a/go …` takes another.
GO := build/go

# ARGS are passed on: make run ARGS='--listen :9000 --slots 2'
ARGS :=

# One package at a time: several load a model, and compute threads of two
# models that wait for each other on two cores take many times as long.
# V=1 names each test, and says why one is skipped.
TEST_FLAGS := -p 1 -timeout 20m$(if $(V), -v)

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

##@ Use

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^##@/ { print substr($$0, 4) ":" } \
		/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# PICHAT_CACHE speaks to the scripts; the program would call it an unknown setting.
.PHONY: run
run: build model ## build all, serve on port 8080 (ARGS='--listen :9000' passes flags)
	@exec env -u PICHAT_CACHE bin/pichat serve $(ARGS)

.PHONY: test
test: setup-test engine model test-models ## install what tests need, run them all
	@GO=$(GO) scripts/lint.sh vet generated licences
	@$(GO) test $(TEST_FLAGS) ./...

##@ Parts of these

.PHONY: setup
setup: ## install what is missing to build
	@scripts/setup.sh build

.PHONY: setup-test
setup-test: setup ## install what is missing to test: a browser, fonts, .venv
	@scripts/setup.sh test

.PHONY: engine
engine: setup ## build llama.cpp for this CPU, once (LLAMA_CPP_DIR=… for your own tree)
	@scripts/engine.sh

.PHONY: model
model: setup ## fetch the default model, once
	@scripts/model.sh default

.PHONY: test-models
test-models: setup ## fetch the model that only tests use, once
	@scripts/model.sh test

.PHONY: build
build: engine ## build bin/pichat
	@$(GO) build -trimpath -buildvcs=false -ldflags "-X main.version=$(VERSION)" -o bin/pichat ./cmd/pichat

##@ Put it on a Pi

.PHONY: pi
pi: ## build dist/pichat-linux-arm64, one file for every 64-bit Pi; with PI='pi@host …' install it there (BUILD_ON=pi builds there too)
	@VERSION='$(VERSION)' scripts/pi.sh
	@$(if $(PI),[[ -n '$(DRY_RUN)' && ! -e dist/pichat-linux-arm64 ]] || scripts/deploy.sh $(PI))

.PHONY: pi-test
pi-test: pi build model ## try the file for the Pi on emulated CPUs (root, for binfmt_misc)
	@scripts/pi-test.sh

# MODEL=, PORT=, DRY_RUN=1 and the like reach the script too: make hands on what
# its command line sets.
.PHONY: deploy
deploy: ## install dist/pichat-linux-arm64 over ssh, PI='pi@host …' (DRY_RUN=1 only says what it would do)
	@scripts/deploy.sh $(PI)

.PHONY: pi-rollback
pi-rollback: ## go back to the release before, PI='pi@host …'
	@scripts/deploy.sh --rollback $(PI)

.PHONY: pi-verify
pi-verify: ## verify and measure the pichat that runs there, PI='pi@host …' (SECONDS=60, TOKENS=256), into dist/verify/
	@SECONDS_OF_WRITING='$(SECONDS)' scripts/pi-verify.sh $(PI)

.PHONY: deploy-test
deploy-test: engine model ## deploy to a scratch target over a throw-away sshd, break it, build there
	@DEPLOY_TEST=1 $(GO) test -count=1 -timeout 10m -run '^TestDeploy|^TestBuildOnPi' $(if $(V),-v )./scripts

.PHONY: dist-amd64
dist-amd64: ## build dist/pichat-linux-amd64, one file for every PC with SSE 4.2
	@GO=$(GO) VERSION='$(VERSION)' scripts/bundle.sh amd64

.PHONY: amd64-test
amd64-test: dist-amd64 model ## try the file for PCs on emulated CPUs
	@scripts/amd64-test.sh

.PHONY: deb
deb: dist-amd64 ## pack dist/pichat_VERSION_amd64.deb, and the arm64 one after make pi
	@GO=$(GO) VERSION=$(VERSION) scripts/deb.sh

.PHONY: deb-test
deb-test: deb ## install, upgrade, remove and purge the .deb in a scratch root (as root; ARCH=arm64 too)
	@GO=$(GO) scripts/deb_test.sh

.PHONY: systemd-test
systemd-test: deb model ## try the .deb under a real systemd in a scratch root (as root)
	@scripts/systemd-test.sh

##@ Work on the code

.PHONY: generate
generate: setup ## write the Go files of the page's templates
	@$(GO) generate ./...

# Not those of ./scripts: they try shell scripts, which it cannot watch either.
.PHONY: race
race: setup-test engine model test-models ## run the tests under the race detector (C code is not watched)
	@$(GO) test -race $(TEST_FLAGS) $$($(GO) list ./... | grep -vx 'pichat/scripts')

.PHONY: lint
lint: setup engine ## check formatting, vet, staticcheck, scripts, licences
	@GO=$(GO) scripts/lint.sh

.PHONY: fuzz-short
fuzz-short: setup engine ## run each fuzz target for 10 s
	@GO=$(GO) scripts/fuzz.sh 10s

.PHONY: bench
bench: build model ## measure (ARGS='./llm/...' for some packages only)
	@GO=$(GO) scripts/bench.sh $(ARGS)

# LLAMA_SERVER and LLAMA_BENCH are what scripts/peers.sh builds, or your own.
.PHONY: compare
compare: build model ## measure against LLAMA_SERVER=… LLAMA_BENCH=… (ARGS='-only decode,gap')
	@env -u PICHAT_CACHE $(GO) run ./scripts/compare -llama-server '$(LLAMA_SERVER)' -llama-bench '$(LLAMA_BENCH)' $(ARGS)

.PHONY: sim
sim: ## try the batching policies in simulated time, draw docs/images/batching-*.svg
	@$(GO) run ./scripts/sim docs/images

.PHONY: screenshots
screenshots: setup-test build model ## take the README's pictures of the page
	@$(GO) run ./scripts/screenshots bin/pichat docs/images

.PHONY: licences
licences: setup engine ## collect the licences of all that the program links
	@GO=$(GO) scripts/licences.sh write

.PHONY: check
check: lint test race ## all that needs no more than this; .ci/run adds the Pi and the packages

.PHONY: clean
clean: ## remove what make built here; downloads and engines stay in the cache folder
	@rm -rf bin build dist .venv llm/llamacpp/engine_build.go
	@find models -maxdepth 1 -type l -delete 2>/dev/null || true
