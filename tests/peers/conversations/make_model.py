"""Writes a model of Qwen3.5's shape that always says the same as a GGUF file.

    python make_model.py VOCABULARY.gguf TEMPLATE.jinja OUT.gguf

Layers have the kinds and sizes of Qwen3.5-0.8B (8 of 24), with random weights, and are computed in full; what they add to the residual stream is
small. So the last token decides the next one, and the head is made such that an answer is a fixed thought and a fixed text of words that are one
token each. The vocabulary is the first part of a published one; control tokens of Qwen3.5 are added.
"""
import re
import sys

import gguf
import numpy

HIDDEN, WIDTH, LAYERS, INTERVAL = 1024, 3584, 8, 4
HEADS, KV_HEADS, HEAD = 8, 2, 256
KEY_HEADS, VALUE_HEADS, STATE, TAPS = 16, 16, 128, 4
CHANNELS = (2 * KEY_HEADS + VALUE_HEADS) * STATE
WORDS = 20000
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VISIBLE = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
THOUGHT, TEXT = 30, 40
TYPES = gguf.TokenType


def vocabulary(path):
    """Returns tokens and merges: a published vocabulary's first ones."""
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()[:WORDS]
    known = set(tokens)
    merges = [merge for merge in fields["tokenizer.ggml.merges"].contents() if merge.replace(" ", "") in known]
    return tokens + CONTROL + VISIBLE, merges


def chains(tokens):
    """Returns the next token of each token that an answer may have, behind `<think>\\n` and behind an empty thought."""
    ids = {token: at for at, token in enumerate(tokens)}
    words = [token for token in tokens[2000:] if re.fullmatch("Ġ[a-z]{4,}", token)]
    thought, text = words[: THOUGHT], words[THOUGHT : THOUGHT + TEXT]
    # `Ċ` is a line's end; the first word of each part has no space before it.
    said = ["Ċ", "The", *thought, "</think>", "ĊĊ", "This", *text, "<|im_end|>"]
    return [(ids[one], ids[two]) for one, two in zip(said, said[1:])]


def normal(generator, *shape):
    return generator.standard_normal(shape, dtype=numpy.float32)


def layer_tensors(generator, layer):
    """Yields (name, values) of a layer's tensors."""
    def matrix(rows, cols, factor=1.0):
        return normal(generator, rows, cols) * numpy.float32(factor / cols**0.5)

    small = 1e-3
    yield "attn_norm.weight", numpy.ones(HIDDEN, numpy.float32)
    yield "post_attention_norm.weight", numpy.ones(HIDDEN, numpy.float32)
    if (layer + 1) % INTERVAL == 0:
        yield "attn_q.weight", matrix(2 * HEADS * HEAD, HIDDEN)
        yield "attn_k.weight", matrix(KV_HEADS * HEAD, HIDDEN)
        yield "attn_v.weight", matrix(KV_HEADS * HEAD, HIDDEN)
        yield "attn_output.weight", matrix(HIDDEN, HEADS * HEAD, small)
        yield "attn_q_norm.weight", numpy.ones(HEAD, numpy.float32)
        yield "attn_k_norm.weight", numpy.ones(HEAD, numpy.float32)
    else:
        yield "attn_qkv.weight", matrix(CHANNELS, HIDDEN)
        yield "attn_gate.weight", matrix(VALUE_HEADS * STATE, HIDDEN)
        yield "ssm_conv1d.weight", normal(generator, CHANNELS, TAPS) / 2
        yield "ssm_dt.bias", normal(generator, VALUE_HEADS)
        yield "ssm_a", -numpy.exp(normal(generator, VALUE_HEADS))
        yield "ssm_beta.weight", matrix(VALUE_HEADS, HIDDEN)
        yield "ssm_alpha.weight", matrix(VALUE_HEADS, HIDDEN)
        yield "ssm_norm.weight", numpy.ones(STATE, numpy.float32)
        yield "ssm_out.weight", matrix(HIDDEN, VALUE_HEADS * STATE, small)
    yield "ffn_gate.weight", matrix(WIDTH, HIDDEN)
    yield "ffn_up.weight", matrix(WIDTH, HIDDEN)
    yield "ffn_down.weight", matrix(HIDDEN, WIDTH, small)


def write_keys(writer, tokens, merges, template):
    writer.add_context_length(262144)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e7)
    writer.add_rope_dimension_count(HEAD // 4)
    writer.add_rope_dimension_sections([11, 11, 10, 0])
    writer.add_ssm_conv_kernel(TAPS)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_group_count(KEY_HEADS)
    writer.add_ssm_time_step_rank(VALUE_HEADS)
    writer.add_ssm_inner_size(VALUE_HEADS * STATE)
    writer.add_full_attention_interval(INTERVAL)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    kinds = [TYPES.NORMAL] * WORDS + [TYPES.CONTROL] * len(CONTROL) + [TYPES.USER_DEFINED] * len(VISIBLE)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_pad_token_id(tokens.index("<|endoftext|>"))
    writer.add_chat_template(template)


def main(vocabulary_path, template, out):
    tokens, merges = vocabulary(vocabulary_path)
    generator = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(out, "qwen35")
    with open(template, encoding="utf-8") as file:
        write_keys(writer, tokens, merges, file.read())
    embedding = normal(generator, len(tokens), HIDDEN)
    head = numpy.zeros_like(embedding)
    for one, two in chains(tokens):
        head[two] += embedding[one] / 32

    def add(name, values):
        if values.ndim == 2 and not name.endswith("conv1d.weight"):
            values = gguf.quants.quantize(values, gguf.GGMLQuantizationType.BF16)
            writer.add_tensor(name, values, raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(name, values.astype(numpy.float32))

    add("token_embd.weight", embedding)
    add("output_norm.weight", numpy.ones(HIDDEN, numpy.float32))
    add("output.weight", head)
    for layer in range(LAYERS):
        for name, values in layer_tensors(generator, layer):
            add(f"blk.{layer}.{name}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(*sys.argv[1:])
