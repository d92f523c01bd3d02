// The end of a mixture of experts: out[token] += weight * result, over the token's experts in the order of the choice, all in f32.
//
// A block for a token and a range of its columns, WIDTH columns a thread (4: loads of 16 bytes). Bytes: 4 for each result, and 8 for
// each value of out.

KERNEL __launch_bounds__(256) void moe_combine(const float* results, const float* weights, float* out, u32 cols, u32 per_token) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 col = (blockIdx.y * 256 + threadIdx.x) * WIDTH;
    if (col >= cols) return;
    u64 token = blockIdx.x;
    Floats<WIDTH> sum = load<WIDTH>(out + token * cols + col);
    for (u32 choice = 0; choice < per_token; choice++) {
        float weight = weights[token * per_token + choice];
        Floats<WIDTH> result = load<WIDTH>(results + (token * per_token + choice) * cols + col);
        _Pragma("unroll") for (int i = 0; i < WIDTH; i++) sum.at[i] += weight * result.at[i];
    }
    store(out + token * cols + col, sum);
}
