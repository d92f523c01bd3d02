//! Compiled parsers are found again by what they depend on; those that can't be used are compiled
//! anew.

use std::path::PathBuf;

use super::*;

const CONTENT: &str = "digest of the content";

struct Fixture {
    folder: tempfile::TempDir,
    engine: Engine,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), engine: Engine::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// A cache with one entry, which `get` finds.
    fn filled(&self) -> CompileCache {
        let cache = CompileCache::open(&self.path()).unwrap();
        let component = Component::new(&self.engine, wat::parse_str("(component)").unwrap()).unwrap();
        cache.put(&self.engine, CONTENT, &component);
        assert!(self.found(&cache));
        cache
    }

    fn found(&self, cache: &CompileCache) -> bool {
        cache.get::<Component>(&self.engine, CONTENT).is_some()
    }
}

#[test]
fn other_content_or_settings_are_another_entry() {
    let fixture = Fixture::new();
    let cache = fixture.filled();
    assert!(cache.get::<Component>(&fixture.engine, "another content").is_none());
    let mut config = wasmtime::Config::new();
    let other = Engine::new(config.epoch_interruption(true)).unwrap();
    assert_ne!(entry_name(&other, CONTENT), entry_name(&fixture.engine, CONTENT));
    assert!(cache.get::<Component>(&other, CONTENT).is_none());
}

#[test]
fn an_entry_that_changed_or_is_no_code_is_not_loaded() {
    let fixture = Fixture::new();
    let cache = fixture.filled();
    let name = entry_name(&fixture.engine, CONTENT);
    let mut bytes = std::fs::read(cache.0.file(&name)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(cache.0.file(&name), &bytes).unwrap();
    assert!(!fixture.found(&cache));
    cache.0.write(&name, b"of this installation, but no code").unwrap();
    assert!(!fixture.found(&cache));
    assert!(fixture.found(&fixture.filled()));
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path(), "a file").unwrap();
    let line = CompileCache::open(&fixture.path()).unwrap_err().to_string();
    assert!(
        line.starts_with("parser cache /") && line.ends_with("is not used: not a plain folder"),
        "{line}"
    );
}
