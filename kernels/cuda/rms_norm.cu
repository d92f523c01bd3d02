// RMS norm (Zhang and Sennrich 2019, arXiv:1910.07467): out = x / sqrt(mean(x²) + eps) * weight, f32 to bf16; with ADD it is added to
// the f32 output (a residual connection).
//
// A block for a row. Fuses the sum of squares and the scaling: the row is read twice, the second time from the caches, so of
// memory 4 bytes are read and 2 written for each value, and the weight once for all rows. Squares are summed in f32, by thread,
// then by warp, then over warps in order.
// sass [WIDTH=8]: rms_norm lacks LDG(?!\.E\.128)

#if ADD
typedef float Out;
#else
typedef bf16 Out;
#endif

KERNEL __launch_bounds__(256) void rms_norm(const float* x, const float* weight, Out* out, u32 cols, float eps) {
    grid_launch_dependents();
    grid_dependency_wait();
    const float* row = x + (u64)blockIdx.x * cols;
    float squares = 0.0f;
    for (u32 col = threadIdx.x * WIDTH; col < cols; col += blockDim.x * WIDTH) {
        Floats<WIDTH> v = load<WIDTH>(row + col);
        _Pragma("unroll") for (int i = 0; i < WIDTH; i++) squares += v.at[i] * v.at[i];
    }
    squares = block_sum(squares, (float*)shared_memory());
    float scale = 1.0f / sqrtf(squares / (float)cols + eps);
    for (u32 col = threadIdx.x * WIDTH; col < cols; col += blockDim.x * WIDTH) {
        Floats<WIDTH> v = load<WIDTH>(row + col);
        Floats<WIDTH> w = load<WIDTH>(weight + col);
        _Pragma("unroll") for (int i = 0; i < WIDTH; i++) v.at[i] = v.at[i] * scale * w.at[i];
        Out* place = out + (u64)blockIdx.x * cols + col;
        Floats<WIDTH> old = {};
        if (ADD) old = load<WIDTH>(place);
        _Pragma("unroll") for (int i = 0; i < WIDTH; i++) v.at[i] += old.at[i];
        store(place, v);
    }
}
