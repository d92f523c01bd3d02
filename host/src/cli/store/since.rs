//! Values of `--unused-since`: an age such as `30d`, or a date such as `2026-11-25`.

use store::{Millis, TimeSource};

const DAY: u64 = 24 * 60 * 60;

/// A moment that an operator names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Since(pub(super) Millis);

/// Parses an age, counted from now, or a date, whose day begins at midnight in UTC.
pub(super) fn since(text: &str) -> Result<Since, String> {
    let before = |age: u64| TimeSource::default().now().saturating_sub(age.saturating_mul(1000));
    let moment = age(text).map(before).or_else(|| date(text).map(|seconds| seconds * 1000));
    moment
        .map(Since)
        .ok_or_else(|| format!("{text} is neither an age (30d, 12h, 45m, 90s) nor a date (2026-11-25)"))
}

/// Seconds of an age.
fn age(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "d" => DAY,
        "h" => 60 * 60,
        "m" => 60,
        "s" => 1,
        _ => return None,
    };
    digits(number)?.checked_mul(unit)
}

/// Seconds from 1970 to the beginning of a day.
fn date(text: &str) -> Option<u64> {
    let [year, month, day] = text.split('-').map(digits).collect::<Option<Vec<_>>>()?.try_into().ok()?;
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days_of = |month| match month {
        2 => 28 + u64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let exists =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=days_of(month)).contains(&day);
    let years: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    exists.then(|| (years + (1..month).map(days_of).sum::<u64>() + day - 1) * DAY)
}

/// A number of digits only: `parse` would take a sign.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_of_the_calendar() {
        // From `date -u -d DATE +%s`.
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2024-03-01", 1_709_251_200),
            ("2026-11-25", 1_795_564_800),
            ("2100-12-31", 4_133_894_400),
        ] {
            assert_eq!(date(text), Some(seconds), "{text}");
        }
        for text in [
            "2023-02-29",
            "2100-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-01-00",
            "1969-12-31",
            "2026-1",
            "+2026-01-01",
            "10000-01-01",
            "",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn ages_have_one_unit() {
        assert_eq!(age("30d"), Some(30 * DAY));
        assert_eq!((age("12h"), age("45m"), age("0s")), (Some(43_200), Some(2700), Some(0)));
        for text in
            ["d", "30", "-1d", "1.5h", "30d12h", "99999999999999999999d", "9999999999999999999d", "é", ""]
        {
            assert_eq!(age(text), None, "{text}");
        }
    }
}
