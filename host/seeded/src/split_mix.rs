//! `SplitMix64` (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195): a counter and a
//! finaliser, so that any draw of a sequence can be computed by itself.

/// Number that the state grows by with each draw.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Generator of pseudo-random numbers.
///
/// ```
/// use seeded::SplitMix64;
///
/// let mut random = SplitMix64::new(7);
/// let die = 1 + random.below(6);
/// assert!((1..=6).contains(&die));
/// assert_eq!(SplitMix64::new(7).take(3).last(), SplitMix64::new(SplitMix64::seed_after(7, 2)).next());
/// ```
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator of a seed.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One of many independent generators of a seed.
    pub const fn stream(seed: u64, stream: u64) -> Self {
        Self(Self(seed).draw() ^ stream.wrapping_mul(STEP))
    }

    /// Seed whose draws are those of `seed` behind the first `draws`.
    #[inline]
    pub const fn seed_after(seed: u64, draws: u64) -> u64 {
        seed.wrapping_add(STEP.wrapping_mul(draws))
    }

    /// The next number.
    #[inline]
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `bound`, which must be above 0.
    ///
    /// # Panics
    /// `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.draw() % bound as u64).expect("below a usize")
    }

    /// One of `all`, which has at least one element.
    ///
    /// # Panics
    /// `all` is empty.
    pub fn choice<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A number from 0 to 1, without 1.
    pub const fn unit(&mut self) -> f64 {
        unit(self.draw())
    }
}

/// Draws without end.
impl Iterator for SplitMix64 {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        Some(self.draw())
    }
}

/// The finaliser: a bijection in which each bit of the input changes half of the output's.
#[inline]
pub const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A number from 0 to 1, without 1, from 53 of these bits.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
pub const fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number from 0 to 1, without 1, that depends on a seed and a position alone.
#[inline]
pub const fn uniform(seed: u64, position: u64) -> f64 {
    unit(mix(SplitMix64(seed).draw().wrapping_add(position.wrapping_mul(STEP))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First draws of the authors' program for this seed.
    #[test]
    fn draws_are_those_of_splitmix64() {
        let draws: Vec<u64> = SplitMix64::new(1_234_567).take(3).collect();
        assert_eq!(draws, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    /// Sampled tokens follow from these numbers.
    #[test]
    fn uniform_numbers_never_change() {
        let drawn =
            [(0, 0), (7, 0), (7, 1), (u64::MAX, u64::MAX)].map(|(seed, at)| uniform(seed, at).to_bits());
        assert_eq!(
            drawn,
            [0x3fd2_0860_89bf_cf34, 0x3fdd_2d6a_f319_ae2e, 0x3fe7_1698_52ef_d579, 0x3fc6_ff0d_52b2_dbfc]
        );
    }
}
