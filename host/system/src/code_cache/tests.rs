//! Entries that were tampered with aren't read, and folders that aren't this user's alone aren't
//! used.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

const NAME: &str = "entry";
const CODE: &[u8] = b"machine code";

struct Fixture {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { path: folder.path().join("cache"), _folder: folder }
    }

    fn open(&self) -> CodeCache {
        CodeCache::open(&self.path, ".code").unwrap()
    }

    /// A cache with one entry, which can be read.
    fn filled(&self) -> CodeCache {
        let cache = self.open();
        cache.write(NAME, CODE).unwrap();
        assert!(found(&cache));
        cache
    }

    fn entry(&self) -> PathBuf {
        self.path.join("entry.code")
    }

    fn refusal(&self) -> String {
        CodeCache::open(&self.path, ".code").unwrap_err().to_string()
    }
}

fn found(cache: &CodeCache) -> bool {
    match cache.read(NAME, 1 << 10) {
        Ok(code) => code.as_deref() == Some(CODE),
        Err(_) => false,
    }
}

fn reason(cache: &CodeCache) -> String {
    cache.read(NAME, 1 << 10).unwrap_err().to_string()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn kept_code_is_found_again_and_closed_to_others() {
    let fixture = Fixture::new();
    fixture.filled();
    assert!(found(&fixture.open()), "by the next process, too");
    assert_eq!(fixture.open().names().unwrap(), [NAME]);
    assert_eq!(mode(&fixture.path), 0o700);
    for file in fixture.path.read_dir().unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    assert_eq!(fixture.path.read_dir().unwrap().count(), 2, "the key and the entry; nothing unfinished");
    assert!(fixture.open().read("another", 1 << 10).unwrap().is_none());
}

#[test]
fn an_entry_of_which_any_byte_changed_is_not_read() {
    let fixture = Fixture::new();
    let cache = fixture.filled();
    let whole = fs::read(fixture.entry()).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(fixture.entry(), &bytes).unwrap();
        assert_eq!(reason(&cache), "not written by this installation, or damaged", "byte {at}");
    }
    for length in 0..whole.len() {
        fs::write(fixture.entry(), &whole[..length]).unwrap();
        assert!(!found(&cache), "cut to {length}");
    }
    fs::write(fixture.entry(), &whole).unwrap();
    assert!(found(&cache));
    assert!(cache.read(NAME, 10).is_err(), "larger than its limit");
}

#[test]
fn entry_of_another_installation_or_name_is_not_read() {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let cache = fixture.filled();
    other.filled();
    fs::copy(other.entry(), fixture.entry()).unwrap();
    assert!(!found(&cache), "its tag is under another key");
    cache.write(NAME, CODE).unwrap();
    assert!(found(&cache), "made anew, it is kept again");
    fs::rename(fixture.entry(), cache.file("another")).unwrap();
    assert!(cache.read("another", 1 << 10).is_err());
}

#[test]
fn entry_writable_by_others_or_linked_is_not_read() {
    let fixture = Fixture::new();
    let cache = fixture.filled();
    for open in [0o644, 0o620, 0o602] {
        set_mode(&fixture.entry(), open);
        let line = reason(&cache);
        assert!(line.contains(&format!("{open:o}")) && line.contains("chmod 600"), "{line}");
    }
    set_mode(&fixture.entry(), 0o600);
    assert!(found(&cache));
    let target = fixture.path.join("target");
    fs::rename(fixture.entry(), &target).unwrap();
    symlink(&target, fixture.entry()).unwrap();
    assert_eq!(reason(&cache), "not a plain file");
    fs::remove_file(fixture.entry()).unwrap();
    fs::create_dir(fixture.entry()).unwrap();
    assert_eq!(reason(&cache), "not a plain file");
}

#[test]
fn exposed_key_is_replaced_and_its_entries_made_anew() {
    let fixture = Fixture::new();
    fixture.filled();
    set_mode(&fixture.path.join(KEY_FILE), 0o644);
    let cache = fixture.open();
    assert_eq!(mode(&fixture.path.join(KEY_FILE)), 0o600);
    assert!(!found(&cache));
    fs::write(fixture.path.join(KEY_FILE), "short").unwrap();
    assert!(!found(&fixture.open()));
}

#[test]
fn a_folder_that_is_copied_with_its_key_stays_valid() {
    let (fixture, copy) = (Fixture::new(), Fixture::new());
    fixture.filled();
    prepare_folder(&copy.path).unwrap();
    for file in [KEY_FILE, "entry.code"] {
        fs::copy(fixture.path.join(file), copy.path.join(file)).unwrap();
    }
    assert!(found(&copy.open()));
}

#[test]
fn folder_open_to_others_is_refused_in_one_line() {
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

/// Only root can give a folder away, or a file.
#[test]
fn a_folder_of_another_user_is_refused() {
    let fixture = Fixture::new();
    fixture.filled();
    if std::os::unix::fs::chown(&fixture.path, Some(65534), None).is_err() {
        let line = CodeCache::open(Path::new("/"), ".code").unwrap_err().to_string();
        assert!(line.contains("belongs to user 0"), "{line}");
        return;
    }
    assert!(fixture.refusal().contains("belongs to user 65534, not to 0"));
    std::os::unix::fs::chown(&fixture.path, Some(0), None).unwrap();
    std::os::unix::fs::chown(fixture.entry(), Some(65534), None).unwrap();
    assert_eq!(reason(&fixture.open()), "it belongs to user 65534, not to 0");
}

#[test]
fn longest_unused_entries_go_first_other_files_stay() {
    let fixture = Fixture::new();
    let cache = fixture.open();
    let write = |name: &str, age: u64| {
        write_private(&fixture.path, name, &[&[0; 100]]).unwrap();
        let file = File::options().write(true).open(fixture.path.join(name)).unwrap();
        file.set_modified(SystemTime::now() - std::time::Duration::from_secs(age)).unwrap();
    };
    write("old.code", 30);
    write("older.code", 40);
    write("new.code", 10);
    write("unrelated", 10_000);
    write("dead.unfinished", 10_000);
    write("alive.unfinished", 10);
    cache.prune(200).unwrap();
    let mut left: Vec<_> = fixture.path.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["alive.unfinished", "key", "new.code", "old.code", "unrelated"]);
}
