//! Function `strftime_now` of templates: formats the current date and time in UTC, for system
//! prompts.
//!
//! Pure arithmetic on seconds since 1970, in the proleptic Gregorian calendar.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Formats the current time by `format`.
pub(crate) fn strftime_now(format: &str) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    strftime(seconds, format)
}

/// Formats `seconds` since 1970 by the C library's conversions, unpadded ones such as `%-d`
/// included. Unknown conversions are copied.
pub fn strftime(seconds: u64, format: &str) -> String {
    let mut out = String::with_capacity(format.len() + 16);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let (unpadded, conversion) = match chars.next() {
            Some('-') => (true, chars.next()),
            other => (false, other),
        };
        let mut field = String::new();
        if let Some(conversion) = conversion {
            push_field(seconds, conversion, &mut field);
        }
        let shown = if unpadded { field.trim_start_matches(['0', ' ']) } else { &field };
        out.push_str(if shown.is_empty() && !field.is_empty() { "0" } else { shown });
    }
    out
}

fn push_field(seconds: u64, conversion: char, out: &mut String) {
    let days = seconds / 86_400;
    let (year, month, day, day_of_year) = civil(days);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let hour12 = (hour + 11) % 12 + 1;
    let (weekday, month_name) = (DAYS[index((days + 4) % 7)], MONTHS[index(month - 1)]);
    let written = match conversion {
        'Y' => write!(out, "{year}"),
        'y' => write!(out, "{:02}", year % 100),
        'm' => write!(out, "{month:02}"),
        'd' => write!(out, "{day:02}"),
        'e' => write!(out, "{day:2}"),
        'j' => write!(out, "{day_of_year:03}"),
        'H' => write!(out, "{hour:02}"),
        'I' => write!(out, "{hour12:02}"),
        'M' => write!(out, "{minute:02}"),
        'S' => write!(out, "{second:02}"),
        'p' => write!(out, "{}", if hour < 12 { "AM" } else { "PM" }),
        'A' => write!(out, "{weekday}"),
        'a' => write!(out, "{}", &weekday[..3]),
        'B' => write!(out, "{month_name}"),
        'b' | 'h' => write!(out, "{}", &month_name[..3]),
        'F' => write!(out, "{year}-{month:02}-{day:02}"),
        'D' => write!(out, "{month:02}/{day:02}/{:02}", year % 100),
        'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
        'R' => write!(out, "{hour:02}:{minute:02}"),
        'Z' => write!(out, "UTC"),
        'z' => write!(out, "+0000"),
        '%' => write!(out, "%"),
        other => write!(out, "%{other}"),
    };
    written.expect("a String takes all text");
}

/// Returns year, month (1–12), day (1–31) and day of the year (1–366) of the day that is `days`
/// after 1 January 1970. The computation begins years at 1 March, so that the leap day is a year's
/// last.
fn civil(days: u64) -> (u64, u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let leap = u64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let day_of_year = if month <= 2 { of_year - 305 } else { of_year + 60 + leap };
    (year, month, day, day_of_year)
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}

#[cfg(test)]
mod tests {
    use super::strftime;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let all = "%Y-%m-%d %j %a %H:%M:%S";
        assert_eq!(strftime(0, all), "1970-01-01 001 Thu 00:00:00");
        assert_eq!(strftime(951_782_399, all), "2000-02-28 059 Mon 23:59:59");
        assert_eq!(strftime(951_782_400, all), "2000-02-29 060 Tue 00:00:00");
        assert_eq!(strftime(978_220_800, all), "2000-12-31 366 Sun 00:00:00");
        assert_eq!(strftime(4_107_542_400, all), "2100-03-01 060 Mon 00:00:00");
    }

    #[test]
    fn conversions_are_those_of_the_c_library() {
        let at = 1_754_381_105;
        assert_eq!(strftime(at, "%d %b %Y"), "05 Aug 2025");
        assert_eq!(
            strftime(at, "%A, %B %-d; %-I:%M %p, %e|%y|%%|%Q"),
            "Tuesday, August 5; 8:05 AM,  5|25|%|%Q"
        );
    }
}
