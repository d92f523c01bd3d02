// A linear layer, y = x · weightᵀ, for any number of rows: bf16 in, f32 sums, then linear_store.cuh.
//
// A block computes TILE_M rows of x by TILE_N rows of the weight. 32 columns of K at a time go through shared memory, STAGES of
// them under way (cp.async; more of them where tiles are small, since then the time is that of reading the weight). 8 warps, 2
// along M by 4 along N, multiply by ldmatrix and mma.m16n8k16. A row of a tile is 64 bytes; its four chunks of 16 swap places by
// the row's bits 1 and 2, so that eight rows of ldmatrix lie in all banks. What is outside of M, N or K is zero. Blocks that
// share rows of the weight follow each other. WIDTH 8: K and the pointers are multiples of 16 bytes; WIDTH 1: any K.
//
// Bytes: the weight 2 * N * K once for each TILE_M rows, x 2 * M * K once for each TILE_N, mostly from the second-level cache.
// Sums are over K in order, 16 at a time.
// sass [WIDTH=8]: linear_tiles lacks LDG\.E\.U16
// sass [WIDTH=8]: linear_tiles has LDGSTS\.E\.BYPASS.*128
// sass: linear_tiles has HMMA\.16816\.F32\.BF16
// sass: linear_tiles has LDSM

constexpr u32 TILE_K = 32, CHUNKS = TILE_K / 8;
constexpr u32 WARP_M = TILE_M / 2, WARP_N = TILE_N / 4;
constexpr u32 STAGE = (TILE_M + TILE_N) * TILE_K;

// Index of a chunk of a tile's row, in elements.
DEVICE u32 place(u32 row, u32 chunk) {
    return row * TILE_K + (chunk ^ row / 2 % CHUNKS) * 8;
}

// A matrix [rows, cols] whose tiles a block loads; each thread loads a chunk of every 64th row.
struct Tiled {
    // Address of the thread's chunk in its first row.
    const bf16* from;
    // Index of the thread's first row.
    u32 row;
    u32 rows, cols;
};

DEVICE Tiled tiled(const bf16* matrix, u32 first, u32 rows, u32 cols) {
    u32 row = first + threadIdx.x / CHUNKS;
    return {matrix + (u64)row * cols + threadIdx.x % CHUNKS * 8, row, rows, cols};
}

// Begins to load the tile's columns from `k` on.
template <u32 Tile>
DEVICE void load_tile(bf16* tile, const Tiled& matrix, u32 k) {
    u32 col = k + threadIdx.x % CHUNKS * 8;
    bf16* to = tile + place(threadIdx.x / CHUNKS, threadIdx.x % CHUNKS);
    _Pragma("unroll") for (u32 i = 0; i < Tile / 64; i++) {
        const bf16* from = matrix.from + (u64)(i * 64) * matrix.cols + k;
        bool inside = matrix.row + i * 64 < matrix.rows;
        if (WIDTH == 8) {
            cp_async16(to + i * 64 * TILE_K, from, inside && col < matrix.cols ? 16 : 0);
        } else {
            for (u32 j = 0; j < 8; j++) to[i * 64 * TILE_K + j] = inside && col + j < matrix.cols ? from[j] : (bf16)0;
        }
    }
}

// Adds the products of a stage to the warp's sums.
DEVICE void multiply(float (&sums)[WARP_M / 16][WARP_N / 8][4], const bf16* x, const bf16* weight, u32 warp_m, u32 warp_n) {
    u32 lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 k = 0; k < CHUNKS; k += 2) {
        u32 a[WARP_M / 16][4], b[WARP_N / 16][4];
        _Pragma("unroll") for (u32 m = 0; m < WARP_M / 16; m++) {
            ldmatrix_x4(a[m], x + place(warp_m + m * 16 + lane % 16, k + lane / 16));
        }
        _Pragma("unroll") for (u32 n = 0; n < WARP_N / 16; n++) {
            ldmatrix_x4(b[n], weight + place(warp_n + n * 16 + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
        }
        _Pragma("unroll") for (u32 m = 0; m < WARP_M / 16; m++) {
            _Pragma("unroll") for (u32 n = 0; n < WARP_N / 8; n++) {
                mma_bf16(sums[m][n], a[m][0], a[m][1], a[m][2], a[m][3], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
            }
        }
    }
}

// Writes two neighbours of a row of the output, which has `cols` columns.
DEVICE void put_pair(Out* out, u32 row, u32 col, u32 cols, float x, float y) {
    Out* p = out + (u64)row * cols + col;
    if (cols % 2 == 0) {
        put_two(p, x, y);
    } else {
        put(p, x);
        if (col + 1 < cols) put(p + 1, y);
    }
}

// Writes the sums of columns `col` and `col + 1`, and those of columns `col + 8` and `col + 9` (`next`); `bias` has a number for
// each of the four.
DEVICE void put_sums(Out* out, u32 row, u32 col, u32 outputs, const float* sums, const float* next, const float* bias) {
    float x[2] = {sums[0] + bias[0], sums[1] + bias[1]}, y[2] = {next[0] + bias[2], next[1] + bias[3]};
    if (STORE == STORE_SWIGLU) {
        if (col < outputs) put_pair(out, row, col / 16 * 8 + col % 8, outputs / 2, swiglu(x[0], y[0]), swiglu(x[1], y[1]));
        return;
    }
    if (col < outputs) put_pair(out, row, col, outputs, x[0], x[1]);
    if (col + 8 < outputs) put_pair(out, row, col + 8, outputs, y[0], y[1]);
}

KERNEL __launch_bounds__(256, 2) void linear_tiles(const bf16* x, const bf16* weight, const float* bias, Out* out, u32 rows,
                                                   u32 outputs, u32 inputs) {
    bf16* shared = (bf16*)shared_memory();
    u32 first_m = blockIdx.x * TILE_M, first_n = blockIdx.y * TILE_N;
    u32 steps = (inputs + TILE_K - 1) / TILE_K;
    Tiled left = tiled(x, first_m, rows, inputs), right = tiled(weight, first_n, outputs, inputs);
    // Weights don't depend on the launch in front, so their loads begin before the wait for it.
    _Pragma("unroll") for (u32 stage = 0; stage < STAGES - 1; stage++) {
        load_tile<TILE_N>(shared + stage * STAGE + TILE_M * TILE_K, right, stage * TILE_K);
    }
    grid_launch_dependents();
    grid_dependency_wait();
    _Pragma("unroll") for (u32 stage = 0; stage < STAGES - 1; stage++) {
        load_tile<TILE_M>(shared + stage * STAGE, left, stage * TILE_K);
        cp_async_commit();
    }

    u32 warp = threadIdx.x / 32, warp_m = warp / 4 * WARP_M, warp_n = warp % 4 * WARP_N;
    float sums[WARP_M / 16][WARP_N / 8][4] = {};
    for (u32 step = 0; step < steps; step++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        u32 next = step + STAGES - 1;
        bf16* free = shared + next % STAGES * STAGE;
        if (next < steps) {
            load_tile<TILE_M>(free, left, next * TILE_K);
            load_tile<TILE_N>(free + TILE_M * TILE_K, right, next * TILE_K);
        }
        cp_async_commit();
        const bf16* stage = shared + step % STAGES * STAGE;
        multiply(sums, stage, stage + TILE_M * TILE_K, warp_m, warp_n);
    }
    cp_async_wait<0>();

    u32 lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 n = 0; n < WARP_N / 8; n += 2) {
        u32 col = first_n + warp_n + n * 8 + lane % 4 * 2;
        float added[4] = {};
        _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
            u32 at = col + i / 2 * 8 + i % 2;
            if (bias && at < outputs) added[i] = bias[at];
        }
        _Pragma("unroll") for (u32 m = 0; m < WARP_M / 8; m++) {
            u32 row = first_m + warp_m + m * 8 + lane / 4, half = m % 2 * 2;
            if (row < rows) put_sums(out, row, col, outputs, sums[m / 2][n] + half, sums[m / 2][n + 1] + half, added);
        }
    }
}
