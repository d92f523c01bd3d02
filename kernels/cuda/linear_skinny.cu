// A linear layer, y = x · weightᵀ, for at most 16 rows, where the time is that of reading the weight: bf16 in, f32 sums, then
// linear_store.cuh. NORM: x is the f32 residual stream, and its RMS norm (rms_norm.cu) is computed here.
//
// A block computes 16 rows of the weight; its 8 warps divide K among them, 128 columns at a time. A lane has rows g and g + 8 (g
// = lane / 4), of each 8 neighbours in K (16 bytes) at 8 * (lane % 4) of 32. As loaded they are operand A of two mma.m16n8k16.
// This permutes K within 32, which doesn't matter since operand B, eight rows of x (TILES of them), is permuted alike: 16 bytes
// as well. So the weight goes from memory to registers to tensor cores. Each lane always has 8 loads of 16 bytes under way, the
// first before the launch in front has ended. x lies in shared memory, its rows 64 bytes off a multiple of 128 so that two lie in
// all banks (SHARED_X), or comes from the caches. At the end the warps' sums are added in order.
//
// Bytes: the weight 2 * N * K once; x from the second-level cache once for each block (SHARED_X).
// sass: linear_skinny has LDG\.E\.NA\.128
// sass: linear_skinny lacks LDG\.E\.U16
// sass: linear_skinny has HMMA\.16816\.F32\.BF16

constexpr u32 WARPS = 8, PARTS = 4, SPAN = 32 * PARTS, STRIDE = WARPS * SPAN;
// Floats from the sums of a row of x to those of the next row.
constexpr u32 SUMS = 20;

// Stride of the rows of x in shared memory, in elements: in bytes it is 64 more than a multiple of 128.
DEVICE u32 shared_stride(u32 inputs) {
    return (inputs + SPAN - 1) / SPAN * SPAN + 32;
}

// Copies rows of x to shared memory, with zeros up to a multiple of SPAN columns.
DEVICE void stage(bf16* shared, const bf16* x, u32 rows, u32 inputs) {
    u32 stride = shared_stride(inputs);
    for (u32 row = 0; row < rows; row++) {
        for (u32 col = threadIdx.x * 8; col < stride - 32; col += 256 * 8) {
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
        _Pragma("unroll 1") for (u32 col = threadIdx.x * 8; col < stride - 32; col += 256 * 8) {
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

// Sum over all warps for a row of x and a row of the weight.
DEVICE float total(const float* sums, u32 row, u32 output) {
    float sum = 0.0f;
    _Pragma("unroll") for (u32 warp = 0; warp < WARPS; warp++) sum += sums[(warp * TILES * 8 + row) * SUMS + output];
    return sum;
}

DEVICE void finish(const float* sums, const float* bias, Out* out, u32 rows, u32 outputs) {
    u32 row = threadIdx.x / 16, output = threadIdx.x % 16, col = blockIdx.x * 16 + output;
    if (row >= rows || col >= outputs) return;
    float y = total(sums, row, output) + (bias ? bias[col] : 0.0f);
    if (STORE != STORE_SWIGLU) {
        put(out + (u64)row * outputs + col, y);
    } else if (output < 8) {
        float up = total(sums, row, output + 8) + (bias ? bias[col + 8] : 0.0f);
        put(out + (u64)row * (outputs / 2) + blockIdx.x * 8 + output, swiglu(y, up));
    }
}

KERNEL __launch_bounds__(256, 3) void linear_skinny(const void* x, const float* norm, const bf16* weight, const float* bias,
                                                    Out* out, u32 rows, u32 outputs, u32 inputs, float eps) {
    u32 warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    // This lane's next elements of its two rows of the weight, and their index in K.
    u32 k = warp * SPAN + t * 8;
    const bf16* upper = weight + (u64)min(blockIdx.x * 16 + g, outputs - 1) * inputs + k;
    const bf16* lower = weight + (u64)min(blockIdx.x * 16 + 8 + g, outputs - 1) * inputs + k;
    uint4 a[PARTS], b[PARTS];
    _Pragma("unroll") for (u32 i = 0; i < PARTS; i++) {
        a[i] = load_weight_if(upper + i * 32, k + i * 32 < inputs);
        b[i] = load_weight_if(lower + i * 32, k + i * 32 < inputs);
    }
    grid_launch_dependents();
    grid_dependency_wait();

    bf16* shared = (bf16*)shared_memory();
    u32 stride = shared_stride(inputs);
    if (NORM) {
        stage_normed(shared, (float*)(shared + rows * stride), (const float*)x, norm, eps, rows, inputs);
    } else if (SHARED_X) {
        stage(shared, (const bf16*)x, rows, inputs);
    }
    if (NORM || SHARED_X) __syncthreads();

    float c[TILES][4] = {};
    for (u32 begin = warp * SPAN; begin < inputs; begin += STRIDE, k += STRIDE) {
        upper += STRIDE, lower += STRIDE;
        _Pragma("unroll") for (u32 i = 0; i < PARTS; i++) {
            _Pragma("unroll") for (u32 tile = 0; tile < TILES; tile++) {
                u32 row = tile * 8 + g, at = k + i * 32;
                uint4 v = make_uint4(0, 0, 0, 0);
                if (NORM || SHARED_X) {
                    if (row < rows) v = *(const uint4*)(shared + row * stride + at);
                } else {
                    if (row < rows && at < inputs) v = *(const uint4*)((const bf16*)x + (u64)row * inputs + at);
                }
                mma_bf16(c[tile], a[i].x, b[i].x, a[i].y, b[i].y, v.x, v.y);
                mma_bf16(c[tile], a[i].z, b[i].z, a[i].w, b[i].w, v.z, v.w);
            }
            bool more = k + STRIDE + i * 32 < inputs;
            a[i] = load_weight_if(upper + i * 32, more), b[i] = load_weight_if(lower + i * 32, more);
        }
    }

    if (NORM || SHARED_X) __syncthreads();
    float* sums = (float*)shared;
    _Pragma("unroll") for (u32 tile = 0; tile < TILES; tile++) {
        _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
            u32 row = warp * TILES * 8 + tile * 8 + t * 2 + i % 2;
            sums[row * SUMS + g + i / 2 * 8] = c[tile][i];
        }
    }
    __syncthreads();
    finish(sums, bias, out, rows, outputs);
}
