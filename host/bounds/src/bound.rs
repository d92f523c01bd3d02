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
    field: fn(&mut L) -> Field<'_>,
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
pub enum Field<'a> {
    /// A count.
    U8(&'a mut u8),
    /// A count.
    U32(&'a mut u32),
    /// A count, or bytes.
    U64(&'a mut u64),
    /// A count, or bytes.
    Usize(&'a mut usize),
    /// A time.
    Time(&'a mut Duration),
}

/// Makes a row of a table; `field` borrows the row's field of the limits.
pub const fn bound<L>(
    switch: &'static str,
    unit: Unit,
    range: RangeInclusive<u64>,
    help: &'static str,
    field: fn(&mut L) -> Field<'_>,
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
        let value = match (self.field)(limits) {
            Field::U8(count) => (*count).into(),
            Field::U32(count) => (*count).into(),
            Field::U64(count) => *count,
            Field::Usize(count) => *count as u64,
            Field::Time(time) => u64::try_from(time.as_millis()).expect("no bound lasts for ages"),
        };
        value / self.unit.size()
    }

    /// Sets the bound in `limits`; `value` is in `unit`.
    ///
    /// # Panics
    /// If `value` is outside of the range.
    pub fn set(&self, limits: &mut L, value: u64) {
        assert!(self.range.contains(&value), "--{} {value}", self.switch);
        let value = value * self.unit.size();
        let fits = "the range is within what its field holds";
        match (self.field)(limits) {
            Field::U8(count) => *count = value.try_into().expect(fits),
            Field::U32(count) => *count = value.try_into().expect(fits),
            Field::U64(count) => *count = value,
            Field::Usize(count) => *count = value.try_into().expect(fits),
            Field::Time(time) => *time = Duration::from_millis(value),
        }
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
