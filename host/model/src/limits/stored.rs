//! Bounds of what is stored. Their meaning is in `docs/state.md`.

use store::Bounds;

/// Bounds of what is stored.
#[derive(Debug, Clone)]
pub struct StoreLimits {
    /// Bounds of a store in a file.
    pub bounds: Bounds,
    /// Bytes of everything in a store in memory.
    pub memory_bytes: u64,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self { bounds: Bounds::default(), memory_bytes: 256 << 20 }
    }
}

impl StoreLimits {
    /// Bounds of a store in memory.
    pub fn in_memory(&self) -> Bounds {
        Bounds { bytes: self.memory_bytes.min(self.bounds.bytes), ..self.bounds.clone() }
    }
}
