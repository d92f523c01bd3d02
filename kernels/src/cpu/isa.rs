//! Instruction sets: detects the vector instructions of this machine, and is the one place where
//! code compiled for them is entered.

use super::lanes::dots::Dots;
use super::lanes::portable::Portable;
#[cfg(target_arch = "x86_64")]
use super::lanes::{
    avx2::{AVX_VNNI, AVX512_VNNI, Avx2, NO_VNNI},
    avx512::Avx512,
};

/// Instruction set that this machine has and that the operations are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isa(Level);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX2 with `avx_vnni`.
    #[cfg(target_arch = "x86_64")]
    Avx2Vnni,
    /// The same with the instruction in its AVX-512 encoding, so that machines that have only this
    /// one can test such kernels. They have better sets.
    #[cfg(target_arch = "x86_64")]
    Avx2Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX-512 with `avx512_bf16`.
    #[cfg(target_arch = "x86_64")]
    Avx512Bf16,
}

/// Computation that is written once over [`Dots`] and compiled for each instruction set. `run` must
/// be `#[inline(always)]`, so that it is compiled with the instructions of its callers in this
/// file.
pub(super) trait Kernel {
    /// Whether the kernel adds pairs of bf16 products. Only such kernels differ between the sets
    /// with and without `avx512_bf16`, and are compiled for both.
    const ADDS_PAIRS: bool = false;
    /// Whether the kernel multiplies codes of bytes. Only such kernels differ between the sets with and
    /// without `avx_vnni`, and are compiled for both.
    const MULTIPLIES_CODES: bool = false;

    fn run<L: Dots>(self, lanes: L);
}

impl Isa {
    /// Returns the best set of this machine.
    pub fn detect() -> Self {
        *Self::available().last().expect("the portable one is always there")
    }

    /// Returns all sets of this machine, the best last.
    pub fn available() -> Vec<Self> {
        let mut all = vec![Self(Level::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni");
            let bf16 = avx512 && is_x86_feature_detected!("avx512bf16");
            let avx2_vnni = avx2 && is_x86_feature_detected!("avxvnni");
            all.extend(avx2.then_some(Self(Level::Avx2)));
            all.extend((avx512 && !avx2_vnni).then_some(Self(Level::Avx2Avx512Vnni)));
            all.extend(avx2_vnni.then_some(Self(Level::Avx2Vnni)));
            all.extend(avx512.then_some(Self(Level::Avx512)));
            all.extend(bf16.then_some(Self(Level::Avx512Bf16)));
        }
        all
    }

    /// Whether the set has an instruction that adds pairs of bf16 products to f32, which repacked
    /// weights are for.
    pub fn adds_pairs(self) -> bool {
        match self.0 {
            Level::Portable => false,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx2Vnni | Level::Avx2Avx512Vnni | Level::Avx512 => false,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Bf16 => true,
        }
    }

    /// Name of the set, for people.
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2Vnni | Level::Avx2Avx512Vnni => "avx2 vnni",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Bf16 => "avx512 bf16",
        }
    }

    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "enters functions compiled for instructions that were detected")
    )]
    pub(super) fn run<K: Kernel>(self, kernel: K) {
        match self.0 {
            Level::Portable => kernel.run(Portable),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is private, and `available` makes it only where all these features
            // were detected.
            Level::Avx2Vnni if K::MULTIPLIES_CODES => unsafe { run_avx2_vnni(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2Avx512Vnni if K::MULTIPLIES_CODES => unsafe { run_avx2_avx512_vnni(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above; the other sets include this one.
            Level::Avx2 | Level::Avx2Vnni | Level::Avx2Avx512Vnni => unsafe { run_avx2(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx512Bf16 if K::ADDS_PAIRS => unsafe { run_avx512_bf16(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above; the set with `avx512_bf16` includes the other.
            Level::Avx512 | Level::Avx512Bf16 => unsafe { run_avx512(kernel) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[expect(unsafe_code, reason = "makes the token that stands for the features enabled here")]
fn run_avx2(kernel: impl Kernel) {
    // SAFETY: this function runs only on machines with avx2, fma and f16c.
    kernel.run(unsafe { Avx2::<NO_VNNI>::new() });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avxvnni,avx2,fma,f16c")]
#[expect(unsafe_code, reason = "makes the token that stands for the features enabled here")]
fn run_avx2_vnni(kernel: impl Kernel) {
    // SAFETY: this function runs only on machines with the features that it enables.
    kernel.run(unsafe { Avx2::<AVX_VNNI>::new() });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512vnni,avx512vl,avx512f,avx2,fma,f16c")]
#[expect(unsafe_code, reason = "makes the token that stands for the features enabled here")]
fn run_avx2_avx512_vnni(kernel: impl Kernel) {
    // SAFETY: as above.
    kernel.run(unsafe { Avx2::<AVX512_VNNI>::new() });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
#[expect(unsafe_code, reason = "makes the token that stands for the features enabled here")]
fn run_avx512(kernel: impl Kernel) {
    // SAFETY: this function runs only on machines with the features that it enables.
    kernel.run(unsafe { Avx512::<false>::new() });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bf16,avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
#[expect(unsafe_code, reason = "makes the token that stands for the features enabled here")]
fn run_avx512_bf16(kernel: impl Kernel) {
    // SAFETY: as above.
    kernel.run(unsafe { Avx512::<true>::new() });
}
