//! Progress on one line of stderr that is overwritten; nothing is shown if stderr isn't a terminal.

use std::io::IsTerminal;

use engine::models::Progress;
use model::printable::Escaped;

use super::stderr;

/// Shows the progress of loading a model.
pub(super) fn show_loading(model: &str, progress: Progress) {
    match progress {
        Progress::Weights { parts, of, bytes } => {
            show(
                &format!("loading weights of {model}: {parts} of {of} parts, {} MiB", bytes >> 20),
                parts >= of,
            );
        }
        Progress::Kernels { done, of } => {
            show(&format!("compiling kernels for {model}: {done} of {of}"), done >= of);
        }
    }
}

/// Shows `text` in place of the last one; `is_last` keeps it on the screen.
pub(super) fn show(text: &str, is_last: bool) {
    if std::io::stderr().is_terminal() {
        let end = if is_last { "\n" } else { "" };
        // The escape sequence clears the rest of the line.
        stderr::write(format!("\r{}\x1b[K{end}", Escaped(text)).as_bytes());
        if is_last {
            stderr::flush();
        }
    }
}
