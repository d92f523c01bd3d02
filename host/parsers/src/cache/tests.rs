//! Tests of the compile cache: entries that were tampered with are compiled anew.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

const CONTENT: &str = "digest of the content";

struct Fixture {
    _folder: tempfile::TempDir,
    path: PathBuf,
    engine: Engine,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { path: folder.path().join("cache"), _folder: folder, engine: Engine::default() }
    }

    fn open(&self) -> CompileCache {
        CompileCache::open(&self.path).unwrap()
    }

    /// A cache with one entry, which `get` finds.
    fn filled(&self) -> CompileCache {
        let cache = self.open();
        cache.put(&self.engine, CONTENT, &self.component());
        assert!(self.found(&cache));
        cache
    }

    fn component(&self) -> Component {
        Component::new(&self.engine, wat::parse_str("(component)").unwrap()).unwrap()
    }

    fn found(&self, cache: &CompileCache) -> bool {
        cache.get::<Component>(&self.engine, CONTENT).is_some()
    }

    fn entry(&self) -> PathBuf {
        self.path.join(entry_name(&self.engine, CONTENT))
    }

    fn refusal(&self) -> String {
        CompileCache::open(&self.path).unwrap_err().to_string()
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_kept_is_found_again_and_nobody_else_can_read_or_write_it() {
    let fixture = Fixture::new();
    fixture.filled();
    assert!(fixture.found(&fixture.open()), "by the next process, too");
    assert_eq!(mode(&fixture.path), 0o700);
    for file in fixture.path.read_dir().unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    assert_eq!(fixture.path.read_dir().unwrap().count(), 2, "the key and the entry; nothing unfinished");
}

#[test]
fn another_content_or_other_settings_are_another_entry() {
    let fixture = Fixture::new();
    let cache = fixture.filled();
    assert!(cache.get::<Component>(&fixture.engine, "another content").is_none());
    let mut config = wasmtime::Config::new();
    let other = Engine::new(config.epoch_interruption(true)).unwrap();
    assert_ne!(entry_name(&other, CONTENT), entry_name(&fixture.engine, CONTENT));
    assert!(cache.get::<Component>(&other, CONTENT).is_none());
}

#[test]
fn an_entry_of_which_any_byte_changed_is_not_loaded() {
    let fixture = Fixture::new();
    let cache = fixture.filled();
    let whole = fs::read(fixture.entry()).unwrap();
    for at in [0, TAG_BYTES - 1, TAG_BYTES, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(fixture.entry(), &bytes).unwrap();
        assert!(!fixture.found(&cache), "byte {at}");
    }
    for length in [0, TAG_BYTES - 1, TAG_BYTES, whole.len() - 1] {
        fs::write(fixture.entry(), &whole[..length]).unwrap();
        assert!(!fixture.found(&cache), "cut to {length}");
    }
    fs::write(fixture.entry(), &whole).unwrap();
    assert!(fixture.found(&cache));
}

#[test]
fn an_entry_of_another_installation_or_under_another_name_is_not_loaded() {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let cache = fixture.filled();
    other.filled();
    fs::copy(other.entry(), fixture.entry()).unwrap();
    assert!(!fixture.found(&cache), "its tag is under another key");
    cache.put(&fixture.engine, CONTENT, &fixture.component());
    assert!(fixture.found(&cache), "compiled anew, it is kept again");
    let elsewhere = fixture.path.join(entry_name(&fixture.engine, "another content"));
    fs::rename(fixture.entry(), elsewhere).unwrap();
    assert!(cache.get::<Component>(&fixture.engine, "another content").is_none());
}

#[test]
fn an_entry_that_others_may_write_or_that_is_a_link_is_not_loaded() {
    let fixture = Fixture::new();
    let cache = fixture.filled();
    for open in [0o644, 0o620, 0o602] {
        set_mode(&fixture.entry(), open);
        assert!(!fixture.found(&cache), "{open:o}");
    }
    set_mode(&fixture.entry(), 0o600);
    assert!(fixture.found(&cache));
    let target = fixture.path.join("target");
    fs::rename(fixture.entry(), &target).unwrap();
    symlink(&target, fixture.entry()).unwrap();
    assert!(!fixture.found(&cache));
    fs::remove_file(fixture.entry()).unwrap();
    fs::create_dir(fixture.entry()).unwrap();
    assert!(!fixture.found(&cache));
}

#[test]
fn a_key_that_others_could_know_is_replaced_and_what_it_vouched_for_is_compiled_anew() {
    let fixture = Fixture::new();
    fixture.filled();
    set_mode(&fixture.path.join(KEY_FILE), 0o644);
    let cache = fixture.open();
    assert_eq!(mode(&fixture.path.join(KEY_FILE)), 0o600);
    assert!(!fixture.found(&cache));
    fs::write(fixture.path.join(KEY_FILE), "short").unwrap();
    assert!(!fixture.found(&fixture.open()));
}

#[test]
fn a_folder_that_is_not_this_users_alone_is_refused_in_one_line() {
    let fixture = Fixture::new();
    fixture.filled();
    for open in [0o755, 0o770, 0o702] {
        set_mode(&fixture.path, open);
        let line = fixture.refusal();
        assert!(line.contains(&format!("{open:o}")) && line.contains("chmod 700"), "{line}");
    }
    fs::rename(&fixture.path, fixture.path.with_extension("moved")).unwrap();
    symlink(fixture.path.with_extension("moved"), &fixture.path).unwrap();
    assert!(fixture.refusal().contains("not a plain folder"));
    fs::remove_file(&fixture.path).unwrap();
    fs::write(&fixture.path, "a file").unwrap();
    assert!(fixture.refusal().contains("not a plain folder"));
}

/// Only root can give a folder away.
#[test]
fn a_folder_of_another_user_is_refused() {
    let fixture = Fixture::new();
    fixture.filled();
    if std::os::unix::fs::chown(&fixture.path, Some(65534), None).is_err() {
        let line = CompileCache::open(Path::new("/")).unwrap_err().to_string();
        assert!(line.contains("belongs to user 0"), "{line}");
        return;
    }
    assert!(fixture.refusal().contains("belongs to user 65534, not to 0"));
}

#[test]
fn the_entries_unused_for_longest_go_first_and_other_files_stay() {
    let fixture = Fixture::new();
    let cache = fixture.open();
    let write = |name: &str, age: u64| {
        write_private(&fixture.path, name, &[&[0; 100]]).unwrap();
        let file = File::options().write(true).open(fixture.path.join(name)).unwrap();
        file.set_modified(SystemTime::now() - std::time::Duration::from_secs(age)).unwrap();
    };
    write("old.compiled", 30);
    write("older.compiled", 40);
    write("new.compiled", 10);
    write("unrelated", 10_000);
    write("dead.unfinished", 10_000);
    write("alive.unfinished", 10);
    cache.prune(200).unwrap();
    let mut left: Vec<_> = fixture.path.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["alive.unfinished", "key", "new.compiled", "old.compiled", "unrelated"]);
}
