// A linear layer, y = x · weightᵀ, for any number of rows: x in bf16, the weight in bf16 or FP8, f32 sums, then linear_store.cuh.
//
// A block computes TILE_M rows of x by TILE_N rows of the weight. 32 columns of K at a time go through shared memory, STAGES of
// them under way (cp.async; more of them where tiles are small, since then the time is that of reading the weight). Warps, 4 along
// N and THREADS / 128 along M, multiply by ldmatrix and mma.m16n8k16. Blocks that share rows of the weight follow each other.
//
// FP8=1: a tile has the weight's codes. ldmatrix gives a lane four neighbours of each 16 codes of a row, which fp8.cuh makes operand
// A. This permutes K within 16 columns: the pairs of x that belong to them are eight neighbouring bytes, which a lane reads at once
// as operand B. Warps along M convert the same codes, so small tiles have one. Scales come with each stage; the sums of its 32
// columns are multiplied by them in f32, so quantisation blocks have 32 columns or a greater power of two.
//
// Bytes: the weight 2 * N * K (FP8: N * K) once for each TILE_M rows, x 2 * M * K once for each TILE_N, mostly from the
// second-level cache. Sums are over K in order, 16 at a time (FP8: 32).
// sass [WIDTH=8]: linear_tiles lacks LDG\.E\.U16
// sass [WIDTH=8]: linear_tiles has LDGSTS\.E\.BYPASS.*128
// sass: linear_tiles has HMMA\.16816\.F32\.BF16
// sass: linear_tiles has LDSM
// sass [FP8=1]: linear_tiles has H(FMA|MUL)2\.BF16
// sass [FP8=1]: linear_tiles has LDS\.64

constexpr u32 X_ROW = TILE_K * 2, W_ROW = FP8 ? TILE_K : X_ROW;
constexpr u32 WARP_M = TILE_M / (THREADS / 128), WARP_N = TILE_N / 4;
// Bytes of a stage: tiles of x and of the weight, and a scale for each eight rows of FP8.
constexpr u32 X_TILE = TILE_M * X_ROW, W_TILE = TILE_N * W_ROW, STAGE = X_TILE + W_TILE + (FP8 ? TILE_N / FP8_ROWS * 4 : 0);

// The weight. FP8 has a scale for each eight rows and 2^block_shift columns.
struct Weight {
    Tiled<W_ROW> tiled;
    const float* scales;
    u32 block_shift;
};

// Begins to load a stage's columns of the weight, from `k` on, with their scales.
DEVICE void load_weight_tile(u8* stage, const Weight& weight, u32 k) {
    load_tile<TILE_N>(stage + X_TILE, weight.tiled, k);
    if (!FP8 || threadIdx.x >= TILE_N / FP8_ROWS) return;
    u32 row = blockIdx.y * (TILE_N / FP8_ROWS) + threadIdx.x, blocks = ((weight.tiled.cols - 1) >> weight.block_shift) + 1;
    bool inside = row < weight.tiled.rows / FP8_ROWS && k < weight.tiled.cols;
    const float* from = weight.scales + (u64)row * blocks + (k >> weight.block_shift);
    cp_async4(stage + X_TILE + W_TILE + threadIdx.x * 4, from, inside ? 4 : 0);
}

// A warp's place in the tiles, and its sums. Those of FP8 are of 16 rows of the weight by eight of x, others of 16 rows of x by eight of
// the weight.
struct Warp {
    u32 m, n;
    float sums[WARP_M * WARP_N / 128][4];
};

// Adds the products of a stage with a bf16 weight to a warp's sums.
DEVICE void multiply_bf16(Warp& warp, const u8* x, const u8* weight) {
    u32 lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 k = 0; k < X_ROW / 16; k += 2) {
        u32 a[WARP_M / 16][4], b[WARP_N / 16][4];
        _Pragma("unroll") for (u32 m = 0; m < WARP_M / 16; m++) {
            ldmatrix_x4(a[m], x + place<X_ROW>(warp.m + lane % 16, k + lane / 16) + m * 16 * X_ROW);
        }
        _Pragma("unroll") for (u32 n = 0; n < WARP_N / 16; n++) {
            ldmatrix_x4(b[n], weight + place<X_ROW>(warp.n + lane / 16 * 8 + lane % 8, k + lane / 8 % 2) + n * 16 * X_ROW);
        }
        _Pragma("unroll") for (u32 m = 0; m < WARP_M / 16; m++) {
            _Pragma("unroll") for (u32 n = 0; n < WARP_N / 8; n++) {
                const u32* pair = b[n / 2] + n % 2 * 2;
                mma_bf16(warp.sums[m * WARP_N / 8 + n], a[m][0], a[m][1], a[m][2], a[m][3], pair[0], pair[1]);
            }
        }
    }
}

// Adds the products of a stage with FP8 codes, times their scales, to a warp's sums.
DEVICE void multiply_fp8(Warp& warp, const u8* x, const u8* codes, const float* scales) {
    u32 lane = threadIdx.x % 32, t = lane % 4, a[WARP_N / 8][4];
    _Pragma("unroll") for (u32 n = 0; n < WARP_N / 16; n++) {
        u32 words[4];
        ldmatrix_x4(words, codes + place<W_ROW>(warp.n + lane / 16 * 8 + lane % 8, lane / 8 % 2) + n * 16 * W_ROW);
        unpack_fp8(a[2 * n], words[0], words[1]), unpack_fp8(a[2 * n + 1], words[2], words[3]);
    }
    const u8* first = x + place<X_ROW>(warp.m + lane / 4, t / 2) + t % 2 * 8;
    const u8* second = x + place<X_ROW>(warp.m + lane / 4, 2 + t / 2) + t % 2 * 8;
    _Pragma("unroll") for (u32 m = 0; m < WARP_M / 8; m++) {
        uint2 b[2] = {*(const uint2*)(first + m * 8 * X_ROW), *(const uint2*)(second + m * 8 * X_ROW)};
        _Pragma("unroll") for (u32 n = 0; n < WARP_N / 16; n++) {
            float values[4] = {};
            const u32 *upper = a[2 * n], *lower = a[2 * n + 1];
            _Pragma("unroll") for (u32 k = 0; k < 2; k++) {
                mma_bf16(values, upper[2 * k], lower[2 * k], upper[2 * k + 1], lower[2 * k + 1], b[k].x, b[k].y);
            }
            _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
                warp.sums[m * WARP_N / 16 + n][i] += scales[warp.n / FP8_ROWS + n * 2 + i / 2] * values[i];
            }
        }
    }
}

// Stores a warp's sums of a bf16 weight, of tiles that begin at rows `first_m` of x and `first_n` of the weight.
DEVICE void store_bf16(const Warp& warp, Out* out, const float* bias, u32 first_m, u32 first_n, u32 rows, u32 outputs) {
    u32 lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 n = 0; n < WARP_N / 8; n += 2) {
        u32 col = first_n + warp.n + n * 8 + lane % 4 * 2;
        float added[4] = {};
        _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
            u32 at = col + i / 2 * 8 + i % 2;
            if (bias && at < outputs) added[i] = bias[at];
        }
        _Pragma("unroll") for (u32 m = 0; m < WARP_M / 8; m++) {
            u32 row = first_m + warp.m + m * 8 + lane / 4;
            const float(*sums)[4] = warp.sums + m / 2 * (WARP_N / 8) + n;
            if (row < rows) put_sums(out, row, col, outputs, sums[0] + m % 2 * 2, sums[1] + m % 2 * 2, added);
        }
    }
}

// Stores a warp's sums of an FP8 weight.
DEVICE void store_fp8(const Warp& warp, Out* out, const float* bias, u32 first_m, u32 first_n, u32 rows, u32 outputs) {
    u32 lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 n = 0; n < WARP_N / 16; n++) {
        u32 col = first_n + warp.n + n * 16 + lane / 4;
        float added[2] = {};
        _Pragma("unroll") for (u32 i = 0; i < 2; i++) if (bias && col + i * 8 < outputs) added[i] = bias[col + i * 8];
        _Pragma("unroll") for (u32 m = 0; m < WARP_M / 4; m++) {
            u32 row = first_m + warp.m + m / 2 * 8 + lane % 4 * 2 + m % 2;
            const float* sums = warp.sums[m / 2 * (WARP_N / 16) + n] + m % 2;
            if (row < rows) put_sum(out, row, col, outputs, sums[0] + added[0], sums[2] + added[1]);
        }
    }
}

KERNEL __launch_bounds__(THREADS, 2) void linear_tiles(const bf16* x, const u8* weight, const float* scales, const float* bias,
                                                       Out* out, u32 rows, u32 outputs, u32 inputs, u32 block_shift) {
    u8* shared = shared_memory();
    u32 first_m = blockIdx.x * TILE_M, first_n = blockIdx.y * TILE_N;
    u32 steps = (inputs + TILE_K - 1) / TILE_K;
    Tiled<X_ROW> left = tiled<X_ROW>(x, first_m, rows, inputs);
    Weight right = {tiled<W_ROW>(weight, first_n, outputs, inputs), scales, block_shift};
    // Weights don't depend on the launch in front, so their loads begin before the wait for it.
    _Pragma("unroll") for (u32 stage = 0; stage < STAGES - 1; stage++) {
        load_weight_tile(shared + stage * STAGE, right, stage * TILE_K);
    }
    grid_launch_dependents();
    grid_dependency_wait();
    _Pragma("unroll") for (u32 stage = 0; stage < STAGES - 1; stage++) {
        load_tile<TILE_M>(shared + stage * STAGE, left, stage * TILE_K);
        cp_async_commit();
    }

    Warp warp = {threadIdx.x / 128 * WARP_M, threadIdx.x / 32 % 4 * WARP_N, {}};
    for (u32 step = 0; step < steps; step++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        u32 next = step + STAGES - 1;
        u8* free = shared + next % STAGES * STAGE;
        if (next < steps) {
            load_tile<TILE_M>(free, left, next * TILE_K);
            load_weight_tile(free, right, next * TILE_K);
        }
        cp_async_commit();
        const u8* stage = shared + step % STAGES * STAGE;
        if (FP8) {
            const float* scale = (const float*)(stage + X_TILE + W_TILE);
            multiply_fp8(warp, stage, stage + X_TILE, scale);
        } else {
            multiply_bf16(warp, stage, stage + X_TILE);
        }
    }
    cp_async_wait<0>();

    if (FP8) {
        store_fp8(warp, out, bias, first_m, first_n, rows, outputs);
    } else {
        store_bf16(warp, out, bias, first_m, first_n, rows, outputs);
    }
}
