//! Colours of terminal output; `anstream` leaves them out for pipes, dumb terminals and `NO_COLOR`.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// Headings and names.
pub(super) const BOLD: Style = Style::new().bold();
/// Secondary information.
pub(super) const DIM: Style = Style::new().dimmed();
/// Success.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// Failure.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Text that the model wrote.
pub(super) const TEXT: Style = AnsiColor::Cyan.on_default();
/// Answers of the parser.
pub(super) const OP: Style = AnsiColor::Yellow.on_default();
/// Resulting events.
pub(super) const EVENT: Style = AnsiColor::Green.on_default();

/// Formats `what` in this style.
pub(super) fn painted(style: Style, what: impl Display) -> String {
    format!("{style}{what}{style:#}")
}
