// The two products of attention over a compressed cache in its absorbed form (DeepSeek-V2, arXiv:2405.04434, section 2.1.2): the projection
// that would make keys of a latent row is multiplied with the queries, the one that would make values with the results.
//   VALUES=0: out[row, head, :rank] = query[row, head, :nope] · keys[head], and behind it the rotated part of the query as it is.
//   VALUES=1: out[row, head] = latent[row, head] · values[head]ᵀ.
// The weight is the projection as it is stored, [heads, nope + value, rank] bf16: of each head `nope` rows for keys, then `value` rows.
//
// A block computes TILE_M rows of a head by TILE_N columns of the result. 32 of the inner dimension at a time go through shared memory,
// STAGES of them under way (cp.async). Rows of tiles are padded by 16 bytes, so that ldmatrix has no bank conflicts. A warp multiplies up
// to 32 rows by TILE_N / WARPS_N columns (mma.m16n8k16, f32 sums). The keys' part is read by rows and multiplied by columns (ldmatrix with
// transposition), so that one copy of the weight serves both products. Sums are over the inner dimension in order, in every tile. Bytes:
// the head's weight once for each TILE_M rows, x once for each TILE_N columns, mostly from the second-level cache.
// sass: mla_project has HMMA\.16816\.F32\.BF16
// sass: mla_project has LDGSTS\.E\.BYPASS.*128

constexpr u32 TILE_K = 32, X_STRIDE = TILE_K + 8;
constexpr u32 WARP_M = TILE_M < 32 ? TILE_M : 32, WARPS_M = TILE_M / WARP_M;
constexpr u32 WARPS_N = TILE_M < 32 ? 4 : 2, WARP_N = TILE_N / WARPS_N, THREADS = WARPS_M * WARPS_N * 32;
// Tile of the weight: columns by the inner dimension (VALUES), or the inner dimension by columns.
constexpr u32 W_ROW = VALUES ? TILE_K : TILE_N, W_STRIDE = W_ROW + 8;
constexpr u32 X_TILE = TILE_M * X_STRIDE, STAGE = X_TILE + TILE_N * TILE_K / W_ROW * W_STRIDE;

// A matrix of the block's head, from the first row and column of the block's tiles on. Outside of its `rows` and `cols` tiles are zero.
struct HeadMatrix {
    const bf16* at;
    u32 stride, rows, cols;
};

// Begins to copy a tile with `Width` columns from row `row` and column `col` on.
template <u32 Height, u32 Width>
DEVICE void copy_tile(bf16* to, const HeadMatrix& matrix, u32 row, u32 col) {
    _Pragma("unroll") for (u32 i = 0; i < (Height * Width / 8 + THREADS - 1) / THREADS; i++) {
        u32 chunk = i * THREADS + threadIdx.x, y = chunk / (Width / 8), x = chunk % (Width / 8) * 8;
        if (y >= Height) break;
        bool is_there = row + y < matrix.rows && col + x < matrix.cols;
        cp_async16(to + y * (Width + 8) + x, matrix.at + (u64)(row + y) * matrix.stride + col + x, is_there ? 16 : 0);
    }
}

// The block's tiles of x and of the weight from `k` on in the inner dimension.
DEVICE void copy_x(bf16* stage, const HeadMatrix& x, u32 k) {
    copy_tile<TILE_M, TILE_K>(stage, x, 0, k);
}

DEVICE void copy_weight(bf16* stage, const HeadMatrix& weight, u32 k) {
    copy_tile<TILE_N * TILE_K / W_ROW, W_ROW>(stage + X_TILE, weight, VALUES ? 0 : k, VALUES ? k : 0);
}

// Adds the products of a stage to the warp's sums.
DEVICE void multiply(float (&sums)[WARP_M / 16][WARP_N / 8][4], const bf16* stage, u32 warp_m, u32 warp_n) {
    u32 lane = threadIdx.x % 32;
    const bf16* x = stage + (warp_m + lane % 16) * X_STRIDE + lane / 16 * 8;
    const bf16* by_columns = stage + X_TILE + (warp_n + lane % 8 + lane / 16 * 8) * W_STRIDE + lane / 8 % 2 * 8;
    const bf16* by_rows = stage + X_TILE + lane % 16 * W_STRIDE + warp_n + lane / 16 * 8;
    _Pragma("unroll") for (u32 k = 0; k < TILE_K; k += 16) {
        u32 a[WARP_M / 16][4];
        _Pragma("unroll") for (u32 m = 0; m < WARP_M / 16; m++) ldmatrix_x4(a[m], x + m * 16 * X_STRIDE + k);
        _Pragma("unroll") for (u32 n = 0; n < WARP_N / 16; n++) {
            u32 b[4];
            if (VALUES) {
                ldmatrix_x4(b, by_columns + n * 16 * W_STRIDE + k);
            } else {
                ldmatrix_x4_trans(b, by_rows + k * W_STRIDE + n * 16);
            }
            _Pragma("unroll") for (u32 m = 0; m < WARP_M / 16; m++) {
                mma_bf16(sums[m][n * 2], a[m][0], a[m][1], a[m][2], a[m][3], b[0], b[1]);
                mma_bf16(sums[m][n * 2 + 1], a[m][0], a[m][1], a[m][2], a[m][3], b[2], b[3]);
            }
        }
    }
}

// Copies the rotated part of the block's queries.
DEVICE void copy_rotated(bf16* out, const bf16* x, u32 rows, u32 out_stride, u32 x_stride, u32 rope) {
    for (u32 i = threadIdx.x; i < TILE_M * rope / 2; i += THREADS) {
        u32 row = i / (rope / 2), pair = i % (rope / 2);
        if (row >= rows) break;
        ((u32*)(out + (u64)row * out_stride))[pair] = ((const u32*)(x + (u64)row * x_stride))[pair];
    }
}

KERNEL __launch_bounds__(THREADS, TILE_M == 128 ? 2 : 4) void mla_project(const bf16* x, const bf16* projection, bf16* out, u32 rows,
                                                                          u32 heads, u32 rank, u32 nope, u32 rope, u32 value) {
    bf16* shared = (bf16*)shared_memory();
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = blockIdx.z, first_row = blockIdx.y * TILE_M;
    u32 warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;
    u32 first_col = blockIdx.x * TILE_N, cols = (VALUES ? value : rank) - first_col, k = VALUES ? rank : nope;
    u32 x_width = VALUES ? rank : nope + rope, out_width = VALUES ? value : rank + rope, steps = (k + TILE_K - 1) / TILE_K;
    u64 first = (u64)first_row * heads + head, first_weight = (u64)head * (nope + value) + (VALUES ? nope + first_col : 0);
    HeadMatrix own = {x + first * x_width, heads * x_width, rows - first_row, k};
    HeadMatrix weight = {projection + first_weight * rank + (VALUES ? 0 : first_col), rank, VALUES ? cols : k, VALUES ? k : cols};

    // Weights don't depend on the launch in front, so their copies begin before the wait for it.
    _Pragma("unroll") for (u32 stage = 0; stage < STAGES - 1; stage++) copy_weight(shared + stage * STAGE, weight, stage * TILE_K);
    grid_launch_dependents();
    grid_dependency_wait();
    _Pragma("unroll") for (u32 stage = 0; stage < STAGES - 1; stage++) {
        copy_x(shared + stage * STAGE, own, stage * TILE_K);
        cp_async_commit();
    }
    float sums[WARP_M / 16][WARP_N / 8][4] = {};
    for (u32 step = 0; step < steps; step++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        u32 next = step + STAGES - 1;
        if (next < steps) {
            copy_weight(shared + next % STAGES * STAGE, weight, next * TILE_K);
            copy_x(shared + next % STAGES * STAGE, own, next * TILE_K);
        }
        cp_async_commit();
        multiply(sums, shared + step % STAGES * STAGE, warp_m, warp_n);
    }
    bf16* to = out + first * out_width;
    _Pragma("unroll") for (u32 i = 0; i < WARP_M / 8; i++) {
        u32 row = warp_m + i * 8 + lane / 4;
        if (row >= own.rows) continue;
        _Pragma("unroll") for (u32 n = 0; n < WARP_N / 8; n++) {
            u32 col = warp_n + n * 8 + lane % 4 * 2;
            const float(&c)[4] = sums[i / 2][n];
            u32* place = (u32*)(to + (u64)row * heads * out_width + first_col + col);
            if (col < cols) *place = bf16_pair(c[i % 2 * 2], c[i % 2 * 2 + 1]);
        }
    }
    if (!VALUES && blockIdx.x == 0) copy_rotated(to + rank, own.at + nope, own.rows, heads * out_width, heads * x_width, rope);
}
