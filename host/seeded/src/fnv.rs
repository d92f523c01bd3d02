//! FNV-1a with 64 bits.

/// Hash of a text, byte by byte.
#[inline]
pub fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| fnv1a_with(hash, byte.into()))
}

/// The hash of what `hash` is of, and a word behind it.
#[inline]
pub const fn fnv1a_with(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the authors' test vectors (draft-eastlake-fnv).
    #[test]
    fn hashes_are_those_of_fnv1a() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }
}
