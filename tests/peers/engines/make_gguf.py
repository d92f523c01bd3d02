"""Writes a model with random weights as a GGUF file, from a config.json of Qwen3 (dense or experts) or gpt-oss.

    python make_gguf.py CONFIG.json OUT.gguf

Weights are bf16, gpt-oss's experts MXFP4. The file has no vocabulary, since benchmarks of engines need none. Keys and tensor names are
those of the package `gguf`.
"""
import json
import pathlib
import sys

import gguf
import numpy

MXFP4_GROUP = 32


class Model:
    """Sizes of a model, read from config.json under the names of each family."""

    def __init__(self, config):
        self.config = config
        self.gpt_oss = config["architectures"] == ["GptOssForCausalLM"]
        self.hidden, self.head, self.layers = config["hidden_size"], config["head_dim"], config["num_hidden_layers"]
        self.queries = config["num_attention_heads"] * self.head
        self.keys = config["num_key_value_heads"] * self.head
        self.experts = config.get("num_experts") or config.get("num_local_experts")
        self.width = config["moe_intermediate_size"] if "moe_intermediate_size" in config else config["intermediate_size"]

    def architecture(self):
        if self.gpt_oss:
            return "gpt-oss"
        return "qwen3moe" if self.experts else "qwen3"


def write_keys(writer, model):
    config = model.config
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_block_count(model.layers)
    writer.add_embedding_length(model.hidden)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(model.head)
    writer.add_value_length(model.head)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    if model.experts:
        writer.add_expert_count(model.experts)
        writer.add_expert_used_count(config["num_experts_per_tok"])
        writer.add_expert_feed_forward_length(model.width)
    if model.gpt_oss:
        writer.add_sliding_window(config["sliding_window"])
        scaling = config["rope_scaling"]
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(scaling["factor"])
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])


def matrices(model):
    """Yields (name, shape) of all weight matrices."""
    yield "token_embd", (model.config["vocab_size"], model.hidden)
    if not model.config["tie_word_embeddings"]:
        yield "output", (model.config["vocab_size"], model.hidden)
    for layer in range(model.layers):
        yield f"blk.{layer}.attn_q", (model.queries, model.hidden)
        yield f"blk.{layer}.attn_k", (model.keys, model.hidden)
        yield f"blk.{layer}.attn_v", (model.keys, model.hidden)
        yield f"blk.{layer}.attn_output", (model.hidden, model.queries)
        experts, suffix = ((model.experts,), "_exps") if model.experts else ((), "")
        yield f"blk.{layer}.ffn_gate{suffix}", (*experts, model.width, model.hidden)
        yield f"blk.{layer}.ffn_up{suffix}", (*experts, model.width, model.hidden)
        yield f"blk.{layer}.ffn_down{suffix}", (*experts, model.hidden, model.width)


def vectors(model):
    """Yields (name, shape) of the tensors that are kept in f32."""
    yield "output_norm.weight", (model.hidden,)
    for layer in range(model.layers):
        second = "post_attention_norm" if model.gpt_oss else "ffn_norm"
        yield f"blk.{layer}.attn_norm.weight", (model.hidden,)
        yield f"blk.{layer}.{second}.weight", (model.hidden,)
        if model.experts:
            yield f"blk.{layer}.ffn_gate_inp.weight", (model.experts, model.hidden)
        if not model.gpt_oss:
            yield f"blk.{layer}.attn_q_norm.weight", (model.head,)
            yield f"blk.{layer}.attn_k_norm.weight", (model.head,)
            continue
        yield f"blk.{layer}.attn_sinks.weight", (model.config["num_attention_heads"],)
        for part, size in {"q": model.queries, "k": model.keys, "v": model.keys, "output": model.hidden}.items():
            yield f"blk.{layer}.attn_{part}.bias", (size,)
        yield f"blk.{layer}.ffn_gate_inp.bias", (model.experts,)
        for part, size in {"gate": model.width, "up": model.width, "down": model.hidden}.items():
            yield f"blk.{layer}.ffn_{part}_exps.bias", (model.experts, size)


def normal(generator, shape):
    """Returns f32 values with the spread of a trained layer's weights."""
    return generator.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)


def bf16(generator, shape):
    """Returns random bf16, the upper halves of f32, as bytes."""
    return (normal(generator, shape).view("<u4") >> 16).astype("<u2").view("u1")


def mxfp4(generator, shape):
    """Returns random blocks of a scale and 32 codes of four bits, as bytes."""
    blocks = generator.integers(0, 256, (*shape[:-1], shape[-1] // MXFP4_GROUP, 1 + MXFP4_GROUP // 2), dtype=numpy.uint8)
    blocks[..., 0] = 127 - 7
    return blocks.reshape(*shape[:-1], -1)


def main():
    model = Model(json.loads(pathlib.Path(sys.argv[1]).read_text()))
    generator = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(sys.argv[2], model.architecture(), use_temp_file=True)
    write_keys(writer, model)
    types = gguf.GGMLQuantizationType
    for name, shape in matrices(model):
        make, dtype = (mxfp4, types.MXFP4) if model.gpt_oss and "_exps" in name else (bf16, types.BF16)
        writer.add_tensor(f"{name}.weight", make(generator, shape), raw_dtype=dtype)
    for name, shape in vectors(model):
        ones = numpy.float32(len(shape) == 1 and name.endswith("norm.weight"))
        writer.add_tensor(name, normal(generator, shape) + ones)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
