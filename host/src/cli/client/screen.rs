//! How an answer is shown: its text on stdout, all else on stderr.
//!
//! Invariant: a terminal gets nothing of the model's that it acts on but ends of lines and tabs;
//! what isn't a terminal gets the text's bytes as they are, and no reasoning unless it was asked
//! for.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use net::printable::Escaped;

use super::markdown::Markdown;
use crate::cli::stderr;

/// Reasoning and remarks.
const DIM: Style = Style::new().dimmed();

/// What was shown last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// A whole line, or nothing.
    Line,
    Reasoning,
    Text,
}

/// Where the answer's text goes.
enum TextPlace {
    Nowhere,
    Terminal,
    /// A terminal that takes styles, which an answer that is data doesn't get.
    Rendered {
        markdown: Markdown,
        is_data: bool,
    },
    /// A pipe or a file.
    Output,
}

/// Shows answers, one after the other.
pub(in crate::cli) struct Screen {
    text: TextPlace,
    shows_reasoning: bool,
    /// Whether stderr is a terminal that takes colours.
    is_dim: bool,
    last: Shown,
    /// Whether the answer has text already.
    has_text: bool,
    /// The server's last warning, which is shown once.
    warning: Option<String>,
}

impl Screen {
    /// Whether the text of answers is shown.
    pub(super) fn shows_text(&self) -> bool {
        !matches!(self.text, TextPlace::Nowhere)
    }

    /// `reasoning` says whether reasoning is shown; where it doesn't, terminals show it. Markdown is
    /// rendered where the terminal takes styles, unless it is to stay `plain`.
    pub(in crate::cli) fn new(reasoning: Option<bool>, shows_text: bool, plain: bool) -> Self {
        let stdout = io::stdout();
        let has_styles = AutoStream::choice(&stdout) != ColorChoice::Never;
        let stderr = io::stderr();
        let is_dim = stderr.is_terminal() && AutoStream::choice(&stderr) != ColorChoice::Never;
        Self {
            text: match (shows_text, stdout.is_terminal()) {
                (false, _) => TextPlace::Nowhere,
                (true, true) if has_styles && !plain => {
                    TextPlace::Rendered { markdown: Markdown::default(), is_data: false }
                }
                (true, true) => TextPlace::Terminal,
                (true, false) => TextPlace::Output,
            },
            shows_reasoning: reasoning.unwrap_or_else(|| stderr.is_terminal()),
            is_dim,
            last: Shown::Line,
            has_text: false,
            warning: None,
        }
    }

    /// Shows a warning of the server's, unless the last answer had the same.
    pub(super) fn warn(&mut self, warning: Option<&str>) -> io::Result<()> {
        if self.warning.as_deref() == warning {
            return Ok(());
        }
        self.warning = warning.map(str::to_owned);
        warning.map_or(Ok(()), |warning| self.remark(&format!("warning: {warning}")))
    }

    /// An answer begins, which is data, as a schema's is, or a text that may have Markdown.
    pub(super) fn begin(&mut self, is_data: bool) {
        if let TextPlace::Rendered { is_data: is_set, .. } = &mut self.text {
            *is_set = is_data;
        }
    }

    pub(super) fn reasoning(&mut self, text: &str) -> io::Result<()> {
        if self.shows_reasoning {
            self.show_held()?;
            self.last = Shown::Reasoning;
            self.aside(&shown(text));
        }
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        if !self.shows_text() || text.is_empty() {
            return Ok(());
        }
        self.end_reasoning();
        let line = if text.ends_with('\n') { Shown::Line } else { Shown::Text };
        (self.last, self.has_text) = (line, true);
        match &mut self.text {
            TextPlace::Nowhere => Ok(()),
            TextPlace::Rendered { markdown, is_data: false } => write(markdown.feed(&shown(text)).as_bytes()),
            TextPlace::Rendered { .. } | TextPlace::Terminal => write(shown(text).as_bytes()),
            TextPlace::Output => write(text.as_bytes()),
        }
    }

    /// Another message begins.
    pub(super) fn message(&mut self) -> io::Result<()> {
        if self.has_text { self.text("\n\n") } else { Ok(()) }
    }

    /// A remark beside the answer, on a line of its own.
    pub(in crate::cli) fn remark(&mut self, text: &str) -> io::Result<()> {
        self.end()?;
        self.aside(&format!("{}\n", Escaped(text)));
        // What comes next, such as a prompt, is written at once, and stands behind it.
        stderr::flush();
        Ok(())
    }

    /// Ends the line that the answer is on.
    pub(in crate::cli) fn end(&mut self) -> io::Result<()> {
        self.show_held()?;
        self.end_reasoning();
        let is_open = std::mem::replace(&mut self.last, Shown::Line) == Shown::Text;
        self.has_text = false;
        if is_open { write(b"\n") } else { Ok(()) }
    }

    /// Shows what of a line of Markdown was held back.
    fn show_held(&mut self) -> io::Result<()> {
        match &mut self.text {
            TextPlace::Rendered { markdown, .. } => write(markdown.end().as_bytes()),
            _ => Ok(()),
        }
    }

    /// Ends reasoning, which must be on the screen before text that follows it.
    fn end_reasoning(&mut self) {
        if self.last == Shown::Reasoning {
            self.last = Shown::Line;
            stderr::write(b"\n");
            stderr::flush();
        }
    }

    fn aside(&self, text: &str) {
        let text = if self.is_dim { format!("{DIM}{text}{DIM:#}") } else { text.to_owned() };
        stderr::write(text.as_bytes());
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Text of several lines as a terminal may have it.
pub(in crate::cli) fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for part in text.split_inclusive(['\n', '\t']) {
        let end = part.strip_suffix(['\n', '\t']).map_or(part.len(), str::len);
        let _ = write!(safe, "{}{}", Escaped(&part[..end]), &part[end..]);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn only_lines_and_tabs_act_on_a_terminal() {
        assert_eq!(shown("a\tb\n\u{1b}[2J\r\n# ü\n\n"), "a\tb\n\\u{1b}[2J\\u{d}\n# ü\n\n");
        assert_eq!(shown(""), "");
    }
}
