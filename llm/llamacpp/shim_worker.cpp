// A thread of C's own for long evaluations.
//
// A goroutine that stays in C for more than 10 ms loses its processor to Go's
// monitor, which then looks every 20 us for a while: about a millisecond of CPU
// for each such call (runtime.retake and sysmon, Go 1.26). One that waits for
// a file does not: so the thread here evaluates, and writes to an eventfd.
#include "shim_internal.hpp"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>

struct pc_worker {
    explicit pc_worker(int done_fd) : done_fd_(done_fd) {
        // Signals are Go's; the thread inherits the mask.
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            thread_ = std::thread([this] { loop(); });
        } catch (...) {
            pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    ~pc_worker() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }

    pc_worker(const pc_worker &) = delete;
    pc_worker &operator=(const pc_worker &) = delete;

    void begin(pc_context *c, int32_t n, const int32_t *tokens, const int32_t *positions,
               const int32_t *sequences, const int8_t *output, int prefill) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            context_ = c;
            tokens_.assign(tokens, tokens + n);
            positions_.assign(positions, positions + n);
            sequences_.assign(sequences, sequences + n);
            output_.assign(output, output + n);
            prefill_ = prefill;
        }
        wake_.notify_one();
    }

    int end(pc_error *err) {
        std::unique_lock<std::mutex> lock(mutex_);
        ended_.wait(lock, [this] { return context_ == nullptr; });
        *err = err_;
        return code_;
    }

  private:
    void loop() {
        pthread_setname_np(pthread_self(), "evaluate");
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return stop_ || context_ != nullptr; });
            if (stop_) {
                return;
            }
            code_ = pc_evaluate(context_, static_cast<int32_t>(tokens_.size()), tokens_.data(),
                                positions_.data(), sequences_.data(), output_.data(), prefill_, &err_);
            context_ = nullptr;
            ended_.notify_one();
            const uint64_t one = 1;
            // An eventfd with room takes this always.
            while (write(done_fd_, &one, sizeof one) < 0 && errno == EINTR) {
            }
        }
    }

    const int done_fd_;
    std::mutex mutex_;
    std::condition_variable wake_;  // there is something to do
    std::condition_variable ended_; // there is nothing to do
    bool stop_ = false;
    pc_context *context_ = nullptr; // what to evaluate; null when there is nothing to do
    std::vector<int32_t> tokens_, positions_, sequences_;
    std::vector<int8_t> output_;
    int prefill_ = 0;
    int code_ = 0;
    pc_error err_{};
    std::thread thread_; // last: it uses all of the above
};

int pc_worker_new(int done_fd, pc_worker **out, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        *out = new pc_worker(done_fd);
        return PC_OK;
    });
}

void pc_worker_free(pc_worker *w) { delete w; }

int pc_worker_begin(pc_worker *w, pc_context *c, int32_t n, const int32_t *tokens, const int32_t *positions,
                    const int32_t *sequences, const int8_t *output, int prefill, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        w->begin(c, n, tokens, positions, sequences, output, prefill);
        return PC_OK;
    });
}

int pc_worker_end(pc_worker *w, pc_error *err) { return w->end(err); }
