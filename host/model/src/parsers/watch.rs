//! Watcher of plugin files, which reports that one is new, replaced, written in place or removed.
//!
//! It watches folders rather than files, since a file that is replaced by a rename is another file.
//! A change is reported once the folder has been quiet for a moment, so that a file which is being
//! written is usually complete. If it isn't, the load fails, the old parser stays, and the next
//! write is reported as a change again.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use super::Parsers;

/// Time without events that ends a change.
const QUIET: Duration = Duration::from_millis(200);
/// Time after which a change is reported although the folder isn't quiet.
const IMPATIENCE: Duration = Duration::from_secs(3);

/// Watcher of folders.
pub(super) struct PluginWatch {
    watcher: RecommendedWatcher,
    changes: mpsc::Receiver<()>,
    folders: Vec<PathBuf>,
    /// Whether a change has begun and hasn't been reported yet.
    changing: bool,
}

impl PluginWatch {
    /// Makes a watcher that watches no folder yet. It reports changes of files that end in `.wasm`
    /// or `.json`, and of the one with the name `file`.
    pub(super) fn new(folders: Vec<PathBuf>, file: Option<OsString>) -> notify::Result<Self> {
        // The channel holds one event: while it waits, further events add nothing.
        let (sender, changes) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.map_or(true, |event| matters(&event, file.as_deref())) {
                let _ = sender.try_send(());
            }
        })?;
        Ok(Self { watcher, changes, folders, changing: false })
    }

    /// Watches the folders that exist, and returns those that can't be watched. May be called
    /// again, for folders made or replaced since.
    pub(super) fn attach(&mut self) -> Vec<(&Path, notify::Error)> {
        let mut watch = |folder| self.watcher.watch(folder, RecursiveMode::NonRecursive);
        self.folders
            .iter()
            .map(PathBuf::as_path)
            .filter_map(|folder| watch(folder).err().map(|error| (folder, error)))
            .collect()
    }

    /// Waits for a change, and until it is over. Cancel safe.
    pub(super) async fn changed(&mut self) {
        if !self.changing {
            self.changes.recv().await.expect("the watcher, and so the sender, lives as long as this");
            self.changing = true;
        }
        let began = Instant::now();
        while began.elapsed() < IMPATIENCE {
            if tokio::time::timeout(QUIET, self.changes.recv()).await.is_err() {
                break;
            }
        }
        self.changing = false;
    }
}

/// Whether the event may change a parser. Reads are ignored, else each load would cause the next.
fn matters(event: &Event, file: Option<&OsStr>) -> bool {
    if event.need_rescan() {
        return true;
    }
    let kind = match event.kind {
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) => true,
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        EventKind::Any | EventKind::Other => false,
    };
    let is_plugin =
        |path: &PathBuf| path.extension().is_some_and(|ending| ending == "wasm" || ending == "json");
    let is_file = |path: &PathBuf| file.is_some() && path.file_name() == file;
    kind && event.paths.iter().any(|path| is_plugin(path) || is_file(path))
}

/// Stream of changes of a model's plugin files.
pub(crate) struct Changes<'a> {
    parsers: &'a Parsers,
    /// `None` if files can't be watched.
    watch: Option<PluginWatch>,
    started: bool,
}

impl Parsers {
    /// Starts to watch the plugin files. Folders that can't be watched are logged.
    pub(crate) fn changes(&self) -> Changes<'_> {
        let watch = PluginWatch::new(self.folders.clone(), self.file.clone());
        let mut watch = watch
            .inspect_err(|error| tracing::warn!(%error, "plugin files can't be watched; reload with SIGHUP"))
            .ok();
        for (folder, error) in watch.iter_mut().flat_map(PluginWatch::attach) {
            let is_there = folder.exists();
            let folder = folder.display();
            if is_there {
                tracing::warn!(%folder, %error, "not watched: reload with SIGHUP after a change");
            } else {
                tracing::info!(%folder, "no such folder, so it is not watched: reload with SIGHUP once it exists");
            }
        }
        Changes { parsers: self, watch, started: false }
    }
}

impl Changes<'_> {
    /// Waits until the files should be read again: the first call returns at once, since they may
    /// have changed while weights were loaded, and each later one after a change. Cancel safe.
    pub(crate) async fn next(&mut self) {
        let Some(watch) = &mut self.watch else { return std::future::pending().await };
        if !std::mem::replace(&mut self.started, true) {
            return;
        }
        loop {
            // Watches folders that were made or replaced since. Errors were logged at the start.
            watch.attach();
            tokio::select! {
                () = watch.changed() => return,
                () = self.parsers.loaded.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, DataChange, ModifyKind};

    #[test]
    fn plugin_changes_matter_and_reads_do_not() {
        let event = |kind, path: &str| Event::new(kind).add_path(path.into());
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let closed = |mode| EventKind::Access(AccessKind::Close(mode));
        let matters = |kind, path: &str| matters(&event(kind, path), Some(OsStr::new("odd.bin")));
        assert!(matters(written, "p/a.wasm"));
        assert!(matters(closed(AccessMode::Write), "p/a.wasm"));
        assert!(matters(EventKind::Create(CreateKind::File), "p/odd.bin"));
        assert!(!matters(EventKind::Create(CreateKind::File), "p/a.wasm.part"));
        assert!(!matters(closed(AccessMode::Read), "p/a.wasm"));
        assert!(!matters(EventKind::Access(AccessKind::Open(AccessMode::Read)), "p/a.wasm"));
    }

    #[tokio::test]
    async fn renames_and_writes_in_place_are_seen_and_reads_not() {
        let folder = tempfile::tempdir().unwrap();
        let (file, part) = (folder.path().join("a.wasm"), folder.path().join("a.part"));
        let mut watch =
            PluginWatch::new(vec![folder.path().to_owned(), "/no/such/folder".into()], None).unwrap();
        assert_eq!(watch.attach().len(), 1);
        std::fs::write(&part, "one").unwrap();
        std::fs::rename(&part, &file).unwrap();
        watch.changed().await;
        std::fs::write(&file, "two").unwrap();
        watch.changed().await;
        std::fs::read(&file).unwrap();
        std::fs::write(&part, "three").unwrap();
        let nothing = tokio::time::timeout(2 * QUIET, watch.changed()).await;
        assert!(nothing.is_err(), "nothing that matters happened");
    }
}
