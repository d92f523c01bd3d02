//! A set of JSON types, as schemas name them. [`super::Schema`] makes them, [`super::coerce`](fn@super::coerce) goes by them.

use serde_json::Value;

/// Types that a value may have. `NUMBER` is the schema's `number` alone: that it covers integers matters only where two sets meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    /// No type.
    pub const NONE: Self = Self(0);
    /// Every type.
    pub const ANY: Self = Self(0x7f);
    /// `null`.
    pub const NULL: Self = Self(1);
    /// `integer`.
    pub const INTEGER: Self = Self(1 << 1);
    /// `number`.
    pub const NUMBER: Self = Self(1 << 2);
    /// `boolean`.
    pub const BOOLEAN: Self = Self(1 << 3);
    /// `object`.
    pub const OBJECT: Self = Self(1 << 4);
    /// `array`.
    pub const ARRAY: Self = Self(1 << 5);
    /// `string`.
    pub const STRING: Self = Self(1 << 6);

    /// The type of this name, JSON's or Python's (`float`, `List[str]`): tools that are described from code use those.
    /// [`Self::NONE`] for an unknown name.
    pub fn named(name: &str) -> Self {
        let name = name.split('[').next().unwrap_or(name).trim().to_ascii_lowercase();
        match name.as_str() {
            "null" | "none" => Self::NULL,
            "integer" | "int" | "long" => Self::INTEGER,
            "number" | "float" | "double" | "decimal" => Self::NUMBER,
            "boolean" | "bool" => Self::BOOLEAN,
            "object" | "dict" | "map" => Self::OBJECT,
            "array" | "list" | "tuple" | "set" => Self::ARRAY,
            "string" | "str" => Self::STRING,
            _ => Self::NONE,
        }
    }

    /// The type of this value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
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
