// Linear layers of experts: out[row] = x[row] · weight[expert of row]ᵀ + bias, for rows that moe_align has brought together.
//
// A block of 4 warps for TILE_M rows of one expert and 64 columns of the result; 32 of the inner dimension at a time go through shared
// memory, and the tensor cores multiply (mma.m16n8k16, f32 sums). While a step is multiplied the next one is on its way in registers.
// Which rows a block has it finds by itself from where the experts begin, so that the grid doesn't depend on the routes; blocks
// without rows end at once. Weights are read as they are stored (FORMAT) and made bf16 on the way into shared memory:
//   0: bf16 [experts, n, k].
//   1: MXFP4: two E2M1 codes in a byte, the lower half first, and a power of two plus 127 for 32 of a row (OCP Microscaling Formats
//      v1.0). All products are bf16 exactly.
//   2: FP8: E4M3 codes (OCP 8-bit Floating Point v1.0), an f32 scale for each block of rows and columns; products are rounded to bf16.
// DOWN=0 takes x of the route's token and writes at the row's place in the order (bf16); DOWN=1 reads at the place and writes f32 to
// the route's row. Bytes: an expert's weights once for each TILE_M of its rows.
// sass: moe_linear has HMMA\.16816\.F32\.BF16

constexpr u32 TILE_N = 64, TILE_K = 32, STRIDE = TILE_K + 8;
// Chunks of 8 elements that a thread brings in a step: of weights, and of x (only the first threads where there are fewer).
constexpr u32 W_CHUNKS = TILE_N * TILE_K / 8 / 128, X_CHUNKS = (TILE_M * TILE_K / 8 + 127) / 128;

struct Weights {
    const u8* codes;
    const void* scales;
    u32 n, k, block_n, block_k, part_rows;
};

// Eight weights as they are stored, with their scale.
struct Chunk {
    uint4 bits;
    float scale;
};

DEVICE float e2m1(u32 code) {
    return __uint_as_float((code & 7) << 22 | (code & 8) << 28) * 0x1p126f;
}

DEVICE float e4m3(u32 code) {
    return __uint_as_float((code & 0x7f) << 20 | (code & 0x80) << 24) * 0x1p120f;
}

DEVICE Chunk fetch(const Weights& w, u32 expert, u32 row, u32 col) {
    Chunk chunk = {make_uint4(0, 0, 0, 0), 0.0f};
    if (row >= w.n || col >= w.k) return chunk;
    u64 at = ((u64)expert * w.n + row) * w.k + col;
    if (FORMAT == 0) {
        chunk.bits = load_weight(w.codes + at * 2);
    } else if (FORMAT == 1) {
        chunk.bits.x = *(const u32*)(w.codes + at / 2);
        u32 exponent = ((const u8*)w.scales)[at / 32];
        chunk.scale = __uint_as_float(exponent ? exponent << 23 : 0x400000);
    } else {
        uint2 codes = *(const uint2*)(w.codes + at);
        chunk.bits.x = codes.x, chunk.bits.y = codes.y;
        // Each part of the stacked rows has blocks of its own.
        u32 part_blocks = (w.part_rows + w.block_n - 1) / w.block_n, row_blocks = w.n / w.part_rows * part_blocks;
        u32 block = row / w.part_rows * part_blocks + row % w.part_rows / w.block_n;
        u32 col_blocks = (w.k + w.block_k - 1) / w.block_k;
        chunk.scale = ((const float*)w.scales)[((u64)expert * row_blocks + block) * col_blocks + col / w.block_k];
    }
    return chunk;
}

DEVICE uint4 widen(const Chunk& chunk) {
    if constexpr (FORMAT == 0) {
        return chunk.bits;
    } else {
        Floats<8> v;
        _Pragma("unroll") for (int i = 0; i < 8; i++) {
            u32 word = FORMAT == 1 || i < 4 ? chunk.bits.x : chunk.bits.y;
            v.at[i] = (FORMAT == 1 ? e2m1(word >> 4 * i) : e4m3(word >> 8 * (i % 4))) * chunk.scale;
        }
        return bits_of(v);
    }
}

// The expert of a tile, and its rows' places; none: `first` is `end`. Every warp finds it.
struct Tile {
    u32 expert, first, end;
};

DEVICE Tile find_tile(const u32* starts, u32 experts, u32 tile) {
    u32 lane = threadIdx.x % 32, before = 0;
    for (u32 base = 0; base < experts; base += 32) {
        u32 expert = base + lane, start = 0, tiles = 0, end = 0;
        if (expert < experts) start = starts[expert], end = starts[expert + 1], tiles = (end - start + TILE_M - 1) / TILE_M;
        u32 sum = tiles;
        for (u32 offset = 1; offset < 32; offset *= 2) {
            u32 other = __shfl_up_sync(0xffffffffu, sum, offset);
            if (lane >= offset) sum += other;
        }
        u32 reached = __ballot_sync(0xffffffffu, before + sum > tile);
        if (reached) {
            int hit = __ffs(reached) - 1;
            u32 first = start + (tile - (before + sum - tiles)) * TILE_M;
            first = __shfl_sync(0xffffffffu, first, hit), end = __shfl_sync(0xffffffffu, end, hit);
            return {base + hit, first, min(end, first + TILE_M)};
        }
        before += __shfl_sync(0xffffffffu, sum, 31);
    }
    return {0, 0, 0};
}

KERNEL __launch_bounds__(128) void moe_linear(const bf16* x, const u32* order, const u32* starts, const u8* codes,
                                              const void* scales, const float* bias, void* out, u32 n, u32 k, u32 experts,
                                              u32 per_token, u32 block_n, u32 block_k, u32 part_rows) {
    grid_launch_dependents();
    grid_dependency_wait();
    Tile tile = find_tile(starts, experts, blockIdx.y);
    if (tile.first == tile.end) return;
    Weights weights = {codes, scales, n, k, block_n, block_k, part_rows};
    bf16* x_tile = (bf16*)shared_memory();
    bf16* w_tile = x_tile + TILE_M * STRIDE;
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, first_col = blockIdx.x * TILE_N;

    // Where this thread's chunks of x come from.
    const bf16* x_rows[X_CHUNKS];
    _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
        u32 place = tile.first + (i * 128 + threadIdx.x) / 4;
        bool is_there = (i * 128 + threadIdx.x) / 4 < TILE_M && place < tile.end;
        x_rows[i] = is_there ? x + (u64)(DOWN ? place : order[place] / per_token) * k : nullptr;
    }
    u32 chunk_col = threadIdx.x % 4 * 8;
    Chunk w_next[W_CHUNKS];
    uint4 x_next[X_CHUNKS];
    auto bring = [&](u32 from) {
        u32 col = from + chunk_col;
        _Pragma("unroll") for (u32 i = 0; i < W_CHUNKS; i++) {
            w_next[i] = fetch(weights, tile.expert, first_col + (i * 128 + threadIdx.x) / 4, col);
        }
        _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
            x_next[i] = x_rows[i] && col < k ? *(const uint4*)(x_rows[i] + col) : make_uint4(0, 0, 0, 0);
        }
    };

    float sums[TILE_M / 16][2][4] = {};
    bring(0);
    for (u32 from = 0; from < k; from += TILE_K) {
        __syncthreads();
        _Pragma("unroll") for (u32 i = 0; i < W_CHUNKS; i++) {
            *(uint4*)(w_tile + (i * 128 + threadIdx.x) / 4 * STRIDE + chunk_col) = widen(w_next[i]);
        }
        _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
            u32 row = (i * 128 + threadIdx.x) / 4;
            if (row < TILE_M) *(uint4*)(x_tile + row * STRIDE + chunk_col) = x_next[i];
        }
        __syncthreads();
        if (from + TILE_K < k) bring(from + TILE_K);
        _Pragma("unroll") for (u32 step = 0; step < TILE_K; step += 16) {
            u32 b[4];
            ldmatrix_x4(b, w_tile + (warp * 16 + lane % 8 + lane / 16 * 8) * STRIDE + step + lane / 8 % 2 * 8);
            _Pragma("unroll") for (u32 m = 0; m < TILE_M / 16; m++) {
                u32 a[4];
                ldmatrix_x4(a, x_tile + (m * 16 + lane % 16) * STRIDE + step + lane / 16 * 8);
                mma_bf16(sums[m][0], a[0], a[1], a[2], a[3], b[0], b[1]);
                mma_bf16(sums[m][1], a[0], a[1], a[2], a[3], b[2], b[3]);
            }
        }
    }

    _Pragma("unroll") for (u32 m = 0; m < TILE_M / 16; m++) {
        _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
            u32 place = tile.first + m * 16 + half * 8 + lane / 4;
            if (place >= tile.end) continue;
            u64 row = (u64)(DOWN ? order[place] : place) * n;
            _Pragma("unroll") for (u32 part = 0; part < 2; part++) {
                u32 col = first_col + warp * 16 + part * 8 + lane % 4 * 2;
                if (col >= n) continue;
                float2 pair = make_float2(sums[m][part][2 * half], sums[m][part][2 * half + 1]);
                if (bias) pair.x += bias[(u64)tile.expert * n + col], pair.y += bias[(u64)tile.expert * n + col + 1];
                if (DOWN) {
                    *(float2*)((float*)out + row + col) = pair;
                } else {
                    *(u32*)((bf16*)out + row + col) = bf16_pair(pair.x, pair.y);
                }
            }
        }
    }
}
