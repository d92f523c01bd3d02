//! Conversion of numbers to another type, when weights are loaded.

use crate::check::THREADS;
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource { name: "cast.cu", text: include_str!("../cast.cu") };

/// Type of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// bfloat16, 16 bits.
    Bf16,
    /// IEEE single precision, 32 bits.
    F32,
    /// IEEE half precision, 16 bits; can only be read.
    F16,
}

impl Number {
    fn define(self) -> u32 {
        match self {
            Self::Bf16 => 0,
            Self::F32 => 1,
            Self::F16 => 2,
        }
    }
}

/// `to[i] = from[i]`, rounded to nearest even.
#[derive(Debug, Clone, Copy)]
pub struct Cast {
    /// `[count]`.
    pub from: DevicePtr,
    /// Type of the numbers in `from`.
    pub from_type: Number,
    /// `[count]`, which must not overlap with `from`.
    pub to: DevicePtr,
    /// Type of the numbers in `to`: bf16 or f32.
    pub to_type: Number,
    /// Number of values.
    pub count: u64,
}

impl Cast {
    /// # Panics
    /// Where there are no values, a pointer is null, or `to_type` is f16.
    pub fn launch(&self) -> Launch {
        let Self { from, to, count, .. } = *self;
        assert!(count > 0 && from != DevicePtr::NULL && to != DevicePtr::NULL, "cast: {self:?}");
        assert!(self.to_type != Number::F16, "cast: to f16");
        let width = if count.is_multiple_of(8) && from.is_wide() && to.is_wide() { 8 } else { 1 };
        let blocks = (count / u64::from(width)).div_ceil(THREADS.into());
        Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: variant(self.from_type, self.to_type, width).defines,
                entry: "cast",
            },
            grid: [u32::try_from(blocks).expect("blocks of a grid"), 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            args: Args::new().ptr(from).ptr(to).u64(count),
            overlaps: true,
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        let pairs =
            [Number::Bf16, Number::F32, Number::F16].map(|from| [(from, Number::Bf16), (from, Number::F32)]);
        let both = |(from, to)| [variant(from, to, 1), variant(from, to, 8)];
        pairs.into_iter().flatten().flat_map(both).collect()
    }
}

fn variant(from: Number, to: Number, width: u32) -> Variant {
    let defines = [("FROM", from.define()), ("TO", to.define()), ("WIDTH", width)];
    Variant { source: &SOURCE, defines: Defines::new(&defines) }
}
