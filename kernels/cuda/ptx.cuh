// Names for PTX instructions, and for what else only a device has. The shim (shim/src/shim.hpp) defines the same names in C++.
//
// A kernel uses instructions of the device by these names alone, so that its text is also C++.

typedef unsigned int u32;
#define KERNEL extern "C" __global__
#define DEVICE static __device__ __forceinline__
#define DEVICE_MEMBER __device__ __forceinline__

// Dynamic shared memory of the block; kernels use no other shared memory.
DEVICE unsigned char* shared_memory() {
    extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
    return dynamic_shared_memory;
}

DEVICE u32 shared_address(const void* p) {
    return (u32)__cvta_generic_to_shared(p);
}

// Two floats as bf16, rounded to nearest even: `low` in the lower half, `high` in the upper half.
DEVICE u32 bf16_pair(float low, float high) {
    u32 pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// Products of two pairs of bf16, rounded to nearest even. Subnormal numbers are numbers.
DEVICE u32 bf16_multiply(u32 a, u32 b) {
    u32 product;
    // sm_80 multiplies only to add; the sum with -0 has the product's sign.
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(product) : "r"(a), "r"(b), "r"(0x80008000u));
    return product;
}

// Bits of `a` where those of `mask` are 1, else of `b`. Written out, it would become two instructions.
DEVICE u32 select_bits(u32 a, u32 b, u32 mask) {
    u32 bits;
    asm("lop3.b32 %0, %1, %2, %3, 0xe4;" : "=r"(bits) : "r"(a), "r"(b), "r"(mask));
    return bits;
}

// Loads 16 bytes of a weight. They are read once, so the first-level cache doesn't keep them.
DEVICE uint4 load_weight(const void* p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

// load_weight if `valid`; else zeros, and nothing is read.
DEVICE uint4 load_weight_if(const void* p, bool valid) {
    uint4 v;
    asm volatile("{\n.reg .pred valid;\nsetp.ne.u32 valid, %5, 0;\nmov.u32 %0, 0;\nmov.u32 %1, 0;\nmov.u32 %2, 0;\nmov.u32 %3, 0;\n"
                 "@valid ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
                 : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
                 : "l"(p), "r"((u32)valid));
    return v;
}

// Loads 16 bytes of a weight if `valid`; else they stay as they are, and nothing is read.
DEVICE void load_weight_into(uint4& v, const void* p, bool valid) {
    asm volatile("{\n.reg .pred valid;\nsetp.ne.u32 valid, %5, 0;\n"
                 "@valid ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
                 : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
                 : "l"(p), "r"((u32)valid));
}

// Programmatic dependent launch: waits until the results of the launches in front can be read. Every thread calls it.
DEVICE void grid_dependency_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Allows the launch behind to begin; that launch waits for this one's results by itself (grid_dependency_wait).
DEVICE void grid_launch_dependents() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Barrier of some warps, `threads` threads in all; barrier 0 is that of __syncthreads.
DEVICE void named_barrier(u32 id, u32 threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Begins a background copy of 16 bytes to shared memory: `bytes` of them are read, the others are zero. With `bytes` 0 the source
// may be any address.
DEVICE void cp_async16(void* shared, const void* global, u32 bytes = 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
                 : "memory");
}

// Begins a background copy of 4 bytes, as cp_async16 does.
DEVICE void cp_async4(void* shared, const void* global, u32 bytes = 4) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
                 : "memory");
}

// Ends a group of copies: those begun since the last group ended.
DEVICE void cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `Pending` of this thread's groups of copies are under way.
template <int Pending>
DEVICE void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// Loads four 8×8 matrices of 16-bit elements. Lane i gives the address of row i % 8 of matrix i / 8; of each matrix it gets
// elements 2 * (i % 4) and 2 * (i % 4) + 1 of row i / 4.
DEVICE void ldmatrix_x4(u32 (&out)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// ldmatrix_x4 with each matrix transposed.
DEVICE void ldmatrix_x4_trans(u32 (&out)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// Loads two 8×8 matrices; lanes 0 to 15 give the addresses of their rows.
DEVICE void ldmatrix_x2(u32 (&out)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(out[0]), "=r"(out[1])
                 : "r"(shared_address(row))
                 : "memory");
}

DEVICE void ldmatrix_x2_trans(u32 (&out)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(out[0]), "=r"(out[1])
                 : "r"(shared_address(row))
                 : "memory");
}

// c += a · b for a 16×16 by rows, b 16×8 by columns, c 16×8, bf16 with f32 sums. With g = lane / 4 and t = lane % 4: a has
// (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8), each with its right neighbour; b has (2t, g), (2t + 8, g), each with the
// one below; c has (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). PTX ISA, "Matrix Fragments for mma.m16n8k16".
DEVICE void mma_bf16(float (&c)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
