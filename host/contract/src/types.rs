//! A set of JSON types, as schemas name them.

/// Types that a value may have, one bit for each. `NUMBER` is the schema's `number` alone: that it
/// covers integers matters only where two sets meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Types(u8);

impl Types {
    /// No type.
    pub const NONE: Self = Self(0);
    /// Every type.
    pub const ANY: Self = Self(0x7f);
    /// `null`.
    pub const NULL: Self = Self(1);
    /// `boolean`.
    pub const BOOLEAN: Self = Self(1 << 1);
    /// `integer`.
    pub const INTEGER: Self = Self(1 << 2);
    /// `number`.
    pub const NUMBER: Self = Self(1 << 3);
    /// `string`.
    pub const STRING: Self = Self(1 << 4);
    /// `array`.
    pub const ARRAY: Self = Self(1 << 5);
    /// `object`.
    pub const OBJECT: Self = Self(1 << 6);

    /// The set with these bits, in the order of the WIT file's flags; other bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ANY.0)
    }

    /// One bit for each type, in the order of the WIT file's flags.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether any of `types` is in this set.
    pub fn allows(self, types: Self) -> bool {
        self.0 & types.0 != 0
    }

    /// Types of either set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Types of both sets; an integer is a number.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let integers = (self.allows(Self::NUMBER) && other.allows(Self::INTEGER))
            || (self.allows(Self::INTEGER) && other.allows(Self::NUMBER));
        Self(self.0 & other.0).or(if integers { Self::INTEGER } else { Self::NONE })
    }
}
