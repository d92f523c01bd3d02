//! Versions of CUDA, as drivers and libraries say them.

use std::fmt;

/// A version of CUDA: that of a driver or a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion {
    major: u32,
    minor: u32,
}

impl CudaVersion {
    /// What the kernels and the calls of the driver are written for.
    pub const NEEDED: Self = Self::new(13, 0);

    /// Such a version.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Its first number.
    pub const fn major(self) -> u32 {
        self.major
    }

    /// As `cuDriverGetVersion` says it: 13000 is 13.0.
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
