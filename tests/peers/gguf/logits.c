// Logits of all positions of some sequences by llama.cpp, as `host/engine/examples/logits.rs` writes ours.
//
//     logits MODEL.gguf IDS OUT f16|f32 THREADS
//
// IDS is a file of numbers of 32 bits: of each sequence its length, then its ids. OUT gets [tokens, vocabulary] of f32. The type is the KV cache's.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llama.h"

enum { LONGEST = 512 };

static void quiet(enum ggml_log_level level, const char *text, void *unused) {
    (void) unused;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 6) fail("expected MODEL.gguf IDS OUT f16|f32 THREADS");
    llama_log_set(quiet, NULL);
    llama_backend_init();
    struct llama_model_params model_params = llama_model_default_params();
    model_params.n_gpu_layers = 0;
    struct llama_model *model = llama_model_load_from_file(argv[1], model_params);
    if (!model) fail("the model can't be loaded");
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = LONGEST;
    params.n_threads = params.n_threads_batch = atoi(argv[5]);
    params.type_k = params.type_v = strcmp(argv[4], "f32") ? GGML_TYPE_F16 : GGML_TYPE_F32;
    struct llama_context *context = llama_init_from_model(model, params);
    if (!context) fail("no context");
    const size_t vocabulary = (size_t) llama_vocab_n_tokens(llama_model_get_vocab(model));
    FILE *ids = fopen(argv[2], "rb"), *out = fopen(argv[3], "wb");
    if (!ids || !out) fail("the files can't be opened");
    struct llama_batch batch = llama_batch_init(LONGEST, 0, 1);
    int32_t count;
    while (fread(&count, sizeof count, 1, ids) == 1) {
        if (count < 1 || count > LONGEST) fail("a sequence is too long");
        if (fread(batch.token, sizeof *batch.token, (size_t) count, ids) != (size_t) count) fail("IDS is cut off");
        batch.n_tokens = count;
        for (int i = 0; i < count; i++) {
            batch.pos[i] = i;
            batch.n_seq_id[i] = 1;
            batch.seq_id[i][0] = 0;
            batch.logits[i] = 1;
        }
        llama_memory_clear(llama_get_memory(context), true);
        if (llama_decode(context, batch)) fail("llama_decode failed");
        for (int i = 0; i < count; i++) {
            if (fwrite(llama_get_logits_ith(context, i), sizeof(float), vocabulary, out) != vocabulary) fail("OUT can't be written");
        }
    }
    return fclose(out) ? 1 : 0;
}
