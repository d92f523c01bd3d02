//! Opens the file: its lock, its mode, the database's settings and migrations. One process owns a file; of others, the second is refused.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::Synchronous;
use crate::OpenError;

/// Migration N brings a database of schema N-1 to schema N. A released one is never edited.
pub(crate) const MIGRATIONS: [&str; 2] =
    [include_str!("../../migrations/001.sql"), include_str!("../../migrations/002.sql")];

/// Marks a file as ours: "Slui".
const APPLICATION: i64 = 0x536c_7569;
const STATEMENTS: usize = 128;

/// Creates file and folder if they don't exist, for their user alone, and takes the lock. Returns it with the file's one true path: a second
/// link to the file has the same lock.
pub(crate) fn lock(path: &Path) -> Result<(File, PathBuf), OpenError> {
    let fail = |why: String| OpenError { file: path.display().to_string(), why };
    let io = |e: std::io::Error| fail(format!("{e}; give a file in a folder that this user may write to"));
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty() && !f.exists()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
    }
    let file = private(path).map_err(io)?;
    let path = path.canonicalize().map_err(io)?;
    let mut name = path.clone().into_os_string();
    name.push(".lock");
    let lock = private(Path::new(&name)).map_err(io)?;
    lock.try_lock().map_err(|e| match e {
        TryLockError::WouldBlock => {
            fail("another process has it open; stop that one, or give each a file of its own".to_owned())
        }
        TryLockError::Error(e) => io(e),
    })?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(io)?;
    Ok((lock, path))
}

fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

/// The writer's connection, migrated. Without a path: a database in memory.
pub(crate) fn writer(path: Option<&PathBuf>, sync: Synchronous) -> Result<Connection, OpenError> {
    let file = path.map_or_else(|| "memory".to_owned(), |p| p.display().to_string());
    let fail = |why: String| OpenError { file: file.clone(), why };
    let connection = connect(path).map_err(|e| fail(e.to_string()))?;
    let settings = || -> rusqlite::Result<()> {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", sync.pragma())?;
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        connection.pragma_update(None, "secure_delete", "FAST")
    };
    settings().map_err(|e| fail(format!("{e}; give a file that isn't something else's")))?;
    migrate(&connection).map_err(fail)?;
    Ok(connection)
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
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Brings the database to the newest schema, in one transaction that keeps everybody else out.
fn migrate(connection: &Connection) -> Result<(), String> {
    let newest = MIGRATIONS.len();
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let steps = || -> rusqlite::Result<Result<(), String>> {
        connection.execute_batch("BEGIN EXCLUSIVE")?;
        let version = usize::try_from(number("user_version")?).unwrap_or(usize::MAX);
        let tables: i64 = connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 && number("application_id")? != APPLICATION {
            return Ok(Err("it is another program's database; give another file".to_owned()));
        }
        if version > newest {
            return Ok(Err(format!(
                "it has schema {version}, and this version knows schemas up to {newest}; use the version that wrote it, or another file"
            )));
        }
        for (index, migration) in MIGRATIONS.iter().enumerate().skip(version) {
            connection.execute_batch(migration)?;
            connection.pragma_update(None, "user_version", index + 1)?;
        }
        connection.pragma_update(None, "application_id", APPLICATION)?;
        // Runs of an earlier process are lost: whoever sweeps takes them over at once.
        connection.execute("UPDATE response SET lease = 0 WHERE ended IS NULL AND lease > 0", [])?;
        connection.execute_batch("COMMIT")?;
        Ok(Ok(()))
    };
    steps().map_err(|e| e.to_string())?
}
