# pichat: from a clone to a running server in one command, `make run`, and to
# tested in another, `make test`. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The Go that scripts/setup.sh found fit for go.mod. `make GO=go …` takes another.
GO := build/go

# ARGS are passed on: make run ARGS='--listen :9000 --slots 2'
ARGS :=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what is missing to build (make run does it)
	@scripts/setup.sh build

.PHONY: engine
engine: setup ## build llama.cpp for this CPU, once (LLAMA_CPP_DIR=… for your own tree)
	@scripts/engine.sh

.PHONY: model
model: setup ## fetch the default model, once
	@scripts/model.sh default

.PHONY: build
build: engine ## build bin/pichat
	@$(GO) build -trimpath -buildvcs=false -o bin/pichat \
		-ldflags "-X main.version=$$(git describe --tags --always --dirty 2>/dev/null || echo unknown)" ./cmd/pichat

.PHONY: run
run: build model ## build all, then serve on port 8080 (ARGS='--listen :9000' and more)
	@exec bin/pichat serve $(ARGS)
