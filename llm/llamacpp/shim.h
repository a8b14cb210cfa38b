// What Go sees of llama.cpp: a C interface that lets no C++ exception out and
// calls no Go function. Nothing here may be called with arguments that Go has
// not checked: llama.cpp answers some of them by aborting the process.
#ifndef PICHAT_SHIM_H
#define PICHAT_SHIM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if !__has_include("llama.h")
#error "llama.cpp is not built yet: run make engine"
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Codes that functions return. The text of a failure goes to *err.
enum {
    PC_OK        = 0,
    PC_FAILED    = -1,
    PC_CANCELLED = -2,
};

// pc_error holds the text of a failure, NUL-terminated and cut at its size.
typedef struct pc_error {
    char text[512];
} pc_error;

// pc_control is memory that Go and llama.cpp's threads share, by atomic access
// only. It outlives every call that it is given to.
typedef struct pc_control {
    uint32_t abort;    // Go sets 1: the evaluation stops at the next graph node
    uint32_t cancel;   // Go sets 1: the loading of a model stops
    uint32_t progress; // of loading, 0..1000
    uint32_t ticks;    // graph nodes begun by evaluations: the proof of life
    uint64_t cpu_ns;   // CPU time of the threads that called pc_evaluate and pc_sample, inside them
} pc_control;

// ---- engine (shim_engine.cpp)

// pc_engine_start initialises the library; once per process, before all else.
int pc_engine_start(pc_error *err);

// pc_cpu_feature returns the i-th CPU feature that ggml knows for this family of
// CPUs and sets *used to whether the build uses it; NULL past the last.
const char *pc_cpu_feature(int i, int *used);

// pc_log_lines counts the lines that were logged, those that were dropped
// included; to be read by atomic access.
extern uint32_t pc_log_lines;

// pc_log_next moves the oldest complete line of the log into buf and its level
// (ggml's: 1 debug, 2 info, 3 warn, 4 error) into *level. It returns the line's
// length, or -1 when there is none. Any thread may call it.
int pc_log_next(char *buf, size_t size, int *level);

// pc_log_dropped returns how many lines were lost since the last call because
// nobody had read the ones before them.
uint32_t pc_log_dropped(void);

// ---- model (shim_model.cpp)

typedef struct pc_model pc_model;

// pc_model_load reads a model, or only its vocabulary.
int pc_model_load(const char *path, int vocab_only, pc_control *control, pc_model **out, pc_error *err);
void pc_model_free(pc_model *m);

typedef struct pc_model_info {
    uint64_t parameters;
    uint64_t tensor_bytes;
    int32_t train_window;
    int32_t sliding_window;
    int32_t has_encoder;
    int32_t has_decoder;
    int32_t is_recurrent;
    int32_t is_hybrid;
    int32_t is_diffusion;
    char ftype[64];
    char description[128];
} pc_model_info;

int pc_model_describe(const pc_model *m, pc_model_info *info, pc_error *err);

// pc_model_meta copies a metadata value into buf (NUL-terminated, cut at size)
// and returns its whole length, or -1 when the model has no such key.
int pc_model_meta(const pc_model *m, const char *key, char *buf, size_t size);

// pc_model_template returns the model's chat template or NULL. It lives as
// long as the model.
const char *pc_model_template(const pc_model *m);

// ---- vocabulary (shim_vocab.cpp)

typedef struct pc_vocab_info {
    int32_t size;
    int32_t type;    // llama_vocab_type
    int32_t bos;     // -1 when there is none
    int32_t eos;     // -1 when there is none
    int32_t add_bos; // the vocabulary asks for a BOS at the start
} pc_vocab_info;

int pc_vocab_describe(const pc_model *m, pc_vocab_info *info, pc_error *err);

// Kinds of tokens, as bits.
enum {
    PC_TOKEN_EOG          = 1,
    PC_TOKEN_CONTROL      = 2,
    PC_TOKEN_UNKNOWN      = 4,
    PC_TOKEN_USER_DEFINED = 8,
};

// pc_vocab_pieces writes the kinds of all n tokens and the ends of their pieces
// in *arena, which holds all pieces one after the other; the caller frees it
// with pc_free. Control tokens have an empty piece.
int pc_vocab_pieces(const pc_model *m, int32_t n, uint8_t *kinds, uint32_t *ends, char **arena,
                    pc_error *err);
void pc_free(void *p);

// pc_vocab_text returns a token's text in the vocabulary; it lives as long as
// the model. id must be in range.
const char *pc_vocab_text(const pc_model *m, int32_t id);

// pc_tokenize tokenizes n_parts pieces of text one by one on a thread with a
// large stack. Part i is text[ends[i-1]..ends[i]). No token for the beginning
// or end of text is added. guard is 0, or a byte that is put before each part
// but the first and whose token is dropped again together with those before it.
// *tokens is the caller's, freed with pc_free.
int pc_tokenize(const pc_model *m, const char *text, const size_t *ends, size_t n_parts, int special,
                int guard, int32_t guard_token, int32_t **tokens, size_t *n_tokens, pc_error *err);

// ---- context (shim_context.cpp)

typedef struct pc_context pc_context;

typedef struct pc_context_params {
    int32_t slots;
    int32_t window;
    int32_t batch_tokens;
    int32_t decode_threads;
    int32_t prefill_threads;
} pc_context_params;

int pc_context_new(pc_model *m, const pc_context_params *params, pc_control *control, pc_context **out,
                   pc_error *err);
void pc_context_free(pc_context *c);

// pc_context_set_threads changes the counts of threads for the steps to come
// (shim_pool.cpp). When it fails, the counts are as before.
int pc_context_set_threads(pc_context *c, int32_t decode_threads, int32_t prefill_threads, pc_error *err);

// pc_evaluate runs llama_decode over n entries and returns its code, or
// PC_EVALUATE_THREW with a text in *err.
enum { PC_EVALUATE_THREW = -1000 };
int pc_evaluate(pc_context *c, int32_t n, const int32_t *tokens, const int32_t *positions,
                const int32_t *sequences, const int8_t *output, int prefill, pc_error *err);

// A thread that evaluates, so that the caller need not stay in C meanwhile
// (shim_worker.cpp). pc_worker_begin copies its arguments and returns at once;
// when the evaluation has ended, 1 is added to the eventfd done_fd, and
// pc_worker_end gives what pc_evaluate returned. One evaluation at a time.
typedef struct pc_worker pc_worker;
int pc_worker_new(int done_fd, pc_worker **out, pc_error *err);
void pc_worker_free(pc_worker *w);
int pc_worker_begin(pc_worker *w, pc_context *c, int32_t n, const int32_t *tokens, const int32_t *positions,
                    const int32_t *sequences, const int8_t *output, int prefill, pc_error *err);
int pc_worker_end(pc_worker *w, pc_error *err);

// pc_sequence_trim removes positions from.. of a sequence; PC_FAILED where the
// model cannot.
int pc_sequence_trim(pc_context *c, int32_t sequence, int32_t from, pc_error *err);
// pc_sequence_copy lets sequence to hold the first n positions of from too.
int pc_sequence_copy(pc_context *c, int32_t from, int32_t to, int32_t n, pc_error *err);
// pc_memory_clear empties all sequences and begins anew at the first cell.
int pc_memory_clear(pc_context *c, pc_error *err);
int pc_sequence_span(pc_context *c, int32_t sequence, int32_t *first, int32_t *last, pc_error *err);

// ---- sampler (shim_sampler.cpp)

typedef struct pc_sampler pc_sampler;

typedef struct pc_sampling {
    float temperature; // 0 = greedy
    int32_t top_k;     // 0 = off
    float top_p;       // 1 = off
    float min_p;       // 0 = off
    float repeat;      // 1 = off
    uint32_t seed;
} pc_sampling;

// pc_sampler_new makes a sampler. Recent tokens count for the repeat penalty;
// barred ones are never picked. Both are copied.
int pc_sampler_new(const pc_model *m, const pc_sampling *sampling, const int32_t *recent, int32_t n_recent,
                   const int32_t *barred, int32_t n_barred, pc_sampler **out, pc_error *err);
void pc_sampler_free(pc_sampler *s);

// pc_sample picks a token from the logits at an index of the last batch.
int pc_sample(pc_sampler *s, pc_context *c, int32_t index, int32_t *token, pc_error *err);

#ifdef __cplusplus
}
#endif

#endif
