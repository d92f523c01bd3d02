// Preparation of a row of qkv for attention: norms of query and key heads (Qwen3; optional), rotary embedding of both (Su et al.
// 2021, arXiv:2104.09864, the halves of the rotated part rotated against each other as in GPT-NeoX), scaling of queries by their
// position (Ministral 3; optional), keys and values written to their slots.
//
// A few lanes share a head. Each has WIDTH elements of the first half and the same of the second, so that pairs meet in one lane
// (8: two loads of 16 bytes): of the dimensions that are rotated (the first 2 * pairs), or of those behind them. A head's squares
// are summed over its lanes. Fuses four operations; queries are changed in place.
// Bytes: each element of qkv is read and written once (2 + 2); norms and frequencies come from the caches.
//
// An angle is position * frequency rounded to f32, as models are trained with; its sine and cosine are of that number.
// sass [WIDTH=8]: qk_norm_rope_write has LDG\.E\.128
// sass [WIDTH=8]: qk_norm_rope_write lacks LDG\.E\.U16

constexpr u32 HALF = HEAD_DIM / 2;
// Lanes that have elements, and lanes of a head: a power of two.
constexpr u32 ACTIVE = HALF / WIDTH;
constexpr u32 LANES = ACTIVE > 16 ? 32 : ACTIVE > 8 ? 16 : ACTIVE > 4 ? 8 : ACTIVE > 2 ? 4 : ACTIVE > 1 ? 2 : 1;

typedef Floats<WIDTH> Part;

DEVICE void scale(Part& first, Part& second, const float* weight, u32 low, u32 high, float by) {
    Part w = load<WIDTH>(weight + low), v = load<WIDTH>(weight + high);
    _Pragma("unroll") for (int i = 0; i < WIDTH; i++) first.at[i] *= by * w.at[i], second.at[i] *= by * v.at[i];
}

DEVICE void rotate(Part& first, Part& second, const float* frequencies, u32 at, u32 position, float factor) {
    Part frequency = load<WIDTH>(frequencies + at);
    _Pragma("unroll") for (int i = 0; i < WIDTH; i++) {
        float sine, cosine, x = first.at[i], y = second.at[i];
        sine_cosine((float)position * frequency.at[i], &sine, &cosine);
        first.at[i] = (x * cosine - y * sine) * factor;
        second.at[i] = (y * cosine + x * sine) * factor;
    }
}

// Factor of the queries of a position; an original context of 0 means that they aren't scaled.
DEVICE float query_factor(u32 position, float beta, u32 original) {
    return original ? 1.0f + beta * logf(1.0f + (float)(position / original)) : 1.0f;
}

KERNEL __launch_bounds__(256) void qk_norm_rope_write(bf16* qkv, const float* q_norm, const float* k_norm,
                                                      const float* frequencies, const u32* positions, const u32* slots,
                                                      bf16* keys, bf16* values, u32 rows, u32 heads, u32 kv_heads,
                                                      float eps, float factor, u32 pairs, float beta, u32 original) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 thread = blockIdx.x * 256 + threadIdx.x, at = thread % LANES * WIDTH, all_heads = heads + 2 * kv_heads;
    u32 row = thread / LANES / all_heads, head = thread / LANES % all_heads;
    bool has_part = row < rows && at < HALF;
    u32 low = at < pairs ? at : at + pairs, high = at < pairs ? at + pairs : at + HALF;
    Part first = {}, second = {};
    bf16* place = qkv + ((u64)row * all_heads + head) * HEAD_DIM;
    if (has_part) first = load<WIDTH>(place + low), second = load<WIDTH>(place + high);

    const float* norm = head < heads ? q_norm : head < heads + kv_heads ? k_norm : nullptr;
    float squares = 0.0f;
    _Pragma("unroll") for (int i = 0; i < WIDTH; i++) squares += first.at[i] * first.at[i] + second.at[i] * second.at[i];
    _Pragma("unroll") for (u32 offset = LANES / 2; offset > 0; offset /= 2) {
        squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    }
    if (!has_part) return;
    if (norm) scale(first, second, norm, low, high, 1.0f / sqrtf(squares / HEAD_DIM + eps));
    if (head < heads + kv_heads && at < pairs) rotate(first, second, frequencies, at, positions[row], factor);
    if (head < heads) {
        float by = query_factor(positions[row], beta, original);
        _Pragma("unroll") for (int i = 0; i < WIDTH; i++) first.at[i] *= by, second.at[i] *= by;
        store(place + low, first), store(place + high, second);
        return;
    }
    u32 slot = slots[row], kv_head = (head - heads) % kv_heads;
    bf16* cache = (head < heads + kv_heads ? keys : values) + kv_row<HEAD_DIM>(slot, kv_head, kv_heads);
    store(cache + kv_swizzle<HEAD_DIM>(slot, low), first);
    store(cache + kv_swizzle<HEAD_DIM>(slot, high), second);
}
