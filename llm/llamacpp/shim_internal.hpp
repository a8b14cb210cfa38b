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

struct pc_context {
    llama_context *context = nullptr;
    const llama_vocab *vocab = nullptr;
    llama_memory_t memory = nullptr;
    pc_control *control = nullptr;

    // Two thread pools, or one for both when their sizes are equal.
    ggml_threadpool *decode_pool = nullptr;
    ggml_threadpool *prefill_pool = nullptr;
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
