// Copies of cached rows to shared memory, for mla_decode.cu and mla_prefill.cu.

// Begins to copy Tokens rows of the KV block with this index, from position `begin` on; rows behind position `last` are zero, whatever lies
// in the cache. A warp copies whole rows. Chunks of 16 bytes are swizzled, so that ldmatrix has no bank conflicts.
template <u32 Warps, u32 Tokens, u32 Width>
DEVICE void copy_cached(bf16* to, const bf16* cache, u32 block, u32 begin, u32 last) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bf16* from = cache + ((u64)block * 64 + begin % 64 + warp) * Width + lane * 8;
    _Pragma("unroll") for (u32 i = 0; i < Tokens / Warps; i++) {
        bool is_seen = begin + i * Warps + warp <= last;
        bf16* row = to + warp * Width + kv_swizzle<Width>(i * Warps + warp, lane * 8) + i * Warps * Width;
        _Pragma("unroll") for (u32 part = 0; part < (Width + 255) / 256; part++) {
            const bf16* source = from + i * Warps * Width + part * 256;
            if (part * 256 + lane * 8 < Width) cp_async16(row + part * 256, source, is_seen ? 16 : 0);
        }
    }
}
