//! Progress on one line of stderr that is overwritten. Where stderr isn't a terminal, only downloads
//! are shown: a line of the log for every tenth part.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use engine::models::EngineProgress;
use hub::{DownloadProgress, size};
use model::LoadProgress;
use net::printable::Escaped;

use super::stderr;

/// Time between two changes of the line.
const REDRAW: Duration = Duration::from_millis(100);

/// Shows the progress of loading models.
#[derive(Default)]
pub(super) struct LoadingLine {
    download: Option<DownloadLine>,
}

/// What is shown of a download.
struct DownloadLine {
    begin: Instant,
    /// Bytes that were there at its beginning.
    before: u64,
    drawn: Option<Instant>,
    /// Tenth part that was logged last.
    tenth: u64,
}

impl LoadingLine {
    /// Shows how far the load of `model` is.
    pub(super) fn show(&mut self, model: &str, progress: LoadProgress<'_>) {
        match progress {
            LoadProgress::Engine(EngineProgress::Weights { parts, of, bytes }) => show(
                &format!("loading weights of {model}: {parts} of {of} parts, {} MiB", bytes >> 20),
                parts >= of,
            ),
            LoadProgress::Engine(EngineProgress::Kernels { done, of }) => {
                show(&format!("compiling kernels for {model}: {done} of {of}"), done >= of);
            }
            LoadProgress::Download(download) => self.show_download(&download),
        }
    }

    /// Shows how far a download is.
    pub(super) fn show_download(&mut self, progress: &DownloadProgress<'_>) {
        let DownloadProgress { model, files, of_files, bytes, of_bytes } = *progress;
        let is_last = files == of_files;
        let line = self.download.get_or_insert_with(|| DownloadLine::begin(bytes));
        if !is_last && line.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW) {
            return;
        }
        line.drawn = Some(Instant::now());
        let text = format!(
            "downloading {model}: {files} of {of_files} files, {} of {}{}",
            size(bytes),
            size(of_bytes),
            line.speed(bytes, of_bytes)
        );
        let tenth = bytes.saturating_mul(10) / of_bytes.max(1);
        if std::io::stderr().is_terminal() {
            show(&text, is_last);
        } else if line.tenth < tenth || is_last {
            line.tenth = tenth;
            tracing::info!("{text}");
        }
        if is_last {
            self.download = None;
        }
    }
}

impl DownloadLine {
    fn begin(before: u64) -> Self {
        Self { begin: Instant::now(), before, drawn: None, tenth: 0 }
    }

    /// Speed, and the time that is left at this speed, once both can be said.
    fn speed(&self, bytes: u64, of_bytes: u64) -> String {
        let seconds = self.begin.elapsed().as_secs();
        let received = bytes.saturating_sub(self.before);
        let Some(speed) = received.checked_div(seconds).filter(|speed| *speed > 0) else {
            return String::new();
        };
        let left = of_bytes.saturating_sub(bytes) / speed;
        format!(", {}/s, {}:{:02} left", size(speed), left / 60, left % 60)
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
