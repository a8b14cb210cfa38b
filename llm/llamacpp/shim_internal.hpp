// What the parts of the shim share. Not seen by Go.
#pragma once

#include "shim.h"

#include "ggml-cpu.h"
#include "llama.h"

#include <cstdio>
#include <ctime>
#include <exception>
#include <vector>

struct pc_model {
    llama_model *model = nullptr;
    const llama_vocab *vocab = nullptr;
};

struct pc_pool {
    int32_t threads;
    ggml_threadpool *pool;
};

struct pc_context {
    llama_context *context = nullptr;
    const llama_vocab *vocab = nullptr;
    llama_memory_t memory = nullptr;
    pc_control *control = nullptr;

    // One pool of threads for each count in use (shim_pool.cpp).
    std::vector<pc_pool> pools;
    int32_t decode_threads = 0;
    int32_t prefill_threads = 0;
    ggml_threadpool *attached = nullptr;

    // What llama_batch needs beside the caller's arrays.
    std::vector<int32_t> n_seq_id;
    std::vector<llama_seq_id> seq_ids;
    std::vector<llama_seq_id *> seq_id;
};

// pc_cpu_meter adds the CPU time of this thread, while it lives, to *total.
class pc_cpu_meter {
  public:
    explicit pc_cpu_meter(uint64_t *total) : total(total), begin(now()) {}
    ~pc_cpu_meter() { __atomic_fetch_add(total, now() - begin, __ATOMIC_RELAXED); }
    pc_cpu_meter(const pc_cpu_meter &) = delete;
    pc_cpu_meter &operator=(const pc_cpu_meter &) = delete;

  private:
    static uint64_t now() {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
    }
    uint64_t *total;
    uint64_t begin;
};

// pc_pools_set makes the pools for these counts and notes the counts. It throws
// when threads cannot be started, and has then changed nothing.
void pc_pools_set(pc_context *c, int32_t decode_threads, int32_t prefill_threads);

// pc_pools_attach makes the next graph run on the pool of a step's kind.
void pc_pools_attach(pc_context *c, bool prefill);

// pc_pools_sweep frees the pools that no step will use. It may be called only
// after a graph ran on the attached pool: until then ggml still holds the one
// before, to pause it.
void pc_pools_sweep(pc_context *c);

// pc_pools_free frees all pools, once ggml does not hold any of them.
void pc_pools_free(pc_context *c);

inline void pc_set_error(pc_error *err, const char *text) {
    std::snprintf(err->text, sizeof err->text, "%s", text);
}

// pc_guarded runs f, which returns a code, and turns an exception into failed.
template <typename F> int pc_guarded(pc_error *err, int failed, F f) noexcept {
    try {
        return f();
    } catch (const std::exception &e) {
        pc_set_error(err, e.what());
    } catch (...) {
        pc_set_error(err, "an unknown C++ exception");
    }
    return failed;
}
