// Attention over a compressed cache in its absorbed form, the simple way: out = softmax(scale * q · rows) · rows. Scores take all
// RANK + ROPE columns of a cached row, results the first RANK. The cache is [block of 64][token][RANK + ROPE] bf16.
//
// A warp computes a row and a head, as in attention.cu: of 32 positions at a time each lane has one for the scores, then each
// lane has some columns of the result. Bytes: every cached row of the row's lane, 2 for each value, twice per head.
// sass: mla_attention has LDG\.E\.128

constexpr u32 WIDTH = RANK + ROPE, COLUMNS = (RANK / 2 + 31) / 32;

KERNEL __launch_bounds__(128) void mla_attention(const bf16* queries, const bf16* cache, const u32* tables, const u32* lanes,
                                                 const u32* positions, bf16* out, u32 rows, u32 heads, u32 table_width,
                                                 float scale) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, item = blockIdx.x * 4 + warp, row = item / heads;
    if (row >= rows) return;
    float* query = (float*)shared_memory() + warp * (WIDTH + 64);
    float* weights = query + WIDTH;
    u32* slots = (u32*)weights + 32;
    for (u32 col = lane; col < WIDTH; col += 32) query[col] = f32_of(queries[(u64)item * WIDTH + col]) * scale;
    __syncwarp();

    const u32* table = tables + (u64)lanes[row] * table_width;
    u32 last = positions[row];
    Softmax all = {MINUS_INFINITY, 0.0f};
    float result[COLUMNS][2] = {};
    for (u32 begin = 0; begin <= last; begin += 32) {
        u32 position = begin + lane, slot = 0, count = min(32u, last + 1 - begin);
        float score = MINUS_INFINITY;
        if (lane < count) {
            slot = table[position / 64] * 64 + position % 64, score = 0.0f;
            for (u32 col = 0; col < WIDTH; col += 8) {
                Floats<8> key = load<8>(cache + (u64)slot * WIDTH + col);
                _Pragma("unroll") for (int i = 0; i < 8; i++) score += query[col + i] * key.at[i];
            }
        }
        float factor = weigh(all, score, lane < count, weights[lane]);
        slots[lane] = slot;
        __syncwarp();
        _Pragma("unroll") for (u32 i = 0; i < COLUMNS; i++) result[i][0] *= factor, result[i][1] *= factor;
        for (u32 key = 0; key < count; key++) {
            const u32* pairs = (const u32*)(cache + (u64)slots[key] * WIDTH);
            _Pragma("unroll") for (u32 i = 0; i < COLUMNS; i++) {
                if (i * 32 + lane >= RANK / 2) break;
                u32 pair = pairs[i * 32 + lane];
                result[i][0] += weights[key] * f32_low(pair), result[i][1] += weights[key] * f32_high(pair);
            }
        }
        __syncwarp();
    }
    _Pragma("unroll") for (u32 i = 0; i < COLUMNS; i++) {
        if (i * 32 + lane >= RANK / 2) break;
        ((u32*)(out + (u64)item * RANK))[i * 32 + lane] = bf16_pair(result[i][0] / all.sum, result[i][1] / all.sum);
    }
}
