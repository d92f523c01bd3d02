"""Attention and experts for training: the results of transformers' modules, faster on a CPU."""
import torch
from transformers import AttentionInterface

ATTENTION = "padded_values"


def attention(module, query, key, value, attention_mask, scaling, **kwargs):
    """Pads values to the width of keys, which the fused kernel requires. `attention_mask` is not read, so rows must be right-padded."""
    width = value.shape[-1]
    value = torch.nn.functional.pad(value, (0, key.shape[-1] - width))
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
    return out[..., :width].transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, attention)


class TrainedExperts(torch.nn.Module):
    """`DeepseekV3Experts` as two products over all experts; a token's weights of the experts that weren't chosen are zero."""

    def __init__(self, experts):
        super().__init__()
        self.count = experts.num_experts
        self.gate_up = torch.nn.Parameter(experts.gate_up_proj.detach().flatten(0, 1).clone())
        self.down = torch.nn.Parameter(experts.down_proj.detach().transpose(0, 1).flatten(1).clone())

    def forward(self, x, indices, weights):
        chosen = torch.zeros(len(x), self.count).scatter(1, indices, weights)
        self.load = (chosen > 0).float().mean(0)
        gate, up = (x @ self.gate_up.T).view(len(x), self.count, 2, -1).unbind(2)
        out = torch.nn.functional.silu(gate) * up * chosen[..., None]
        return out.flatten(1) @ self.down.T

    def tensors(self):
        """Returns the tensors of each expert, with a checkpoint's names."""
        out = {}
        for i, (gate_up, down) in enumerate(zip(self.gate_up.chunk(self.count), self.down.chunk(self.count, 1))):
            gate, up = gate_up.chunk(2)
            out |= {f"{i}.gate_proj.weight": gate, f"{i}.up_proj.weight": up, f"{i}.down_proj.weight": down}
        return out
