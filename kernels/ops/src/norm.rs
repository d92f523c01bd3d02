//! RMS norms, of rows and of heads.

/// RMS norm: divides by the root of the mean square.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norm<V> {
    /// Factor of each value.
    pub weight: V,
    /// Added to the mean square.
    pub eps: f32,
}

impl<V> Norm<V> {
    /// The same norm with its weight borrowed.
    pub fn as_ref(&self) -> Norm<&V> {
        Norm { weight: &self.weight, eps: self.eps }
    }

    /// The same norm with its weight held in another way.
    pub fn map<U>(self, of: impl FnOnce(V) -> U) -> Norm<U> {
        Norm { weight: of(self.weight), eps: self.eps }
    }
}

/// Norms of query and key heads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadNorms<V> {
    /// `[head_dim]`, for queries.
    pub q: V,
    /// `[head_dim]`, for keys.
    pub k: V,
    /// Whether value heads have a norm, too, without a weight.
    pub values: bool,
    /// Added to the mean square.
    pub eps: f32,
}

impl<V> HeadNorms<V> {
    /// The same norms with their weights borrowed.
    pub fn as_ref(&self) -> HeadNorms<&V> {
        HeadNorms { q: &self.q, k: &self.k, values: self.values, eps: self.eps }
    }

    /// The same norms with vectors held in another way.
    pub fn map<U>(self, mut of: impl FnMut(V) -> U) -> HeadNorms<U> {
        HeadNorms { q: of(self.q), k: of(self.k), values: self.values, eps: self.eps }
    }
}
