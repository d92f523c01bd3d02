// Preparation of a row for attention over a compressed cache (MLA; DeepSeek-V2, arXiv:2405.04434, section 2.1): RMS norm of its latent part
// and rotary embedding of its key, both written to the row's slot, and rotary embedding of the queries in place. Neighbours are rotated
// together: dimension 2i with 2i + 1.
//
// A block for a row; a thread takes pairs of elements. Of a query, `nope` elements stay and the ROPE elements behind them are rotated.
// Fuses four operations. Bytes: 2 read and 2 written for each element of the row and of the queries' rotated parts. An angle is position *
// frequency rounded to f32, as models are trained with.

DEVICE u32 rotate(u32 pair, float frequency, u32 position, float factor) {
    float sine, cosine, x = f32_low(pair), y = f32_high(pair);
    sine_cosine((float)position * frequency, &sine, &cosine);
    return bf16_pair((x * cosine - y * sine) * factor, (y * cosine + x * sine) * factor);
}

KERNEL __launch_bounds__(256) void mla_write(bf16* queries, const bf16* kv, const float* norm, const float* frequencies,
                                             const u32* positions, const u32* slots, bf16* cache, u32 heads, u32 nope,
                                             float eps, float factor) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 row = blockIdx.x, position = positions[row];
    const u32* from = (const u32*)(kv + (u64)row * (RANK + ROPE));
    u32* to = (u32*)(cache + (u64)slots[row] * (RANK + ROPE));
    float squares = 0.0f;
    for (u32 i = threadIdx.x; i < RANK / 2; i += 256) {
        float x = f32_low(from[i]), y = f32_high(from[i]);
        squares += x * x + y * y;
    }
    squares = block_sum(squares, (float*)shared_memory());
    float scale = 1.0f / sqrtf(squares / RANK + eps);
    for (u32 i = threadIdx.x; i < RANK / 2; i += 256) {
        float2 weight = ((const float2*)norm)[i];
        to[i] = bf16_pair(f32_low(from[i]) * scale * weight.x, f32_high(from[i]) * scale * weight.y);
    }
    for (u32 i = threadIdx.x; i < ROPE / 2; i += 256) {
        to[RANK / 2 + i] = rotate(from[RANK / 2 + i], frequencies[i], position, factor);
    }
    u32* query = (u32*)(queries + (u64)row * heads * (nope + ROPE));
    for (u32 i = threadIdx.x; i < heads * (ROPE / 2); i += 256) {
        u32 pair = i % (ROPE / 2);
        u32* place = query + i / (ROPE / 2) * ((nope + ROPE) / 2) + nope / 2 + pair;
        *place = rotate(*place, frequencies[pair], position, factor);
    }
}
