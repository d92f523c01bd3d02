// Rows of x in shared memory, for linear_skinny.cu: as they are, or their norms.

// Warps of a block, and columns that a warp takes at once.
constexpr u32 WARPS = 8, SPAN = 128;
// Elements between the rows of x in shared memory, beside their columns.
constexpr u32 X_GAP = FP8 ? 8 : 32;

// Stride of the rows of x in shared memory, in elements.
DEVICE u32 shared_stride(u32 inputs) {
    return (inputs + SPAN - 1) / SPAN * SPAN + X_GAP;
}

// Copies rows of x to shared memory, with zeros up to a multiple of SPAN columns.
DEVICE void stage(bf16* shared, const bf16* x, u32 rows, u32 inputs) {
    u32 stride = shared_stride(inputs);
    for (u32 row = 0; row < rows; row++) {
        for (u32 col = threadIdx.x * 8; col < stride - X_GAP; col += 256 * 8) {
            bool inside = col < inputs;
            cp_async16(shared + row * stride + col, x + (u64)row * inputs + (inside ? col : 0), inside ? 16 : 0);
        }
    }
    cp_async_commit();
    cp_async_wait<0>();
}

// Writes the norms of the rows of x to shared memory; `scratch` has room for 8 floats of each row.
DEVICE void stage_normed(bf16* shared, float* scratch, const float* x, const float* norm, float eps, u32 rows, u32 inputs) {
    u32 stride = shared_stride(inputs);
    for (u32 row = 0; row < rows; row++) {
        float squares = 0.0f;
        _Pragma("unroll 2") for (u32 col = threadIdx.x * 8; col < inputs; col += 256 * 8) {
            Floats<8> v = load<8>(x + (u64)row * inputs + col);
            _Pragma("unroll") for (int i = 0; i < 8; i++) squares += v.at[i] * v.at[i];
        }
        squares = warp_sum(squares);
        if (threadIdx.x % 32 == 0) scratch[row * WARPS + threadIdx.x / 32] = squares;
    }
    __syncthreads();
    for (u32 row = 0; row < rows; row++) {
        float squares = 0.0f;
        for (u32 warp = 0; warp < WARPS; warp++) squares += scratch[row * WARPS + warp];
        float scale = 1.0f / sqrtf(squares / (float)inputs + eps);
        _Pragma("unroll 1") for (u32 col = threadIdx.x * 8; col < stride - X_GAP; col += 256 * 8) {
            Floats<8> v = {};
            if (col < inputs) {
                v = load<8>(x + (u64)row * inputs + col);
                Floats<8> w = load<8>(norm + col);
                _Pragma("unroll") for (int i = 0; i < 8; i++) v.at[i] = v.at[i] * scale * w.at[i];
            }
            store(shared + row * stride + col, v);
        }
    }
}
