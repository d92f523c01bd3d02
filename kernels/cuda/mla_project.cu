// The two products of attention over a compressed cache in its absorbed form (DeepSeek-V2, arXiv:2405.04434, section 2.1.2): the projection
// that would make keys of a latent row is multiplied with the queries, the one that would make values with the results.
//   VALUES=0: out[row, head, :rank] = query[row, head, :nope] · keys[head], and behind it the rotated part of the query as it is.
//   VALUES=1: out[row, head] = latent[row, head] · values[head]ᵀ.
// The weight is the projection as it is stored, [heads, nope + value, rank] bf16: of each head `nope` rows for keys, then `value` rows.
//
// A block of 4 warps computes TILE_M rows, a head and 64 columns of the result; 32 of the inner dimension at a time go through shared
// memory (mma.m16n8k16, f32 sums). The keys' part is read by rows and multiplied by columns (ldmatrix with transposition), so that one copy
// of the weight serves both products. Bytes: the head's weight once for each TILE_M rows.
// sass: mla_project has HMMA\.16816\.F32\.BF16

constexpr u32 TILE_N = 64, TILE_K = 32, X_STRIDE = TILE_K + 8;
// Tile of the weight: columns by the inner dimension (VALUES), or the inner dimension by columns.
constexpr u32 W_STRIDE = VALUES ? TILE_K + 8 : TILE_N + 8, W_CHUNKS_OF_ROW = VALUES ? TILE_K / 8 : TILE_N / 8;
constexpr u32 X_CHUNKS = (TILE_M * TILE_K / 8 + 127) / 128;

KERNEL __launch_bounds__(128, 4) void mla_project(const bf16* x, const bf16* projection, bf16* out, u32 rows, u32 heads,
                                               u32 rank, u32 nope, u32 rope, u32 value) {
    grid_launch_dependents();
    grid_dependency_wait();
    bf16* x_tile = (bf16*)shared_memory();
    bf16* w_tile = x_tile + TILE_M * X_STRIDE;
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = blockIdx.z, first_row = blockIdx.y * TILE_M;
    u32 first_col = blockIdx.x * TILE_N, n = VALUES ? value : rank, k = VALUES ? rank : nope;
    u32 x_width = VALUES ? rank : nope + rope, out_width = VALUES ? value : rank + rope;
    const bf16* weight = projection + (u64)(head * (nope + value) + (VALUES ? nope : 0)) * rank;

    float sums[TILE_M / 16][2][4] = {};
    for (u32 from = 0; from < k; from += TILE_K) {
        __syncthreads();
        _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
            u32 chunk = i * 128 + threadIdx.x, row = chunk / 4, col = from + chunk % 4 * 8;
            if (row >= TILE_M) break;
            bool is_there = first_row + row < rows && col < k;
            const bf16* place = is_there ? x + ((u64)(first_row + row) * heads + head) * x_width + col : x;
            cp_async16(x_tile + row * X_STRIDE + chunk % 4 * 8, place, is_there ? 16 : 0);
        }
        _Pragma("unroll") for (u32 i = 0; i < TILE_N * TILE_K / 8 / 128; i++) {
            u32 chunk = i * 128 + threadIdx.x, row = chunk / W_CHUNKS_OF_ROW, col = chunk % W_CHUNKS_OF_ROW * 8;
            u32 weight_row = row + (VALUES ? first_col : from), weight_col = col + (VALUES ? from : first_col);
            bool is_there = weight_row < (VALUES ? n : k) && weight_col < rank;
            const bf16* place = is_there ? weight + (u64)weight_row * rank + weight_col : weight;
            cp_async16(w_tile + row * W_STRIDE + col, place, is_there ? 16 : 0);
        }
        cp_async_commit();
        cp_async_wait<0>();
        __syncthreads();
        _Pragma("unroll") for (u32 step = 0; step < TILE_K; step += 16) {
            u32 b[4];
            if (VALUES) {
                ldmatrix_x4(b, w_tile + (warp * 16 + lane % 8 + lane / 16 * 8) * W_STRIDE + step + lane / 8 % 2 * 8);
            } else {
                ldmatrix_x4_trans(b, w_tile + (step + lane % 16) * W_STRIDE + warp * 16 + lane / 16 * 8);
            }
            _Pragma("unroll") for (u32 m = 0; m < TILE_M / 16; m++) {
                u32 a[4];
                ldmatrix_x4(a, x_tile + (m * 16 + lane % 16) * X_STRIDE + step + lane / 16 * 8);
                mma_bf16(sums[m][0], a[0], a[1], a[2], a[3], b[0], b[1]);
                mma_bf16(sums[m][1], a[0], a[1], a[2], a[3], b[2], b[3]);
            }
        }
    }

    _Pragma("unroll") for (u32 m = 0; m < TILE_M / 16; m++) {
        _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
            u32 row = first_row + m * 16 + half * 8 + lane / 4;
            if (row >= rows) continue;
            bf16* to = out + ((u64)row * heads + head) * out_width;
            _Pragma("unroll") for (u32 part = 0; part < 2; part++) {
                u32 col = first_col + warp * 16 + part * 8 + lane % 4 * 2;
                if (col < n) *(u32*)(to + col) = bf16_pair(sums[m][part][2 * half], sums[m][part][2 * half + 1]);
            }
        }
    }
    if constexpr (!VALUES) {
        for (u32 i = threadIdx.x; i < TILE_M * rope / 2 && blockIdx.x == 0; i += 128) {
            u32 row = first_row + i / (rope / 2), pair = i % (rope / 2);
            if (row >= rows) break;
            u64 item = (u64)row * heads + head;
            ((u32*)(out + item * out_width + rank))[pair] = ((const u32*)(x + item * x_width + nope))[pair];
        }
    }
}
