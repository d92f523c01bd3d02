//! How far something is: one line on stderr that is written over, and nothing where stderr isn't a terminal.

use std::io::{IsTerminal, Write};

use engine::models::Progress;

/// What is loaded of a model's weights.
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

/// Writes `text` over what was shown before; the last one stays.
pub(super) fn show(text: &str, is_last: bool) {
    let mut error = std::io::stderr();
    if !error.is_terminal() {
        return;
    }
    let end = if is_last { "\n" } else { "" };
    // Progress is decoration: a closed stderr must not stop the work. The code behind the text ends the line.
    let _ = write!(error, "\r{text}\x1b[K{end}");
    let _ = error.flush();
}
