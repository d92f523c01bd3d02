//! The file: its mode, its one owner, what isn't opened, and every older schema (`tests/schemas/`,
//! as the version of then wrote it).

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use store::{
    Budget, CompletionTag, End, Events, ExportedRecord, Link, NewCompletion, OpenCause, Options, Owner,
    Sqlite, Status, Store, StoreError, backup,
};

use crate::kit::{chunk, conversation, end, item, needs, new, parent, path, served};

fn refused(file: &Path, cause: OpenCause) -> String {
    let error = Sqlite::open(file, &Options::default()).err().unwrap();
    assert_eq!(error.cause(), cause);
    let error = error.to_string();
    assert!(error.starts_with(&format!("store {}: ", file.display())) && !error.contains('\n'), "{error}");
    error
}

#[test]
fn only_its_user_reads_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/er/state.db");
    let _store = Sqlite::open(&file, &Options::default()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file.parent().unwrap()), mode(&folder.path().join("deep"))), (0o700, 0o700));
    let mut modes: Vec<(String, u32)> = fs::read_dir(file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), mode(&entry.path())))
        .collect();
    modes.sort();
    let names = ["state.db", "state.db-shm", "state.db-wal", "state.db.lock"];
    assert_eq!(modes, names.map(|name| (name.to_owned(), 0o600)));
}

#[test]
fn a_file_that_is_open_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = Sqlite::open(&path(&folder), &Options::default()).unwrap();
    assert!(refused(&path(&folder), OpenCause::InUse).contains("another process has it open; stop that one"));
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(path(&folder), &link).unwrap();
    assert!(refused(&link, OpenCause::InUse).contains("another process has it open"));
    // Two servers on hard links lost half of what they acknowledged.
    let hard_link = folder.path().join("hard.db");
    fs::hard_link(path(&folder), &hard_link).unwrap();
    assert!(refused(&hard_link, OpenCause::InUse).contains("another process has it open"));
    drop(first);
    drop(Sqlite::open(&hard_link, &Options::default()).unwrap());
    Sqlite::open(&path(&folder), &Options::default()).unwrap();
}

/// Deleted text stayed in the write-ahead log until somebody wrote again.
#[tokio::test]
async fn what_was_deleted_is_in_no_file_of_a_quiet_store() {
    const SECRET: &str = "the quoll is mauve";
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&path(&folder), &Options::default()).unwrap();
    let owner = Owner::new("a");
    let lease = store.create(&owner, new("r", Link::Alone)).await.unwrap();
    store.finish(lease, end(Status::Completed, SECRET)).await.unwrap();
    let log = folder.path().join("state.db-wal");
    let holds =
        |file: &Path| fs::read(file).unwrap().windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes());
    assert!(holds(&log), "it was stored");
    store.delete(&owner, "r").await.unwrap();
    while fs::metadata(&log).unwrap().len() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(!holds(&path(&folder)) && !holds(&log));
}

#[test]
fn foreign_store_files_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "no database\n".repeat(100)).unwrap();
    assert!(refused(&text, OpenCause::Content).contains("file is not a database"));
    assert_eq!(fs::read_to_string(&text).unwrap(), "no database\n".repeat(100));

    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(refused(&other, OpenCause::Content).contains("another program's database"));

    drop(Sqlite::open(&path(&folder), &Options::default()).unwrap());
    Connection::open(path(&folder)).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(
        refused(&path(&folder), OpenCause::Content)
            .contains("it has schema 99, and this version knows schemas up to")
    );
}

#[test]
fn where_there_can_be_no_file_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(
        refused(&folder.path().join("file/state.db"), OpenCause::Unreachable).contains("Not a directory")
    );
}

#[test]
fn an_open_says_which_schema_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let newest = files("migrations/sqlite").len();
    for before in [0, newest] {
        let schema = Sqlite::open(&path(&folder), &Options::default()).unwrap().schema();
        assert_eq!((schema.before, schema.now), (before, newest));
    }
}

#[tokio::test]
async fn backup_of_an_open_store_is_whole_and_private() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("backup.db");
    let store = Sqlite::open(&path(&folder), &Options::default()).unwrap();
    write_fixture(&store).await;
    backup(&path(&folder), &to).unwrap();
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    // What comes later isn't in it, and a second backup doesn't take its place.
    store.conversation_create(&Owner::new("alice"), "later", vec![], vec![]).await.unwrap();
    assert!(backup(&path(&folder), &to).unwrap_err().to_string().contains("File exists"));
    read_fixture(&Sqlite::open(&to, &Options::default()).unwrap(), files("migrations/sqlite").len()).await;
}

#[test]
fn only_a_store_is_backed_up() {
    let folder = tempfile::tempdir().unwrap();
    let (text, to) = (folder.path().join("notes.txt"), folder.path().join("backup.db"));
    fs::write(&text, "no database\n".repeat(100)).unwrap();
    assert_eq!(backup(&text, &to).unwrap_err().cause(), OpenCause::Content);
    assert_eq!(backup(&path(&folder), &to).unwrap_err().cause(), OpenCause::Unreachable);
    assert!(!to.exists() && !path(&folder).exists());
}

#[tokio::test]
async fn full_sync_stores_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { synchronous: store::Synchronous::Full, ..Options::default() };
    let store = Sqlite::open(&path(&folder), &options).unwrap();
    write_fixture(&store).await;
    read_fixture(&store, files("migrations/sqlite").len()).await;
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let store = Sqlite::memory(&Options::default()).unwrap();
    let late = store.response(&Owner::new("alice"), "r", Budget::default());
    drop(store);
    assert_eq!(late.await, Err(StoreError::Unavailable("it is closed".to_owned())));
}

/// What each fixture holds. A newer schema may add to it, and fixtures of older ones then hold
/// less.
async fn write_fixture(store: &Sqlite) {
    let alice = Owner::new("alice");
    let finish = async |lease, id| store.finish(lease, end(Status::Completed, id)).await.unwrap();
    finish(store.create(&alice, new("a", Link::Alone)).await.unwrap(), "a").await;
    finish(store.create(&alice, new("b", parent("a"))).await.unwrap(), "b").await;
    store.delete(&alice, "a").await.unwrap();
    store.conversation_create(&alice, "v", b"meta".to_vec(), vec![item("e")]).await.unwrap();
    finish(store.create(&alice, new("c", conversation("v"))).await.unwrap(), "c").await;
    store.enqueue(&alice, &needs(), new("d", Link::Alone), chunk(0, 3).events).await.unwrap();
    let lease = store.claim(&served()).await.unwrap().unwrap().lease;
    let last = End { last: Some(chunk(3, 9)), ..end(Status::Failed, "d") };
    store.finish(lease, last).await.unwrap();
    store.create(&Owner::new("bob"), new("e", Link::Alone)).await.unwrap();
    let tags = vec![CompletionTag { name: "model".to_owned(), value: "m".to_owned() }];
    let completion = NewCompletion { id: "f".to_owned(), tags, input: vec![item("f-0")] };
    finish(store.completion_create(&alice, completion).await.unwrap(), "f").await;
}

/// Reads the fixture of a schema.
async fn read_fixture(store: &Sqlite, schema: usize) {
    let alice = Owner::new("alice");
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let context = async |link| store.context(&alice, &link, Budget::default()).await.unwrap();
    assert_eq!(context(parent("b")).await.len(), 4);
    assert_eq!(context(conversation("v")).await.len(), 3);
    let events = store.events_after(&alice, "d", None).await.unwrap();
    assert!(matches!(events, Events::Log { chunk: events, end: true, .. } if events == chunk(0, 12)));
    let (mut records, mut after) = (Vec::new(), 0);
    while let Some((number, record)) = store.export(None, after).await.unwrap() {
        after = number;
        records.push(match record {
            ExportedRecord::Response(owner, response, input) => {
                (owner.name().to_owned(), response.id, input.len())
            }
            ExportedRecord::Completion(owner, it, items) => (owner.name().to_owned(), it.id, items.len()),
            ExportedRecord::Conversation(owner, it, items) => (owner.name().to_owned(), it.id, items.len()),
        });
    }
    let mut expected =
        vec![("alice", "b", 1), ("alice", "c", 1), ("alice", "d", 1), ("bob", "e", 1), ("alice", "v", 3)];
    if schema >= 2 {
        expected.insert(4, ("alice", "f", 1));
        assert_eq!(store.completion_get(&alice, "f", Budget::default()).await.unwrap().tags.len(), 1);
    }
    let named = |(owner, id, items): (&str, &str, usize)| (owner.to_owned(), id.to_owned(), items);
    assert_eq!(records, expected.into_iter().map(named).collect::<Vec<_>>());
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A clock of the fixtures' time, or what they hold would be expired.
fn then() -> Options {
    Options { clock: store::TimeSource::manual(1_000_000_000_000), ..Options::default() }
}

#[tokio::test]
async fn every_older_schema_is_opened() {
    let schemas = files("tests/schemas");
    assert_eq!(
        schemas.len(),
        files("migrations/sqlite").len(),
        "each migration has its fixture: UPDATE_EXPECT=1 writes it"
    );
    for (index, schema) in schemas.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(restore(schema, &path(&folder)), index + 1);
        let store = Sqlite::open(&path(&folder), &then()).unwrap();
        read_fixture(&store, index + 1).await;
    }
}

/// Writes a schema's fixture into a new file. Returns the schema's number.
fn restore(schema: &Path, file: &Path) -> usize {
    let connection = Connection::open(file).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    let dump = fs::read_to_string(schema).unwrap();
    connection.execute_batch(&format!("BEGIN; {dump} COMMIT;")).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// A schema before counted the log of what runs for its owner with each chunk.
#[tokio::test]
async fn log_of_a_response_that_runs_is_carried_over() {
    let folder = tempfile::tempdir().unwrap();
    restore(&files("tests/schemas")[2], &path(&folder));
    let connection = Connection::open(path(&folder)).unwrap();
    let running = "UPDATE response SET ended = NULL, status = 1 WHERE id = 'd'; UPDATE body SET result = x'' WHERE response = 4; \
         UPDATE response SET bytes = bytes - 8 WHERE id = 'd'";
    connection.execute_batch(running).unwrap();
    drop(connection);
    let store = Sqlite::open(&path(&folder), &then()).unwrap();
    assert_eq!(store.check().await, Ok(vec![]));
    let lease = store.sweep().await.unwrap().into_iter().find(|swept| swept.lease.id() == "d").unwrap().lease;
    let before = store.stats().await.unwrap().owners;
    store.finish(lease, End { output: vec![], ..end(Status::Failed, "d") }).await.unwrap();
    assert_eq!(store.check().await, Ok(vec![]));
    let grown = store.stats().await.unwrap().owners[0].1 - before[0].1;
    assert_eq!(grown, "result d".len() as u64, "its log was shown, and counts no more than that");
}

/// A kill leaves a file as it was, and of the write-ahead log what was written so far.
#[tokio::test]
async fn migration_that_was_killed_anywhere_is_made_whole() {
    let (schemas, newest) = (files("tests/schemas"), files("migrations/sqlite").len());
    let log = |folder: &tempfile::TempDir| folder.path().join("state.db-wal");
    for schema in &schemas[..newest - 1] {
        let folder = tempfile::tempdir().unwrap();
        let version = restore(schema, &path(&folder));
        // It has the file open, so that the log isn't emptied: the last one that closes does that.
        let holder = Connection::open(path(&folder)).unwrap();
        holder.query_row("SELECT COUNT(*) FROM response", [], |row| row.get::<_, i64>(0)).unwrap();
        drop(Sqlite::open(&path(&folder), &then()).unwrap());
        let written = fs::read(log(&folder)).unwrap();
        for length in (0..written.len()).step_by(2000).chain([written.len()]) {
            let killed = tempfile::tempdir().unwrap();
            fs::copy(path(&folder), path(&killed)).unwrap();
            fs::write(log(&killed), &written[..length]).unwrap();
            let store = Sqlite::open(&path(&killed), &then()).unwrap();
            let before = if length < written.len() { version } else { newest };
            assert_eq!(store.schema().before, before, "{length} of {}", written.len());
            read_fixture(&store, version).await;
        }
    }
}

#[tokio::test]
async fn released_migrations_still_make_the_schemas_of_then() {
    let newest = files("migrations/sqlite").len();
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&path(&folder), &then()).unwrap();
    write_fixture(&store).await;
    drop(store);
    let dump = dump(&Connection::open(path(&folder)).unwrap());
    let file = schemas.join(format!("{newest:03}.sql"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, &dump).unwrap();
    }
    let tables = |dump: &str| -> Vec<String> {
        let statements = dump.split("\n\n").filter(|text| text.starts_with("CREATE")).map(str::to_owned);
        statements.collect()
    };
    assert_eq!(tables(&dump), tables(&fs::read_to_string(&file).unwrap()));
}

/// The database as statements: tables, rows, then indexes and triggers.
fn dump(connection: &Connection) -> String {
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(|text| text.unwrap()).collect()
    };
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    let mut dump = format!(
        "-- A store of this schema, as `files.rs` filled it. Never edited: it stands for files that exist.\n\
         PRAGMA user_version = {};\nPRAGMA application_id = {};\n\n",
        pragma("user_version"),
        pragma("application_id")
    );
    let schema =
        "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' AND type";
    for table in texts(&format!("{schema} = 'table' ORDER BY name")) {
        write!(dump, "{table}\n\n").unwrap();
    }
    for table in
        texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    {
        let columns = texts(&format!("SELECT 'quote(' || name || ')' FROM pragma_table_info('{table}')"));
        for row in texts(&format!("SELECT {} FROM {table}", columns.join(" || ', ' || "))) {
            writeln!(dump, "INSERT INTO {table} VALUES ({row});").unwrap();
        }
    }
    for rest in texts(&format!("{schema} != 'table' ORDER BY name")) {
        write!(dump, "\n{rest}\n").unwrap();
    }
    dump
}

/// SQLite alone would commit to a file that nobody finds again.
#[tokio::test]
async fn open_file_gone_or_cut_is_unavailable_until_back() {
    let folder = tempfile::tempdir().unwrap();
    let (alice, file, away) = (Owner::new("alice"), path(&folder), folder.path().join("away.db"));
    // Its pages are in the file, not in the log.
    write_fixture(&Sqlite::open(&file, &Options::default()).unwrap()).await;
    let mut store = Sqlite::open(&file, &Options::default()).unwrap();
    let unavailable = async |store: &Sqlite, why: &str| {
        let write = store.conversation_create(&alice, "later", vec![], vec![]).await.err();
        let read = store.response(&alice, "b", Budget::default()).await.err();
        for error in [write, read] {
            assert!(
                matches!(&error, Some(StoreError::Unavailable(text)) if text.contains(why)),
                "{why}: {error:?}"
            );
        }
    };
    fs::rename(&file, &away).unwrap();
    unavailable(&store, "No such file").await;
    fs::copy(&away, &file).unwrap();
    unavailable(&store, "replaced by another file").await;
    fs::rename(&away, &file).unwrap();
    assert!(store.response(&alice, "b", Budget::default()).await.is_ok());

    let whole = fs::read(&file).unwrap();
    for kept in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::File::options().write(true).open(&file).unwrap().set_len(kept as u64).unwrap();
        unavailable(&store, "it was cut").await;
        fs::write(&file, &whole).unwrap();
        // Its connections may have read what wasn't there.
        unavailable(&store, "it was cut").await;
        drop(store);
        store = Sqlite::open(&file, &Options::default()).unwrap();
        assert!(store.response(&alice, "b", Budget::default()).await.is_ok());
    }
    // And no sooner: what grows, shrinks and is checkpointed is no fault.
    for round in 0..3 {
        for number in 0..200 {
            let (id, ballast) = (format!("{round}-{number}"), vec![7; 20_000]);
            store.conversation_create(&alice, &id, ballast, vec![]).await.unwrap();
        }
        let all = store::Purge { owner: Some(alice.clone()), ..store::Purge::default() };
        store.purge(all).await.unwrap();
        while store.evict().await.unwrap() != store::Evicted::default() {}
        assert_eq!(store.stats().await.unwrap().conversations, 0);
    }
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}
