// Attention over the paged cache (Vaswani et al. 2017, arXiv:1706.03762; softmax in one pass as in Milakov and Gimelshein 2018,
// arXiv:1805.02867), the simple way: for shapes that the fast kernels don't support.
//
// A warp computes a row and a query head. Of 32 positions at a time each lane has one, and multiplies its key by the query, which
// lies in shared memory; then each lane has some columns of the result, and adds the 32 values to them. A row sees the positions
// up to its own, of them the last `window` (0: all). A sink is one more score without a value (gpt-oss). Fuses everything from
// scores to results; weights and sums stay f32. Bytes: every key and value of a row's lane, 2 each, once per query head.
// sass [WIDTH=8]: attention has LDG\.E\.128

// Columns of the result that a lane computes.
constexpr u32 COLUMNS = (HEAD_DIM + 31) / 32;

DEVICE float dot(const float* query, const bf16* keys, u32 slot) {
    float sum = 0.0f;
    for (u32 dim = 0; dim < HEAD_DIM; dim += WIDTH) {
        Floats<WIDTH> key = load<WIDTH>(keys + kv_swizzle<HEAD_DIM>(slot, dim));
        _Pragma("unroll") for (int i = 0; i < WIDTH; i++) sum += query[dim + i] * key.at[i];
    }
    return sum;
}

KERNEL __launch_bounds__(128) void attention(const bf16* qkv, const bf16* keys, const bf16* values, const u32* tables,
                                             const u32* lanes, const u32* positions, const float* sinks, bf16* out,
                                             u32 rows, u32 heads, u32 kv_heads, u32 table_width, u32 window, float scale) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, item = blockIdx.x * 4 + warp;
    u32 row = item / heads, head = item % heads, kv_head = head / (heads / kv_heads);
    if (row >= rows) return;
    float* query = (float*)shared_memory() + warp * (HEAD_DIM + 64);
    float* weights = query + HEAD_DIM;
    u32* slots = (u32*)weights + 32;
    const bf16* from = qkv + ((u64)row * (heads + 2 * kv_heads) + head) * HEAD_DIM;
    for (u32 dim = lane; dim < HEAD_DIM; dim += 32) query[dim] = f32_of(from[dim]) * scale;
    __syncwarp();

    const u32* table = tables + (u64)lanes[row] * table_width;
    u32 last = positions[row], first = window && last >= window ? last + 1 - window : 0;
    Softmax all = {sinks ? sinks[head] : MINUS_INFINITY, sinks ? 1.0f : 0.0f};
    float result[COLUMNS] = {};
    for (u32 begin = first; begin <= last; begin += 32) {
        u32 position = begin + lane, slot = 0, count = min(32u, last + 1 - begin);
        float score = MINUS_INFINITY;
        if (lane < count) {
            slot = table[position / 64] * 64 + position % 64;
            score = dot(query, keys + kv_row<HEAD_DIM>(slot, kv_head, kv_heads), slot);
        }
        float factor = weigh(all, score, lane < count, weights[lane]);
        slots[lane] = slot;
        __syncwarp();
        _Pragma("unroll") for (u32 i = 0; i < COLUMNS; i++) result[i] *= factor;
        for (u32 key = 0; key < count; key++) {
            const bf16* value = values + kv_row<HEAD_DIM>(slots[key], kv_head, kv_heads);
            _Pragma("unroll") for (u32 i = 0; i < COLUMNS; i++) {
                u32 dim = i * 32 + lane;
                if (dim < HEAD_DIM) result[i] += weights[key] * f32_of(value[kv_swizzle<HEAD_DIM>(slots[key], dim)]);
            }
        }
        __syncwarp();
    }
    _Pragma("unroll") for (u32 i = 0; i < COLUMNS; i++) {
        u32 dim = i * 32 + lane;
        if (dim < HEAD_DIM) out[(u64)item * HEAD_DIM + dim] = bf16_of(result[i] / all.sum);
    }
}
