"""GGUF files of the tiny model in the binary, written from the format's description."""
import json
import struct

from server import ROOT

FOLDER = ROOT / "host/models/qwen3-tiny"
ALIGNMENT = 32
PARTS = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
WHOLE = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
F32, BF16 = 0, 30


def text(value):
    encoded = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def value(given):
    """A key's value with its type."""
    if isinstance(given, (str, bytes)):
        return struct.pack("<I", 8) + text(given)
    if isinstance(given, float):
        return struct.pack("<If", 6, given)
    if isinstance(given, int):
        return struct.pack("<II", 4, given)
    kind, elements = (8, map(text, given)) if not given or isinstance(given[0], str) else (5, (struct.pack("<i", n) for n in given))
    return struct.pack("<IIQ", 9, kind, len(given)) + b"".join(elements)


def written(keys, tensors):
    """A file: keys, and tensors as (type, shape, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    head += b"".join(text(name) + value(given) for name, given in keys.items())
    data = []
    for name, (kind, shape, content) in tensors.items():
        dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += text(name) + dimensions + struct.pack("<IQ", kind, sum(map(len, data)))
        data.append(content + bytes(-len(content) % ALIGNMENT))
    return head + bytes(-len(head) % ALIGNMENT) + b"".join(data)


def tiny_tensors():
    stored = (FOLDER / "model.safetensors").read_bytes()
    begin = 8 + struct.unpack("<Q", stored[:8])[0]
    tensors = {}
    for name, entry in json.loads(stored[8:begin]).items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        kind, content = BF16, stored[begin + start:begin + end]
        if len(entry["shape"]) == 1:
            kind, content = F32, b"".join(b"\0\0" + content[at:at + 2] for at in range(0, len(content), 2))
        if name in WHOLE:
            tensors[WHOLE[name]] = kind, entry["shape"], content
        else:
            _, _, layer, part = name.removesuffix(".weight").split(".", 3)
            tensors[f"blk.{layer}.{PARTS[part]}.weight"] = kind, entry["shape"], content
    return tensors


def tiny_keys():
    config, tokenizer = (json.loads((FOLDER / name).read_text()) for name in ("config.json", "tokenizer.json"))
    tokens = {id: (token, 1) for token, id in tokenizer["model"]["vocab"].items()}
    tokens.update({added["id"]: (added["content"], 3 if added["special"] else 4) for added in tokenizer["added_tokens"]})
    tokens = [tokens.get(id, (f"[PAD{id}]", 5)) for id in range(config["vocab_size"])]
    sizes = {"context_length": "max_position_embeddings", "embedding_length": "hidden_size", "block_count": "num_hidden_layers",
             "feed_forward_length": "intermediate_size", "attention.head_count": "num_attention_heads",
             "attention.head_count_kv": "num_key_value_heads", "attention.key_length": "head_dim", "attention.value_length": "head_dim"}
    return {
        "general.architecture": "qwen3", "general.name": "Tiny",
        **{f"qwen3.{key}": config[field] for key, field in sizes.items()},
        "qwen3.attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "qwen3.rope.freq_base": config["rope_theta"],
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen3-tiny",
        "tokenizer.ggml.tokens": [token for token, _ in tokens], "tokenizer.ggml.token_type": [kind for _, kind in tokens],
        "tokenizer.ggml.merges": [], "tokenizer.ggml.eos_token_id": config["eos_token_id"],
        "tokenizer.chat_template": (FOLDER / "chat_template.jinja").read_text()}


def tiny_file(**changes):
    """The model in one file; `keys` are added to its keys (`None`: left out), `tensors` to its tensors."""
    keys = {**tiny_keys(), **changes.get("keys", {})}
    return written({name: given for name, given in keys.items() if given is not None}, {**tiny_tensors(), **changes.get("tensors", {})})


def tiny_parts(count, name):
    """The model in several files, which get the tensors in turn, by their paths."""
    tensors = list(tiny_tensors().items())
    parts = {}
    for number in range(count):
        split = {"split.no": number, "split.count": count, "split.tensors.count": len(tensors)}
        keys = {**(tiny_keys() if number == 0 else {}), **split}
        parts[f"{name}-{number + 1:05}-of-{count:05}.gguf"] = written(keys, dict(tensors[number::count]))
    return parts
