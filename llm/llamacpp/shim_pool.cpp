// The pools of compute threads: one for each count in use. Only the pool of the
// running step is awake, since the surplus workers of a larger one would keep
// polling beside it.
#include "shim_internal.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace {

ggml_threadpool *new_pool(int32_t threads) {
    // The default level of polling: workers spin for a moment between two
    // graphs and then sleep on a condition, so an idle server uses no CPU.
    ggml_threadpool_params params = ggml_threadpool_params_default(threads);
    params.paused = true; // until the first graph
    ggml_threadpool *pool = ggml_threadpool_new(&params);
    if (pool == nullptr) {
        throw std::runtime_error("cannot start " + std::to_string(threads) + " compute threads");
    }
    return pool;
}

ggml_threadpool *find(const pc_context *c, int32_t threads) {
    for (const pc_pool &p : c->pools) {
        if (p.threads == threads) {
            return p.pool;
        }
    }
    return nullptr;
}

void need(pc_context *c, int32_t threads) {
    if (find(c, threads) == nullptr) {
        c->pools.reserve(c->pools.size() + 1); // so that a new pool cannot be lost
        c->pools.push_back({threads, new_pool(threads)});
    }
}

} // namespace

void pc_pools_set(pc_context *c, int32_t decode_threads, int32_t prefill_threads) {
    need(c, decode_threads);
    need(c, prefill_threads);
    c->decode_threads = decode_threads;
    c->prefill_threads = prefill_threads;
}

void pc_pools_attach(pc_context *c, bool prefill) {
    const int32_t threads = prefill ? c->prefill_threads : c->decode_threads;
    ggml_threadpool *pool = find(c, threads);
    if (pool == c->attached) {
        return;
    }
    // llama.cpp itself takes the batch pool for every step of more than one
    // token, so both are set to the one that is wanted. The pool that is left is
    // paused by ggml when the graph runs.
    llama_attach_threadpool(c->context, pool, pool);
    llama_set_n_threads(c->context, threads, threads);
    c->attached = pool;
}

void pc_pools_sweep(pc_context *c) {
    const auto unused = [c](const pc_pool &p) {
        return p.threads != c->decode_threads && p.threads != c->prefill_threads && p.pool != c->attached;
    };
    const auto from = std::stable_partition(c->pools.begin(), c->pools.end(),
                                            [&](const pc_pool &p) { return !unused(p); });
    for (auto p = from; p != c->pools.end(); ++p) {
        ggml_threadpool_free(p->pool);
    }
    c->pools.erase(from, c->pools.end());
}

void pc_pools_free(pc_context *c) {
    for (const pc_pool &p : c->pools) {
        ggml_threadpool_free(p.pool);
    }
    c->pools.clear();
}

int pc_context_set_threads(pc_context *c, int32_t decode_threads, int32_t prefill_threads, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        pc_pools_set(c, decode_threads, prefill_threads);
        return PC_OK;
    });
}
