//! Opens the file: its lock, its mode, the database's settings and migrations. One process owns a
//! file; of others, the second is refused.

use std::fmt::Display;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::Synchronous;
use crate::clock::Moment;
use crate::{OpenCause, OpenError, SchemaVersions};

/// Migration N brings a database of schema N-1 to schema N. A released one is never edited.
pub(crate) const MIGRATIONS: [&str; 5] = [
    include_str!("../../migrations/sqlite/001.sql"),
    include_str!("../../migrations/sqlite/002.sql"),
    include_str!("../../migrations/sqlite/003.sql"),
    include_str!("../../migrations/sqlite/004.sql"),
    include_str!("../../migrations/sqlite/005.sql"),
];

/// Marks a file as ours: "Slui".
const APPLICATION: usize = 0x536c_7569;
const STATEMENTS: usize = 256;
/// Time that a connection waits for another one's lock.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// The locks of a file: of itself, which all links to it share, and of a file beside it, which
/// holds where the file is replaced, and against versions that know no other.
pub(crate) type Locks = [File; 2];

/// Creates file and folder if they don't exist, for their user alone, and takes the locks. Returns
/// them with the file's one true path.
pub(crate) fn lock(path: &Path) -> Result<(Locks, PathBuf), OpenError> {
    let shown = &path.display();
    let io = |e: std::io::Error| {
        let why = format!("{e}; give a file in a folder that this user may write to");
        OpenError::new(OpenCause::Unreachable, shown, why)
    };
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty() && !f.exists()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
    }
    let file = private(path).map_err(io)?;
    let real = path.canonicalize().map_err(io)?;
    let locks = [private(&lock_file(&real)).map_err(io)?, file];
    for lock in &locks {
        lock.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => {
                let why = "another process has it open; stop that one, or give each a file of its own";
                OpenError::new(OpenCause::InUse, shown, why)
            }
            TryLockError::Error(e) => io(e),
        })?;
    }
    locks[1].set_permissions(Permissions::from_mode(0o600)).map_err(io)?;
    Ok((locks, real))
}

/// Path of the lock of a file.
fn lock_file(real: &Path) -> PathBuf {
    let mut name = real.to_owned().into_os_string();
    name.push(".lock");
    name.into()
}

/// Whether a process has the store in this file open. Nothing is made or changed.
pub fn is_in_use(path: &Path) -> bool {
    let lock = path.canonicalize().and_then(|real| File::open(lock_file(&real)));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

/// The writer's connection, migrated. Without a path: a database in memory.
pub(crate) fn writer(
    path: Option<&PathBuf>,
    sync: Synchronous,
    now: Moment,
) -> Result<(Connection, SchemaVersions), OpenError> {
    let file = path.map_or_else(|| "memory".to_owned(), |p| p.display().to_string());
    let fail = |e: rusqlite::Error| OpenError::sqlite(&file, &e);
    let connection = connect(path).map_err(fail)?;
    let settings = || -> rusqlite::Result<()> {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", sync.pragma())?;
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        connection.pragma_update(None, "secure_delete", "FAST")
    };
    settings().map_err(fail)?;
    let migrated = migrate(&connection, now).map_err(fail)?;
    let schema = migrated.map_err(|why| OpenError::new(OpenCause::Content, &file, why))?;
    Ok((connection, schema))
}

/// A reader's connection.
pub(crate) fn reader(path: &PathBuf) -> rusqlite::Result<Connection> {
    let connection = connect(Some(path))?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn connect(path: Option<&PathBuf>) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match path {
        Some(path) => Connection::open_with_flags(path, flags)?,
        None => Connection::open_in_memory()?,
    };
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Why a database isn't a store that this version knows; none if it is one, or is empty.
fn foreign(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let newest = MIGRATIONS.len();
    let version = number(connection, "user_version")?;
    let tables: i64 = connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables > 0 && number(connection, "application_id")? != APPLICATION {
        return Ok(Some("it is another program's database; give another file".to_owned()));
    }
    Ok((version > newest).then(|| {
        format!(
            "it has schema {version}, and this version knows schemas up to {newest}; use the version that wrote it, or another file"
        )
    }))
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<usize> {
    let number = connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))?;
    Ok(usize::try_from(number).unwrap_or(usize::MAX))
}

/// Brings the database to the newest schema, ends all leases and forgets all hosts, in one transaction that keeps
/// everybody else out.
fn migrate(connection: &Connection, now: Moment) -> rusqlite::Result<Result<SchemaVersions, String>> {
    connection.execute_batch("BEGIN EXCLUSIVE")?;
    if let Some(why) = foreign(connection)? {
        return Ok(Err(why));
    }
    let before = number(connection, "user_version")?;
    for (index, migration) in MIGRATIONS.iter().enumerate().skip(before) {
        connection.execute_batch(migration)?;
        connection.pragma_update(None, "user_version", index + 1)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION)?;
    // Runs of an earlier process are lost: whoever sweeps takes them over at once. What it served,
    // this one or the next may serve.
    connection.execute("UPDATE response SET lease = 0 WHERE ended IS NULL AND lease > 0", [])?;
    connection.execute("UPDATE served SET seen = ?", [now.passed])?;
    connection.execute("DELETE FROM host", [])?;
    connection.execute_batch("COMMIT")?;
    Ok(Ok(SchemaVersions { before, now: MIGRATIONS.len() }))
}

/// Copies the store in `file` to a new file `to` of mode 0600, in one consistent state. Another
/// process may have the store open and go on writing.
///
/// # Errors
/// `file` is no store, or `to` exists or can't be written. Then `to` isn't made.
pub fn backup(file: &Path, to: &Path) -> Result<(), OpenError> {
    let fail = |e: rusqlite::Error| OpenError::sqlite(file.display(), &e);
    // The file must not be made by being looked at.
    let source = connect(Some(&file.to_owned())).map_err(fail)?;
    if number(&source, "application_id").map_err(fail)? != APPLICATION {
        return Err(OpenError::new(OpenCause::Content, file.display(), "it is no store"));
    }
    let unreachable = |e: &dyn Display| OpenError::new(OpenCause::Unreachable, to.display(), e);
    let name = to.to_str().ok_or_else(|| unreachable(&"its name isn't UTF-8"))?;
    let created = OpenOptions::new().create_new(true).write(true).mode(0o600).open(to);
    created.map_err(|e| unreachable(&e))?;
    // SQLite takes an empty file, which keeps its mode.
    source.execute("VACUUM INTO ?", [name]).map(|_| ()).map_err(|e| {
        let _ = std::fs::remove_file(to);
        OpenError::sqlite(to.display(), &e)
    })
}
