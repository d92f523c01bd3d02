//! Addresses of device memory. They are numbers here, since the host never reads what they point
//! to.

/// Address on the device; zero is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// Null: kernels take it for an optional input that is left out.
    pub const NULL: Self = Self(0);

    /// The address `bytes` bytes behind this one.
    ///
    /// # Panics
    /// Where the address would exceed 64 bits.
    #[must_use]
    pub fn offset(self, bytes: u64) -> Self {
        Self(self.0.checked_add(bytes).expect("an address of 64 bits"))
    }

    /// Whether the address is a multiple of 16, as vectors of 16 bytes need it.
    pub fn is_wide(self) -> bool {
        self.0.is_multiple_of(16)
    }
}
