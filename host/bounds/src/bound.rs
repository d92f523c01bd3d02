//! A bound that the operator can change: its switch, its unit, its range, and its field.
//!
//! A value outside of the range is refused, so no bound can be 0 or absurdly large.

use std::ops::RangeInclusive;
use std::time::Duration;

/// A set of limits, some of which have switches.
pub trait Bounded: Default + Clone + Send + Sync + 'static {
    /// Heading of the set's tables in the help and the documentation.
    const HEADING: &'static str;
    /// Rows of the limits that have switches.
    const BOUNDS: &'static [Bound<Self>];
}

/// One bound that has a switch.
pub struct Bound<L: 'static> {
    /// Name of the switch, without its dashes.
    pub switch: &'static str,
    /// Unit of the switch's number.
    pub unit: Unit,
    /// Range of allowed values, in `unit`.
    pub range: RangeInclusive<u64>,
    /// Text for the help and the documentation.
    pub help: &'static str,
    field: fn(&mut L) -> &mut dyn Amount,
}

/// Unit of a number on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A count of things, named in capitals.
    Count(&'static str),
    /// KiB.
    Kib,
    /// MiB.
    Mib,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Days.
    Days,
}

/// Field that holds a bound: a count, a number of bytes, or a time.
pub trait Amount {
    /// Its value: the count, the bytes, or the time in milliseconds.
    fn get(&self) -> u64;
    /// Sets it to `value`, which its type can hold.
    fn set(&mut self, value: u64);
}

macro_rules! counts {
    ($($count:ty)+) => { $(
        impl Amount for $count {
            fn get(&self) -> u64 {
                u64::try_from(*self).expect("no bound is above 64 bits")
            }

            fn set(&mut self, value: u64) {
                *self = value.try_into().expect("the range is within what its field holds");
            }
        }
    )+ };
}

counts! { u8 u32 u64 usize }

impl Amount for Duration {
    fn get(&self) -> u64 {
        u64::try_from(self.as_millis()).expect("no bound lasts for ages")
    }

    fn set(&mut self, value: u64) {
        *self = Self::from_millis(value);
    }
}

/// Declares a set of limits: name and heading, and a line for each limit with its field, its type
/// and its default value. One that the operator can change has behind them its switch, the unit of
/// the switch's number, the range of values, and the help, which documents the field, too; the
/// others have a comment. Sizes are in bytes, whatever the unit of the switch.
///
/// ```
/// bounds::limits! {
///     /// Limits of letters.
///     LetterLimits, "Limits of letters":
///
///     bytes: usize = 1 << 20, "max-letter", Mib, 1..=16, "Size of a letter";
///     /// Number of its pages.
///     pages: u32 = 8;
/// }
/// assert_eq!(LetterLimits::default().pages, 8);
/// assert_eq!(<LetterLimits as bounds::Bounded>::BOUNDS[0].default(), 1);
/// ```
#[macro_export]
macro_rules! limits {
    (
        $(#[doc = $about:literal])+
        $limits:ident, $heading:literal:
        $(
            $(#[doc = $doc:literal])*
            $field:ident: $type:ty = $default:expr
                $(, $switch:literal, $unit:expr, $range:expr, $help:literal)?;
        )+
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub struct $limits {
            $(
                $(#[doc = $doc])*
                $(#[doc = $help])?
                pub $field: $type,
            )+
        }

        impl Default for $limits {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }

        impl $crate::Bounded for $limits {
            const HEADING: &'static str = $heading;
            const BOUNDS: &'static [$crate::Bound<Self>] = {
                use $crate::Unit::*;
                &[$($($crate::bound($switch, $unit, $range, $help, |limits| &mut limits.$field),)?)+]
            };
        }
    };
}

/// Makes a row of a table; `field` borrows the row's field of the limits.
pub const fn bound<L>(
    switch: &'static str,
    unit: Unit,
    range: RangeInclusive<u64>,
    help: &'static str,
    field: fn(&mut L) -> &mut dyn Amount,
) -> Bound<L> {
    Bound { switch, unit, range, help, field }
}

impl<L: Default> Bound<L> {
    /// Default value, in `unit`.
    pub fn default(&self) -> u64 {
        self.get(&mut L::default())
    }

    /// Value in `limits`, in `unit`; `limits` are not changed.
    pub fn get(&self, limits: &mut L) -> u64 {
        (self.field)(limits).get() / self.unit.size()
    }

    /// Sets the bound in `limits`; `value` is in `unit`.
    ///
    /// # Panics
    /// If `value` is outside of the range.
    pub fn set(&self, limits: &mut L, value: u64) {
        assert!(self.range.contains(&value), "--{} {value}", self.switch);
        (self.field)(limits).set(value * self.unit.size());
    }
}

impl Unit {
    /// Name of the unit, in capitals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count(what) => what,
            Self::Kib => "KIB",
            Self::Mib => "MIB",
            Self::Milliseconds => "MS",
            Self::Seconds => "SECONDS",
            Self::Days => "DAYS",
        }
    }

    /// Size of one unit, in bytes, milliseconds or counted things.
    fn size(self) -> u64 {
        match self {
            Self::Count(_) | Self::Milliseconds => 1,
            Self::Kib => 1 << 10,
            Self::Mib => 1 << 20,
            Self::Seconds => 1000,
            Self::Days => 24 * 60 * 60 * 1000,
        }
    }
}
