//! A bound that the operator can change: its switch, its unit, its range, and where it is kept.
//!
//! What a switch sets is refused outside of its range, so that no bound is ever 0 or out of all proportion.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Limits of which some have switches.
pub trait Bounded: Default + Clone + Send + Sync + 'static {
    /// What they are limits of.
    const HEADING: &'static str;
    /// Those with switches.
    const BOUNDS: &'static [Bound<Self>];
}

/// One bound that has a switch.
pub struct Bound<L: 'static> {
    /// The switch, without its dashes.
    pub switch: &'static str,
    /// What its number counts.
    pub unit: Unit,
    /// The least and the most that it may be.
    pub range: RangeInclusive<u64>,
    /// What it bounds.
    pub help: &'static str,
    field: fn(&mut L) -> Field<'_>,
}

/// What a number on the command line counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// So many of these, in capitals.
    Count(&'static str),
    /// KiB.
    Kib,
    /// MiB.
    Mib,
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds.
    Seconds,
}

/// Where a bound is kept: as a count, in bytes, or as a time.
pub(super) enum Field<'a> {
    U8(&'a mut u8),
    U32(&'a mut u32),
    U64(&'a mut u64),
    Usize(&'a mut usize),
    Time(&'a mut Duration),
}

/// A row of a table.
pub(super) const fn bound<L>(
    switch: &'static str,
    unit: Unit,
    range: RangeInclusive<u64>,
    help: &'static str,
    field: fn(&mut L) -> Field<'_>,
) -> Bound<L> {
    Bound { switch, unit, range, help, field }
}

impl<L: Default> Bound<L> {
    /// Its value by default.
    pub fn default(&self) -> u64 {
        self.get(&mut L::default())
    }

    /// Its value in `limits`, which stay as they are.
    pub(super) fn get(&self, limits: &mut L) -> u64 {
        let value = match (self.field)(limits) {
            Field::U8(count) => (*count).into(),
            Field::U32(count) => (*count).into(),
            Field::U64(count) => *count,
            Field::Usize(count) => *count as u64,
            Field::Time(time) => u64::try_from(time.as_millis()).expect("no bound lasts for ages"),
        };
        value / self.unit.size()
    }

    /// Sets it.
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
    /// Its name, in capitals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count(what) => what,
            Self::Kib => "KIB",
            Self::Mib => "MIB",
            Self::Milliseconds => "MS",
            Self::Seconds => "SECONDS",
        }
    }

    /// Bytes or milliseconds of one.
    fn size(self) -> u64 {
        match self {
            Self::Count(_) | Self::Milliseconds => 1,
            Self::Kib => 1 << 10,
            Self::Mib => 1 << 20,
            Self::Seconds => 1000,
        }
    }
}
