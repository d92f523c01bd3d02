// MXFP4 weights as experts have them on the device, and their conversion to bf16.
//
// A code is E2M1: sign, two bits of exponent, one of mantissa; 32 neighbours of a row share a scale, a power of two plus 127 (OCP
// Microscaling Formats v1.0). At bits 15 and 8 to 6 of a bf16 a code's bits are its value times 2^-126, since subnormal numbers have
// the same form in both formats. The product with 2^(scale - 1) is the weight, not rounded, for scales from 0 to 128: all such
// weights are bf16, those below 2^-126 subnormal ones (PTX doesn't specify what mma does with these). A greater scale would need a
// factor beyond bf16, so a model with one is refused at load.
//
// The bits of 16 codes are reordered at load, in each eight bytes. (In a file they are in the order of columns, the lower half of a
// byte first.) A pair of neighbours is converted at once, its left code in the lower half of the result. Bits of pair i come to
// their places by a rotation of 2 * i bits, or by a shift. Those of pairs 0, 3 and 6 are in the first word, those of 1, 4 and 7 in
// the second one, and pairs 2 and 5 have what is left, half of it in either word. So a pair takes a shift and a LOP3, but pair 0 has
// no shift, and bringing both words together takes one more LOP3: 16 instructions for 16 codes, and 8 products.

constexpr u32 E2M1_PLACES = 0x81c081c0, FIRST_WORD_LEFT = 0x06030603;
// In place of the scale of weights that are zero, whatever their codes are.
constexpr u32 MXFP4_NO_SCALE = (u32)-126;

// The factor that makes unpacked codes weights, twice.
DEVICE u32 mxfp4_factor(u32 scale) {
    return scale * 0x00800080u + 0x3f003f00u;
}

// 16 weights as pairs, from two words of codes and their factor.
DEVICE void unpack_mxfp4(u32 (&pairs)[8], u32 first, u32 second, u32 factor) {
    u32 words[3] = {first, second, select_bits(first, second, FIRST_WORD_LEFT)};
    _Pragma("unroll") for (u32 i = 0; i < 8; i++) {
        u32 word = words[i % 3];
        // A shift to the left can be a multiplication (IMAD), which runs on other units than LOP3 does.
        u32 moved = i == 0 ? word : i < 5 ? word >> 2 * i | word << (32 - 2 * i) : word << (16 - 2 * i);
        pairs[i] = bf16_multiply(moved & E2M1_PLACES, factor);
    }
}

// The two words of codes for unpack_mxfp4, from 16 codes in the order of files.
DEVICE u64 pack_mxfp4(u64 codes) {
    u32 words[3] = {};
    _Pragma("unroll") for (u32 i = 0; i < 8; i++) {
        u32 low = (u32)(codes >> 8 * i) & 15, high = (u32)(codes >> (8 * i + 4)) & 15;
        u32 pair = (low & 8) << 12 | (low & 7) << 6 | (high & 8) << 28 | (high & 7) << 22;
        words[i % 3] |= i == 0 ? pair : i < 5 ? pair << 2 * i | pair >> (32 - 2 * i) : pair >> (16 - 2 * i);
    }
    words[0] |= words[2] & FIRST_WORD_LEFT, words[1] |= words[2] & ~FIRST_WORD_LEFT;
    return words[0] | (u64)words[1] << 32;
}
