//! Hashes that are equal on every host, build and version: rendezvous order depends on them.

/// FNV-1a of an engine's name, 64 bits.
pub(super) fn name_hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Rendezvous weight of an engine for a key: the engine with the highest takes the key.
pub(super) fn weight(key: u64, engine: u64) -> u64 {
    mix(mix(key) ^ engine)
}

/// Finalizer of `SplitMix64`: a bijection in which each bit of the input changes half of the output's.
pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
