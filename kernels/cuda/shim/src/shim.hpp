// CUDA's built-ins and the names of ptx.cuh in C++, over runtime.hpp, for kernels that run on the CPU. No header is included: a
// name that a kernel uses is defined here, or the kernel doesn't compile.

typedef unsigned int u32;
#define __CUDA_SHIM__ 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __restrict__ __restrict
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __shared__ static_assert(false, "shared memory is shared_memory()");
#define KERNEL extern "C" __attribute__((visibility("default")))
#define DEVICE static inline
#define DEVICE_MEMBER inline

struct alignas(8) uint2 { u32 x, y; };
struct alignas(16) uint4 { u32 x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
DEVICE uint2 make_uint2(u32 x, u32 y) { return {x, y}; }
DEVICE uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) { return {x, y, z, w}; }
DEVICE int2 make_int2(int x, int y) { return {x, y}; }
DEVICE int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
DEVICE float2 make_float2(float x, float y) { return {x, y}; }
DEVICE float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

#define threadIdx (shim::context->thread)
#define blockIdx (shim::context->block)
#define blockDim (shim::context->block_dim)
#define gridDim (shim::context->grid_dim)
#define warpSize 32
#define __syncthreads() shim::context->hooks->barrier(shim::context, 0, 0, __LINE__)

// Barriers and the operations of a warp.
DEVICE void __syncwarp(u32 mask = ~0u) { char slot; shim::context->hooks->warp(shim::context, mask, &slot, shim::nothing); }
DEVICE void named_barrier(u32 id, u32 threads) { shim::context->hooks->barrier(shim::context, id, threads, 0); }
template <class T>
T __shfl_sync(u32 mask, T value, int from, int width = 32) {
    u32 lane = shim::lane();
    return shim::shuffle(mask, value, (lane & ~(u32)(width - 1)) | ((u32)from & (u32)(width - 1)));
}
template <class T>
T __shfl_xor_sync(u32 mask, T value, int flip, int width = 32) {
    u32 lane = shim::lane(), from = lane ^ (u32)flip;
    return shim::shuffle(mask, value, from / (u32)width > lane / (u32)width ? lane : from);
}
template <class T>
T __shfl_up_sync(u32 mask, T value, u32 by, int width = 32) {
    u32 lane = shim::lane();
    return shim::shuffle(mask, value, lane % (u32)width < by ? lane : lane - by);
}
template <class T>
T __shfl_down_sync(u32 mask, T value, u32 by, int width = 32) {
    u32 lane = shim::lane();
    return shim::shuffle(mask, value, lane % (u32)width + by >= (u32)width ? lane : lane + by);
}
DEVICE u32 __ballot_sync(u32 mask, int value) { return shim::vote(mask, value != 0).ballot; }
DEVICE int __any_sync(u32 mask, int value) { return shim::vote(mask, value != 0).ballot != 0; }
DEVICE int __all_sync(u32 mask, int value) { return shim::vote(mask, value != 0).ballot == mask; }
DEVICE u32 __reduce_add_sync(u32 mask, u32 value) { return shim::vote(mask, value).sum; }
DEVICE u32 __reduce_min_sync(u32 mask, u32 value) { return shim::vote(mask, value).least; }
DEVICE u32 __reduce_max_sync(u32 mask, u32 value) { return shim::vote(mask, value).most; }
DEVICE u32 __reduce_or_sync(u32 mask, u32 value) { return shim::vote(mask, value).all_or; }
DEVICE u32 __reduce_and_sync(u32 mask, u32 value) { return shim::vote(mask, value).all_and; }
DEVICE void __threadfence() {}
DEVICE void __threadfence_block() {}
DEVICE void __nanosleep(u32) {}
[[noreturn]] DEVICE void __trap() { shim::fail("__trap"); __builtin_unreachable(); }

// Atomic operations: no other thread runs meanwhile.
template <class T> T atomicAdd(T* p, T v) { T old = *p; *p = old + v; return old; }
template <class T> T atomicMax(T* p, T v) { T old = *p; *p = v > old ? v : old; return old; }
template <class T> T atomicMin(T* p, T v) { T old = *p; *p = v < old ? v : old; return old; }
template <class T> T atomicOr(T* p, T v) { T old = *p; *p = old | v; return old; }
template <class T> T atomicAnd(T* p, T v) { T old = *p; *p = old & v; return old; }
template <class T> T atomicExch(T* p, T v) { T old = *p; *p = v; return old; }
template <class T> T atomicCAS(T* p, T expected, T v) { T old = *p; if (old == expected) *p = v; return old; }
DEVICE u32 atomicInc(u32* p, u32 most) { u32 old = *p; *p = old >= most ? 0 : old + 1; return old; }

// Conversions and functions of numbers.
DEVICE u32 __float_as_uint(float x) { return shim::bits_of_f32(x); }
DEVICE int __float_as_int(float x) { return (int)shim::bits_of_f32(x); }
DEVICE float __uint_as_float(u32 x) { return shim::f32_of_bits(x); }
DEVICE float __int_as_float(int x) { return shim::f32_of_bits((u32)x); }
DEVICE int __popc(u32 x) { return __builtin_popcount(x); }
DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
DEVICE int __clz(int x) { return x ? __builtin_clz((u32)x) : 32; }
DEVICE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
DEVICE int __ffs(int x) { return __builtin_ffs(x); }
DEVICE u32 __umulhi(u32 a, u32 b) { return (u32)((unsigned long long)a * b >> 32); }
DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
DEVICE u32 __byte_perm(u32 a, u32 b, u32 selector) {
    unsigned long long both = (unsigned long long)b << 32 | a;
    u32 out = 0;
    for (int i = 0; i < 4; i++) {
        u32 s = selector >> 4 * i & 15, byte = (u32)(both >> 8 * (s & 7)) & 255;
        out |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
    }
    return out;
}
template <class T> T __ldg(const T* p) { return *p; }
DEVICE int min(int a, int b) { return a < b ? a : b; }
DEVICE u32 min(u32 a, u32 b) { return a < b ? a : b; }
DEVICE unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
DEVICE int max(int a, int b) { return a > b ? a : b; }
DEVICE u32 max(u32 a, u32 b) { return a > b ? a : b; }
DEVICE unsigned long long max(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
DEVICE float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
DEVICE float fminf(float a, float b) { return __builtin_fminf(a, b); }
DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEVICE float sqrtf(float x) { return __builtin_sqrtf(x); }
DEVICE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
DEVICE float expf(float x) { return __builtin_expf(x); }
DEVICE float exp2f(float x) { return __builtin_exp2f(x); }
DEVICE float logf(float x) { return __builtin_logf(x); }
DEVICE float log1pf(float x) { return __builtin_log1pf(x); }
DEVICE float log2f(float x) { return __builtin_log2f(x); }
DEVICE float powf(float x, float y) { return __builtin_powf(x, y); }
DEVICE float sinf(float x) { return __builtin_sinf(x); }
DEVICE float cosf(float x) { return __builtin_cosf(x); }
DEVICE void sincosf(float x, float* sine, float* cosine) { *sine = __builtin_sinf(x); *cosine = __builtin_cosf(x); }
DEVICE float tanhf(float x) { return __builtin_tanhf(x); }
DEVICE float floorf(float x) { return __builtin_floorf(x); }
DEVICE float ceilf(float x) { return __builtin_ceilf(x); }
DEVICE float rintf(float x) { return __builtin_rintf(x); }
DEVICE bool isnan(float x) { return x != x; }
DEVICE bool isinf(float x) { return __builtin_isinf(x); }
DEVICE float __expf(float x) { return __builtin_expf(x); }
DEVICE float __sinf(float x) { return __builtin_sinf(x); }
DEVICE float __cosf(float x) { return __builtin_cosf(x); }
DEVICE float __logf(float x) { return __builtin_logf(x); }
DEVICE float __fdividef(float a, float b) { return a / b; }
DEVICE float __fmul_rn(float a, float b) { return a * b; }
DEVICE float __fadd_rn(float a, float b) { return a + b; }
DEVICE float __frcp_rn(float x) { return 1.0f / x; }

// The names of ptx.cuh.
DEVICE unsigned char* shared_memory() { return shim::context->shared; }
DEVICE u32 bf16_pair(float low, float high) { return shim::bf16_bits(low) | shim::bf16_bits(high) << 16; }
DEVICE u32 bf16_multiply(u32 a, u32 b) {
    float low = shim::f32_of_bits(a << 16) * shim::f32_of_bits(b << 16);
    return bf16_pair(low, shim::f32_of_bits(a & 0xffff0000u) * shim::f32_of_bits(b & 0xffff0000u));
}
DEVICE u32 select_bits(u32 a, u32 b, u32 mask) { return (a & mask) | (b & ~mask); }
DEVICE uint4 load_weight(const void* p) { return *(const uint4*)p; }
DEVICE uint4 load_weight_if(const void* p, bool valid) { return valid ? load_weight(p) : uint4{0, 0, 0, 0}; }
DEVICE void load_weight_into(uint4& v, const void* p, bool valid) { if (valid) v = load_weight(p); }
DEVICE void grid_dependency_wait() { shim::context->hooks->dependency(shim::context); }
DEVICE void grid_launch_dependents() {}
DEVICE void cp_async16(void* to, const void* from, u32 bytes = 16) { shim::context->hooks->copy(shim::context, to, from, 16, bytes); }
DEVICE void cp_async4(void* to, const void* from, u32 bytes = 4) { shim::context->hooks->copy(shim::context, to, from, 4, bytes); }
DEVICE void cp_async_commit() { shim::context->hooks->commit(shim::context); }
template <int Pending> void cp_async_wait() { shim::context->hooks->wait(shim::context, Pending); }
DEVICE void ldmatrix_x4(u32 (&out)[4], const void* row) { shim::ldmatrix<4, false>(out, row); }
DEVICE void ldmatrix_x4_trans(u32 (&out)[4], const void* row) { shim::ldmatrix<4, true>(out, row); }
DEVICE void ldmatrix_x2(u32 (&out)[2], const void* row) { shim::ldmatrix<2, false>(out, row); }
DEVICE void ldmatrix_x2_trans(u32 (&out)[2], const void* row) { shim::ldmatrix<2, true>(out, row); }
DEVICE void mma_bf16(float (&c)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    shim::Product slot = {{a0, a1, a2, a3}, {b0, b1}, {c[0], c[1], c[2], c[3]}};
    shim::context->hooks->warp(shim::context, ~0u, &slot, shim::multiply);
    for (int i = 0; i < 4; i++) c[i] = slot.c[i];
}
