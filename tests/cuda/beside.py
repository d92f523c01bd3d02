"""PyTorch's figures on the same GPU, in the same run: the copy bandwidth, the matmul rate, and the linear layers of Qwen3-8B.

Each is timed as a graph of many calls, each with weights of its own, so that they aren't in the L2 cache.
"""

import time

import torch


def seconds(calls):
    """Returns the seconds of one call, measured in a graph of all calls."""
    calls[0]()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    best = float("inf")
    for _ in range(4):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    return best / len(calls)


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def main():
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    source, target = random(1 << 30), random(1 << 30)
    took = seconds([lambda: target.copy_(source)] * 4)
    print(f"copy {2 * source.nbytes / took / 1e9:.0f} GB/s (read and written)")
    del source, target
    a, b = random(8192, 8192), random(8192, 8192)
    took = seconds([lambda: torch.mm(a, b)] * 4)
    print(f"matmul of 8192: {2 * 8192**3 / took / 1e12:.1f} TFLOP/s")
    for name, outputs, inputs in [("qkv", 6144, 4096), ("o", 4096, 4096), ("gate_up", 24576, 4096), ("down", 4096, 12288)]:
        weights = [random(outputs, inputs) for _ in range(max(4, (512 << 20) // (outputs * inputs * 2)))]
        for rows in [1, 4, 16, 64, 256, 2048]:
            x = random(rows, inputs)
            took = seconds([lambda w=w: torch.nn.functional.linear(x, w) for w in weights])
            moved = 2 * (outputs * inputs + rows * (inputs + outputs))
            rate = 2 * rows * outputs * inputs / took / 1e12
            print(f"8B {name:<8} {rows:>5} rows {took * 1e6:>9.1f} us {moved / took / 1e9:>8.0f} GB/s {rate:>7.1f} TFLOP/s")


main()
