"""Experts for training: every matrix is a parameter of its own, and is rounded to MXFP4 if `rounding` is set."""
import sys

import torch
from rendering import HERE

sys.path.append(str(HERE.parents[1] / "engine/tests/goldens"))
from packed import Mxfp4


def rounded(weight):
    """Returns the nearest values that MXFP4 can store, with the gradient of the exact values (straight-through)."""
    with torch.no_grad():
        _, _, stored = Mxfp4.quantized(weight.T)
    return weight + (stored.T - weight).detach()


class TrainedExperts(torch.nn.Module):
    """`GptOssExperts` as two products over all experts; a token's weights of the experts that weren't chosen are zero."""

    def __init__(self, experts):
        super().__init__()
        self.alpha, self.limit, self.rounding = experts.alpha, experts.limit, False
        matrices = [torch.nn.ParameterList(w.detach().clone() for w in p)
                    for p in (experts.gate_up_proj, experts.down_proj)]
        self.gate_up, self.down = matrices
        self.gate_up_bias, self.down_bias = experts.gate_up_proj_bias, experts.down_proj_bias

    def forward(self, x, indices, weights):
        chosen = torch.zeros(len(x), len(self.down)).scatter(1, indices, weights)
        self.chosen = chosen
        gate_ups, downs = self.gate_up, self.down
        if self.rounding:
            gate_ups, downs = ([rounded(w) for w in matrices] for matrices in (gate_ups, downs))
        both = x @ torch.cat(list(gate_ups), 1) + self.gate_up_bias.flatten()
        both = both.view(len(x), len(self.down), -1)
        gate = both[..., ::2].clamp(max=self.limit)
        up = both[..., 1::2].clamp(-self.limit, self.limit)
        out = (up + 1) * gate * torch.sigmoid(gate * self.alpha) * chosen[..., None]
        return out.flatten(1) @ torch.cat(list(downs)) + chosen @ self.down_bias

    def imbalance(self):
        """Returns the imbalance: from 1, if all experts have equal load, up to their number (Switch Transformer, eq. 4)."""
        used = (self.chosen > 0).float().mean(0) / (self.chosen > 0).float().sum(1).mean()
        return len(self.down) * (used * self.chosen.mean(0)).sum()

    def tensors(self):
        """Returns tensors with a checkpoint's names, the matrices packed."""
        out = {"gate_up_proj_bias": self.gate_up_bias, "down_proj_bias": self.down_bias}
        for name, matrices in (("gate_up_proj", self.gate_up), ("down_proj", self.down)):
            stacked = torch.stack([w.detach().T for w in matrices])
            out[f"{name}_blocks"], out[f"{name}_scales"], _ = Mxfp4.quantized(stacked)
        return out
