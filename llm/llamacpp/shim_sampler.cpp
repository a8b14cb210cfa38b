// Picking the next token. The chain is llama.cpp's (repeat penalty, top-k,
// top-p, min-p, temperature, seed), but its first two links are done here:
// llama.cpp builds and hashes a table of the whole vocabulary for them, which
// at 262,144 entries costs percents of a token. Only the 64 recent tokens can
// be penalised, and top-k needs one pass with a small heap.
#include "shim_internal.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <memory>

namespace {

constexpr size_t recent_tokens = 64;

struct chain_free {
    void operator()(llama_sampler *s) const { llama_sampler_free(s); }
};

} // namespace

struct pc_sampler {
    pc_sampling config;
    int32_t n_vocab = 0;
    std::unique_ptr<llama_sampler, chain_free> chain; // what follows top-k; null when greedy
    std::vector<llama_token> recent;                  // a ring
    size_t oldest = 0;
    std::vector<llama_token> suppressed; // tokens that are never picked
    std::vector<llama_token_data> candidates;
    std::vector<std::pair<llama_token, float>> saved; // logits changed in place

    void remember(llama_token t) {
        if (config.repeat == 1.0f) {
            return;
        }
        if (recent.size() < recent_tokens) {
            recent.push_back(t);
            return;
        }
        recent[oldest] = t;
        oldest = (oldest + 1) % recent_tokens;
    }
};

namespace {

// finite is false for NaN and both infinities.
bool finite(float x) { return x >= -FLT_MAX && x <= FLT_MAX; }

// change sets a logit and remembers what it was.
void change(pc_sampler &s, float *logits, llama_token t, float value) {
    s.saved.emplace_back(t, logits[t]);
    logits[t] = value;
}

// penalise lowers the logits of recent tokens, each once, and takes suppressed
// ones out. It works on the context's own logits; restore undoes it.
void penalise(pc_sampler &s, float *logits) {
    for (const llama_token t : s.suppressed) {
        change(s, logits, t, -INFINITY);
    }
    for (size_t i = 0; i < s.recent.size(); i++) {
        const llama_token t = s.recent[i];
        if (std::find(s.recent.begin(), s.recent.begin() + i, t) != s.recent.begin() + i) {
            continue; // done already
        }
        const float l = logits[t];
        change(s, logits, t, l <= 0 ? l * s.config.repeat : l / s.config.repeat);
    }
}

void restore(pc_sampler &s, float *logits) {
    for (auto it = s.saved.rbegin(); it != s.saved.rend(); ++it) {
        logits[it->first] = it->second;
    }
    s.saved.clear();
}

// for_larger calls visit for every block of logits that may hold one larger
// than *bar, which visit may raise. Most blocks hold none, and finding that out
// is fast: the lanes let the compiler use vector instructions. A NaN never wins
// a comparison.
template <typename F> void for_larger(const float *logits, int32_t n, const float *bar, F visit) {
    constexpr int32_t block = 512, lanes = 16;
    int32_t begin = 0;
    for (; begin + block <= n; begin += block) {
        float top[lanes];
        std::fill(top, top + lanes, -INFINITY);
        for (int32_t i = begin; i < begin + block; i += lanes) {
            for (int32_t k = 0; k < lanes; k++) {
                top[k] = logits[i + k] > top[k] ? logits[i + k] : top[k];
            }
        }
        if (*std::max_element(top, top + lanes) > *bar) {
            visit(begin, begin + block);
        }
    }
    visit(begin, n);
}

// argmax returns the token with the largest finite logit, the first of equals,
// or -1 when there is none.
llama_token argmax(const float *logits, int32_t n) {
    float best = -INFINITY;
    llama_token token = -1;
    for_larger(logits, n, &best, [&](int32_t begin, int32_t end) {
        for (int32_t i = begin; i < end; i++) {
            if (logits[i] > best && finite(logits[i])) {
                best = logits[i];
                token = i;
            }
        }
    });
    return token;
}

bool larger(const llama_token_data &a, const llama_token_data &b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// select fills s.candidates with the top_k finite logits in descending order,
// or with all of them, unsorted, when top_k is off. It returns whether they
// are sorted.
bool select(pc_sampler &s, const float *logits) {
    auto &c = s.candidates;
    c.clear();
    const auto k = static_cast<size_t>(s.config.top_k);
    if (k == 0) {
        for (llama_token t = 0; t < s.n_vocab; t++) {
            if (finite(logits[t])) {
                c.push_back({t, logits[t], 0.0f});
            }
        }
        return false;
    }
    // A heap of the k largest so far with the smallest of them in front. Equal
    // logits: the lower token stays, since ids only grow.
    float least = -INFINITY;
    for_larger(logits, s.n_vocab, &least, [&](int32_t begin, int32_t end) {
        for (llama_token t = begin; t < end; t++) {
            if (!(logits[t] > least) || !finite(logits[t])) {
                continue;
            }
            if (c.size() == k) {
                std::pop_heap(c.begin(), c.end(), larger);
                c.pop_back();
            }
            c.push_back({t, logits[t], 0.0f});
            std::push_heap(c.begin(), c.end(), larger);
            least = c.size() == k ? c.front().logit : -INFINITY;
        }
    });
    std::sort(c.begin(), c.end(), larger);
    return true;
}

// draw picks a token by the chain, or -1 when no logit is finite.
llama_token draw(pc_sampler &s, const float *logits) {
    const bool sorted = select(s, logits);
    if (s.candidates.empty()) {
        return -1;
    }
    llama_token_data_array array{s.candidates.data(), s.candidates.size(), -1, sorted};
    llama_sampler_apply(s.chain.get(), &array);
    if (array.selected < 0 || static_cast<size_t>(array.selected) >= array.size) {
        return -1;
    }
    return array.data[array.selected].id;
}

std::unique_ptr<llama_sampler, chain_free> new_chain(const pc_sampling &p) {
    llama_sampler_chain_params params = llama_sampler_chain_default_params();
    params.no_perf = true;
    std::unique_ptr<llama_sampler, chain_free> chain(llama_sampler_chain_init(params));
    if (p.top_p < 1.0f) {
        llama_sampler_chain_add(chain.get(), llama_sampler_init_top_p(p.top_p, 1));
    }
    if (p.min_p > 0.0f) {
        llama_sampler_chain_add(chain.get(), llama_sampler_init_min_p(p.min_p, 1));
    }
    llama_sampler_chain_add(chain.get(), llama_sampler_init_temp(p.temperature));
    llama_sampler_chain_add(chain.get(), llama_sampler_init_dist(p.seed));
    return chain;
}

} // namespace

int pc_sampler_new(const pc_model *m, const pc_sampling *sampling, const int32_t *recent, int32_t n_recent,
                   const int32_t *barred, int32_t n_barred, pc_sampler **out, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        auto s = std::make_unique<pc_sampler>();
        s->config = *sampling;
        s->n_vocab = llama_vocab_n_tokens(m->vocab);
        if (sampling->temperature > 0) {
            s->chain = new_chain(*sampling);
        }
        for (int32_t i = 0; i < n_recent; i++) {
            s->remember(recent[i]);
        }
        s->suppressed.assign(barred, barred + n_barred);
        int32_t n = 0;
        const llama_token *tokens = llama_vocab_get_suppress_tokens(m->vocab, &n);
        for (int32_t i = 0; i < n; i++) {
            if (tokens[i] >= 0 && tokens[i] < s->n_vocab) {
                s->suppressed.push_back(tokens[i]);
            }
        }
        *out = s.release();
        return PC_OK;
    });
}

void pc_sampler_free(pc_sampler *s) { delete s; }

int pc_sample(pc_sampler *s, pc_context *c, int32_t index, int32_t *token, pc_error *err) {
    const pc_cpu_meter meter(&c->control->cpu_ns);
    return pc_guarded(err, PC_FAILED, [&] {
        float *logits = llama_get_logits_ith(c->context, index);
        if (logits == nullptr) {
            pc_set_error(err, "the batch has no output at this index");
            return PC_FAILED;
        }
        penalise(*s, logits);
        const llama_token t = s->chain ? draw(*s, logits) : argmax(logits, s->n_vocab);
        restore(*s, logits);
        if (t < 0) {
            pc_set_error(err, "the model produced no finite logits");
            return PC_FAILED;
        }
        s->remember(t);
        *token = t;
        return PC_OK;
    });
}
