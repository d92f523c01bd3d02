//! Addresses of device memory: numbers here, as the host never reads what they point to.

/// An address on the device; zero is the address of nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// What kernels take for an input that isn't there.
    pub const NULL: Self = Self(0);

    /// The address so many bytes behind this one.
    ///
    /// # Panics
    /// Where there is no such address.
    #[must_use]
    pub fn offset(self, bytes: u64) -> Self {
        Self(self.0.checked_add(bytes).expect("an address of 64 bits"))
    }

    /// Whether vectors of 16 bytes may be read here.
    pub fn is_wide(self) -> bool {
        self.0.is_multiple_of(16)
    }
}
