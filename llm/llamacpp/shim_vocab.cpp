// The vocabulary: pieces of all tokens at once, and tokenizing.
#include "shim_internal.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

// Some pre-tokenizers match with std::regex, which recurses once or more for
// every character of a match (llama.cpp src/unicode.cpp). Go cuts long runs, and this
// stack holds what is left with room to spare. Its pages are only taken when
// they are touched.
constexpr size_t stack_bytes = size_t{128} << 20;

struct job {
    const pc_model *model;
    const char *text;
    const size_t *ends;
    size_t n_parts;
    bool special;
    int guard;
    int32_t guard_token;
    std::vector<llama_token> tokens;
    int code;
    pc_error *err;
};

// append_part tokenizes one part and appends its tokens.
void append_part(job &j, const std::string &part, bool guarded) {
    if (part.empty() || (guarded && part.size() == 1)) {
        return;
    }
    const size_t old = j.tokens.size();
    j.tokens.resize(old + part.size() + 8);
    int32_t n = llama_tokenize(j.model->vocab, part.data(), static_cast<int32_t>(part.size()),
                               j.tokens.data() + old, static_cast<int32_t>(j.tokens.size() - old), false,
                               j.special);
    if (n < 0) {
        j.tokens.resize(old + static_cast<size_t>(-static_cast<int64_t>(n)));
        n = llama_tokenize(j.model->vocab, part.data(), static_cast<int32_t>(part.size()),
                           j.tokens.data() + old, static_cast<int32_t>(j.tokens.size() - old), false,
                           j.special);
        if (n < 0) {
            throw std::runtime_error("the tokenizer gave no stable number of tokens");
        }
    }
    j.tokens.resize(old + static_cast<size_t>(n));
    if (!guarded) {
        return;
    }
    for (size_t i = old; i < j.tokens.size(); i++) {
        if (j.tokens[i] == j.guard_token) {
            j.tokens.erase(j.tokens.begin() + old, j.tokens.begin() + i + 1);
            return;
        }
    }
    throw std::runtime_error("the tokenizer swallowed the guard between two parts");
}

void *run(void *data) {
    auto *j = static_cast<job *>(data);
    j->code = pc_guarded(j->err, PC_FAILED, [&] {
        size_t begin = 0;
        for (size_t i = 0; i < j->n_parts; i++) {
            std::string part;
            const bool guarded = i > 0 && j->guard != 0;
            if (guarded) {
                part.push_back(static_cast<char>(j->guard));
            }
            part.append(j->text + begin, j->ends[i] - begin);
            append_part(*j, part, guarded);
            begin = j->ends[i];
        }
        return PC_OK;
    });
    return nullptr;
}

// run_on_large_stack runs the job on a thread of its own and waits for it.
void run_on_large_stack(job &j) {
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) {
        throw std::runtime_error("no memory for a thread's attributes");
    }
    pthread_t thread;
    int rc = pthread_attr_setstacksize(&attr, stack_bytes);
    if (rc == 0) {
        rc = pthread_create(&thread, &attr, run, &j);
    }
    pthread_attr_destroy(&attr);
    if (rc != 0) {
        throw std::runtime_error(std::string("cannot start the tokenizer's thread: ") + std::strerror(rc));
    }
    pthread_join(thread, nullptr);
}

// piece appends a token's bytes to arena.
void piece(const llama_vocab *vocab, llama_token id, std::string &arena) {
    char buf[256];
    int32_t n = llama_token_to_piece(vocab, id, buf, sizeof buf, 0, false);
    if (n >= 0) {
        arena.append(buf, static_cast<size_t>(n));
        return;
    }
    std::string large(static_cast<size_t>(-static_cast<int64_t>(n)), '\0');
    n = llama_token_to_piece(vocab, id, large.data(), static_cast<int32_t>(large.size()), 0, false);
    if (n > 0) {
        arena.append(large.data(), static_cast<size_t>(n));
    }
}

uint8_t kind(const llama_vocab *vocab, llama_token id) {
    const llama_token_attr attr = llama_vocab_get_attr(vocab, id);
    int k = llama_vocab_is_eog(vocab, id) ? PC_TOKEN_EOG : 0;
    k |= (attr & LLAMA_TOKEN_ATTR_CONTROL) != 0 ? PC_TOKEN_CONTROL : 0;
    k |= (attr & LLAMA_TOKEN_ATTR_UNKNOWN) != 0 ? PC_TOKEN_UNKNOWN : 0;
    k |= (attr & LLAMA_TOKEN_ATTR_USER_DEFINED) != 0 ? PC_TOKEN_USER_DEFINED : 0;
    return static_cast<uint8_t>(k);
}

} // namespace

int pc_vocab_describe(const pc_model *m, pc_vocab_info *info, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        info->size = llama_vocab_n_tokens(m->vocab);
        info->type = llama_vocab_type(m->vocab);
        info->bos = llama_vocab_bos(m->vocab);
        info->eos = llama_vocab_eos(m->vocab);
        info->add_bos = llama_vocab_get_add_bos(m->vocab);
        return PC_OK;
    });
}

int pc_vocab_pieces(const pc_model *m, int32_t n, uint8_t *kinds, uint32_t *ends, char **arena,
                    pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        std::string all;
        all.reserve(static_cast<size_t>(n) * 8);
        for (llama_token id = 0; id < n; id++) {
            kinds[id] = kind(m->vocab, id);
            piece(m->vocab, id, all);
            ends[id] = static_cast<uint32_t>(all.size());
        }
        if (all.size() > UINT32_MAX) {
            throw std::runtime_error("the vocabulary's texts are larger than 4 GB");
        }
        *arena = static_cast<char *>(std::malloc(all.size() + 1));
        if (*arena == nullptr) {
            throw std::bad_alloc();
        }
        std::memcpy(*arena, all.data(), all.size());
        return PC_OK;
    });
}

void pc_free(void *p) { std::free(p); }

const char *pc_vocab_text(const pc_model *m, int32_t id) {
    try {
        return llama_vocab_get_text(m->vocab, id);
    } catch (...) {
        return nullptr;
    }
}

int pc_tokenize(const pc_model *m, const char *text, const size_t *ends, size_t n_parts, int special,
                int guard, int32_t guard_token, int32_t **tokens, size_t *n_tokens, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        job j{m, text, ends, n_parts, special != 0, guard, guard_token, {}, PC_OK, err};
        run_on_large_stack(j);
        if (j.code != PC_OK) {
            return PC_FAILED;
        }
        *n_tokens = j.tokens.size();
        *tokens = static_cast<int32_t *>(std::malloc(j.tokens.size() * sizeof(int32_t) + 1));
        if (*tokens == nullptr) {
            throw std::bad_alloc();
        }
        std::memcpy(*tokens, j.tokens.data(), j.tokens.size() * sizeof(int32_t));
        return PC_OK;
    });
}
