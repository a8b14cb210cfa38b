// The library as a whole: its start, its log and the CPU it was built for.
#include "shim_internal.hpp"

#include <atomic>
#include <cstring>
#include <mutex>

uint32_t pc_log_lines = 0;

namespace {

// The log comes from any thread and in pieces; Go reads it when it has time.
// A fixed ring of bytes, so that a thread that computes never waits for Go:
// when the ring is full, new lines are dropped and counted.
class log_ring {
  public:
    void write(ggml_log_level level, const char *text) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (level != GGML_LOG_LEVEL_CONT) {
            // A new line begins: what was left unfinished ends here.
            finish();
            level_ = level;
        }
        for (; *text != '\0'; text++) {
            if (*text == '\n') {
                finish();
            } else if (used_ < sizeof line_) {
                line_[used_++] = *text;
            }
        }
    }

    int next(char *buf, size_t size, int *level) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (count_ == 0 || size == 0) {
            return -1;
        }
        entry head;
        take(reinterpret_cast<char *>(&head), sizeof head);
        const size_t n = head.length < size ? head.length : size;
        take(buf, n);
        first_ = (first_ + (head.length - n)) % sizeof bytes_;
        count_ -= head.length - n;
        *level = head.level;
        return static_cast<int>(n);
    }

    uint32_t dropped() { return dropped_.exchange(0); }

  private:
    struct entry {
        uint16_t length;
        uint16_t level;
    };

    // finish moves the line that is being joined into the ring.
    void finish() {
        const entry head{static_cast<uint16_t>(used_), static_cast<uint16_t>(level_)};
        if (used_ > 0) {
            __atomic_fetch_add(&pc_log_lines, 1, __ATOMIC_RELEASE);
            if (sizeof head + used_ > sizeof bytes_ - count_) {
                dropped_++;
            } else {
                put(reinterpret_cast<const char *>(&head), sizeof head);
                put(line_, used_);
            }
        }
        used_ = 0;
    }

    void put(const char *from, size_t n) {
        for (size_t i = 0; i < n; i++) {
            bytes_[(first_ + count_++) % sizeof bytes_] = from[i];
        }
    }

    void take(char *to, size_t n) {
        for (size_t i = 0; i < n; i++) {
            to[i] = bytes_[first_];
            first_ = (first_ + 1) % sizeof bytes_;
        }
        count_ -= n;
    }

    std::mutex mutex_;
    ggml_log_level level_ = GGML_LOG_LEVEL_INFO;
    char line_[2048];
    size_t used_ = 0;
    char bytes_[256 * 1024];
    size_t first_ = 0;
    size_t count_ = 0;
    std::atomic<uint32_t> dropped_{0};
};

log_ring the_log;

void on_log(ggml_log_level level, const char *text, void *) { the_log.write(level, text); }

struct feature {
    const char *name;
    int (*used)(void);
};

#if defined(__aarch64__) || defined(__arm__)
const feature features[] = {
    {"neon", ggml_cpu_has_neon},       {"fma", ggml_cpu_has_arm_fma},
    {"fp16", ggml_cpu_has_fp16_va},    {"dotprod", ggml_cpu_has_dotprod},
    {"i8mm", ggml_cpu_has_matmul_int8}, {"sve", ggml_cpu_has_sve},
    {"sme", ggml_cpu_has_sme},
};
#else
const feature features[] = {
    {"sse3", ggml_cpu_has_sse3},
    {"ssse3", ggml_cpu_has_ssse3},
    {"avx", ggml_cpu_has_avx},
    {"avx2", ggml_cpu_has_avx2},
    {"avx_vnni", ggml_cpu_has_avx_vnni},
    {"bmi2", ggml_cpu_has_bmi2},
    {"f16c", ggml_cpu_has_f16c},
    {"fma", ggml_cpu_has_fma},
    {"avx512", ggml_cpu_has_avx512},
    {"avx512_vbmi", ggml_cpu_has_avx512_vbmi},
    {"avx512_vnni", ggml_cpu_has_avx512_vnni},
    {"avx512_bf16", ggml_cpu_has_avx512_bf16},
    {"amx_int8", ggml_cpu_has_amx_int8},
};
#endif

} // namespace

int pc_engine_start(pc_error *err) {
    return pc_guarded(err, PC_FAILED, [] {
        llama_log_set(on_log, nullptr);
        llama_backend_init();
        return PC_OK;
    });
}

const char *pc_cpu_feature(int i, int *used) {
    if (i < 0 || i >= static_cast<int>(sizeof features / sizeof features[0])) {
        return nullptr;
    }
    *used = features[i].used() != 0;
    return features[i].name;
}

int pc_log_next(char *buf, size_t size, int *level) { return the_log.next(buf, size, level); }

uint32_t pc_log_dropped(void) { return the_log.dropped(); }
