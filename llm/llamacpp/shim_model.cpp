// Loading a model and describing it.
#include "shim_internal.hpp"

#include <memory>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

// on_progress runs on the loading thread. False makes llama.cpp give up.
bool on_progress(float progress, void *data) {
    auto *control = static_cast<pc_control *>(data);
    __atomic_store_n(&control->progress, static_cast<uint32_t>(progress * 1000), __ATOMIC_RELAXED);
    return __atomic_load_n(&control->cancel, __ATOMIC_RELAXED) == 0;
}

} // namespace

int pc_model_load(const char *path, int vocab_only, pc_control *control, pc_model **out, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        llama_model_params params = llama_model_default_params();
        params.n_gpu_layers = 0;
        params.load_mode = LLAMA_LOAD_MODE_MMAP;
        params.vocab_only = vocab_only != 0;
        params.progress_callback = on_progress;
        params.progress_callback_user_data = control;
        auto m = std::make_unique<pc_model>();
        m->model = llama_model_load_from_file(path, params);
        if (m->model == nullptr) {
            if (__atomic_load_n(&control->cancel, __ATOMIC_RELAXED) != 0) {
                return PC_CANCELLED;
            }
            pc_set_error(err, "llama.cpp refuses the file");
            return PC_FAILED;
        }
        m->vocab = llama_model_get_vocab(m->model);
        *out = m.release();
        return PC_OK;
    });
}

void pc_model_free(pc_model *m) {
    pc_error ignored;
    pc_guarded(&ignored, PC_FAILED, [&] {
        llama_model_free(m->model);
        delete m;
#ifdef __GLIBC__
        // glibc keeps what is freed, in an arena for each thread that ever
        // allocated: tens of megabytes that a small board misses.
        malloc_trim(0);
#endif
        return PC_OK;
    });
}

int pc_model_describe(const pc_model *m, pc_model_info *info, pc_error *err) {
    return pc_guarded(err, PC_FAILED, [&] {
        info->parameters = llama_model_n_params(m->model);
        info->tensor_bytes = llama_model_size(m->model);
        info->train_window = llama_model_n_ctx_train(m->model);
        info->sliding_window = llama_model_n_swa(m->model);
        info->has_encoder = llama_model_has_encoder(m->model);
        info->has_decoder = llama_model_has_decoder(m->model);
        info->is_recurrent = llama_model_is_recurrent(m->model);
        info->is_hybrid = llama_model_is_hybrid(m->model);
        info->is_diffusion = llama_model_is_diffusion(m->model);
        std::snprintf(info->ftype, sizeof info->ftype, "%s",
                      llama_ftype_name(llama_model_ftype(m->model)));
        llama_model_desc(m->model, info->description, sizeof info->description);
        return PC_OK;
    });
}

int pc_model_meta(const pc_model *m, const char *key, char *buf, size_t size) {
    pc_error ignored;
    return pc_guarded(&ignored, -1, [&] { return llama_model_meta_val_str(m->model, key, buf, size); });
}

const char *pc_model_template(const pc_model *m) {
    try {
        return llama_model_chat_template(m->model, nullptr);
    } catch (...) {
        return nullptr;
    }
}
