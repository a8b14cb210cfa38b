// A context: its KV memory and evaluation.
#include "shim_internal.hpp"

#include <memory>
#include <stdexcept>

namespace {

// on_node runs on a compute thread before each node of the graph.
bool on_node(void *data) {
    auto *control = static_cast<pc_control *>(data);
    __atomic_fetch_add(&control->ticks, 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&control->abort, __ATOMIC_RELAXED) != 0;
}

llama_context_params context_params(const pc_context_params &p, pc_control *control) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = static_cast<uint32_t>(p.slots) * static_cast<uint32_t>(p.window);
    params.n_batch = static_cast<uint32_t>(p.batch_tokens);
    params.n_ubatch = static_cast<uint32_t>(p.batch_tokens);
    params.n_seq_max = static_cast<uint32_t>(p.slots);
    // Without it, logits of a whole batch are reserved: 4 bytes x vocabulary x n_batch.
    params.n_outputs_max = static_cast<uint32_t>(p.slots);
    params.n_threads = p.decode_threads;
    params.n_threads_batch = p.prefill_threads;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_AUTO;
    params.abort_callback = on_node;
    params.abort_callback_data = control;
    params.offload_kqv = false;
    params.op_offload = false;
    params.no_perf = true;
    // The cells of a sliding-window model are kept only as far as the window
    // reaches; pc_sequence_span tells what is left.
    params.swa_full = false;
    // One pool of cells for all sequences, so that a step that mixes them is
    // one run of the graph.
    params.kv_unified = true;
    return params;
}

void destroy(pc_context *c) {
    if (c->context != nullptr) {
        llama_detach_threadpool(c->context);
        llama_free(c->context);
    }
    pc_pools_free(c);
    delete c;
}

struct destroyer {
    void operator()(pc_context *c) const { destroy(c); }
};

} // namespace

int pc_context_new(pc_model *m, const pc_context_params *p, pc_control *control, pc_context **out,
                   pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        std::unique_ptr<pc_context, destroyer> c(new pc_context());
        c->vocab = m->vocab;
        c->control = control;
        c->context = llama_init_from_model(m->model, context_params(*p, control));
        if (c->context == nullptr) {
            throw std::runtime_error("llama.cpp makes no context");
        }
        c->memory = llama_get_memory(c->context);
        if (c->memory == nullptr) {
            throw std::runtime_error("the model keeps no KV memory: it cannot write text");
        }
        const auto want = static_cast<uint64_t>(p->slots) * static_cast<uint64_t>(p->window);
        if (llama_n_ctx(c->context) < want ||
            llama_n_batch(c->context) < static_cast<uint32_t>(p->batch_tokens)) {
            throw std::runtime_error("llama.cpp made a smaller context than asked for");
        }
        pc_pools_set(c.get(), p->decode_threads, p->prefill_threads);
        const auto n = static_cast<size_t>(p->batch_tokens);
        c->n_seq_id.assign(n, 1);
        c->seq_ids.assign(n, 0);
        c->seq_id.resize(n);
        for (size_t i = 0; i < n; i++) {
            c->seq_id[i] = &c->seq_ids[i];
        }
        *out = c.release();
        return PC_OK;
    });
}

void pc_context_free(pc_context *c) {
    pc_error ignored;
    pc_guarded(&ignored, PC_FAILED, [&] {
        destroy(c);
        return PC_OK;
    });
}

int pc_evaluate(pc_context *c, int32_t n, const int32_t *tokens, const int32_t *positions,
                const int32_t *sequences, const int8_t *output, int prefill, pc_error *err) {
    const pc_cpu_meter meter(&c->control->cpu_ns);
    return pc_guarded(err, PC_EVALUATE_THREW, [&] {
        pc_pools_attach(c, prefill != 0);
        std::copy(sequences, sequences + n, c->seq_ids.begin());
        llama_batch batch{};
        batch.n_tokens = n;
        // llama_decode does not write to these; its struct only lacks the const.
        batch.token = const_cast<llama_token *>(tokens);
        batch.pos = const_cast<llama_pos *>(positions);
        batch.n_seq_id = c->n_seq_id.data();
        batch.seq_id = c->seq_id.data();
        batch.logits = const_cast<int8_t *>(output);
        const int rc = llama_decode(c->context, batch);
        llama_synchronize(c->context);
        if (rc == 0) {
            pc_pools_sweep(c);
        }
        return rc;
    });
}

int pc_sequence_trim(pc_context *c, int32_t sequence, int32_t from, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        if (!llama_memory_seq_rm(c->memory, sequence, from, -1)) {
            pc_set_error(err, "the model's memory cannot be removed in part");
            return PC_FAILED;
        }
        return PC_OK;
    });
}

int pc_sequence_copy(pc_context *c, int32_t from, int32_t to, int32_t n, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        llama_memory_seq_cp(c->memory, from, to, 0, n);
        return PC_OK;
    });
}

int pc_memory_clear(pc_context *c, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        llama_memory_clear(c->memory, false);
        return PC_OK;
    });
}

int pc_sequence_span(pc_context *c, int32_t sequence, int32_t *first, int32_t *last, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        *first = llama_memory_seq_pos_min(c->memory, sequence);
        *last = llama_memory_seq_pos_max(c->memory, sequence);
        return PC_OK;
    });
}
