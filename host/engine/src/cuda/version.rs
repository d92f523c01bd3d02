//! Versions of CUDA, as drivers and libraries report them.

use std::fmt;

/// Version of CUDA that a driver or a library has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion {
    major: u32,
    minor: u32,
}

impl CudaVersion {
    /// Oldest version that the kernels and the calls of the driver work with.
    pub const NEEDED: Self = Self::new(13, 0);

    /// Version `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Major version.
    pub const fn major(self) -> u32 {
        self.major
    }

    /// Version from the number that `cuDriverGetVersion` returns: 13000 is 13.0.
    pub(super) fn from_number(number: i32) -> Self {
        let number = number.unsigned_abs();
        Self::new(number / 1000, number % 1000 / 10)
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
