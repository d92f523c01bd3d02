"""Packers: tensors as published checkpoints store them, and the values that these mean."""
import torch
from transformers.integrations.mxfp4 import convert_moe_packed_tensors


class Fp8:
    """E4M3 with a factor for each block (DeepSeek-V3, Qwen3-FP8): `NAME` and `NAME_scale_inv`."""

    BLOCK = (32, 32)  # the last ones are cut: sizes aren't multiples of it
    CONFIG = {
        "quant_method": "fp8",
        "fmt": "e4m3",
        "activation_scheme": "dynamic",
        "weight_block_size": list(BLOCK),
    }

    @classmethod
    def pack(cls, tensors):
        packed, same = {}, {}
        for name, weight in tensors.items():
            if name.endswith("_proj.weight") or name.endswith("kv_a_proj_with_mqa.weight"):
                packed[name], packed[f"{name}_scale_inv"], same[name] = cls.quantized(weight.float())
            else:
                packed[name], same[name] = weight, weight
        return packed, same

    @classmethod
    def quantized(cls, weight):
        rows, cols = (-(-size // block) for size, block in zip(weight.shape, cls.BLOCK))
        scales = torch.empty(rows, cols)
        codes = torch.empty(weight.shape, dtype=torch.float8_e4m3fn)
        values = torch.empty(weight.shape)
        for i in range(rows):
            for j in range(cols):
                at = (
                    slice(i * cls.BLOCK[0], (i + 1) * cls.BLOCK[0]),
                    slice(j * cls.BLOCK[1], (j + 1) * cls.BLOCK[1]),
                )
                scales[i, j] = weight[at].abs().max() / 448
                codes[at] = (weight[at] / scales[i, j]).to(torch.float8_e4m3fn)
                values[at] = codes[at].float() * scales[i, j]
        return codes, scales, values


class Mxfp4:
    """MXFP4 experts of gpt-oss: `NAME_blocks` and `NAME_scales`, the other way round than bf16 ones."""

    CONFIG = {
        "quant_method": "mxfp4",
        "modules_to_not_convert": [
            "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head",
        ],
    }
    VALUES = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])

    @classmethod
    def pack(cls, tensors):
        packed, same = {}, {}
        for name, weight in tensors.items():
            if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
                blocks, scales, values = cls.quantized(weight.float().transpose(1, 2))
                packed[f"{name}_blocks"], packed[f"{name}_scales"] = blocks, scales
                same[name] = values.transpose(1, 2).contiguous()
                # transformers reads the same values from them.
                read = convert_moe_packed_tensors(blocks, scales, dtype=torch.bfloat16)
                assert torch.equal(read.float(), same[name]), name
            else:
                packed[name], same[name] = weight, weight
        return packed, same

    @classmethod
    def quantized(cls, weight):
        blocks = weight.reshape(*weight.shape[:-1], -1, 32)
        exponents = (blocks.abs().amax(-1, keepdim=True) / 6).log2().ceil()
        codes = ((blocks / exponents.exp2())[..., None] - cls.VALUES).abs().argmin(-1)
        values = (cls.VALUES[codes] * exponents.exp2()).reshape(weight.shape)
        # The lower half of a byte comes first.
        packed = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)
        return packed, (exponents.squeeze(-1) + 127).to(torch.uint8), values

    @classmethod
    def unpack(cls, tensors):
        """The inverse of `pack`, in bf16, which holds every value."""
        plain = {}
        for name, tensor in tensors.items():
            if name.endswith("_blocks"):
                name = name.removesuffix("_blocks")
                codes = torch.stack([tensor & 15, tensor >> 4], -1).flatten(-2)
                factors = (tensors[f"{name}_scales"].float() - 127).exp2()[..., None]
                values = (cls.VALUES[codes.long()] * factors).flatten(-2)
                plain[name] = values.transpose(1, 2).contiguous().to(torch.bfloat16)
            elif not name.endswith("_scales"):
                plain[name] = tensor
        return plain


class Stacked:
    """Experts as Qwen3.5 has them: `experts.gate_up_proj` and `experts.down_proj` of all, plain numbers."""

    CONFIG = None

    @classmethod
    def pack(cls, tensors):
        packed, parts = {}, {}
        for name, weight in tensors.items():
            prefix, found, rest = name.partition(".experts.")
            if found:
                expert, kind, _ = rest.split(".")
                parts.setdefault(prefix, {})[int(expert), kind] = weight
            else:
                packed[name] = weight
        for prefix, of in parts.items():
            experts = range(1 + max(expert for expert, _ in of))
            gate_up = [torch.cat([of[expert, "gate_proj"], of[expert, "up_proj"]]) for expert in experts]
            packed[f"{prefix}.experts.gate_up_proj"] = torch.stack(gate_up)
            packed[f"{prefix}.experts.down_proj"] = torch.stack([of[expert, "down_proj"] for expert in experts])
        return packed, tensors
