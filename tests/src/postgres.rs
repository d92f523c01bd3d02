//! Databases of the Postgres server that `SLUICE_TEST_POSTGRES` names (`tests/postgres.sh` starts one).

use std::sync::atomic::{AtomicU64, Ordering};

use tokio_postgres::{Config, NoTls};

/// A database of its own, for as long as a test runs.
pub struct Database {
    server: String,
    name: String,
    /// Folder of the key that its hosts seal with.
    folder: tempfile::TempDir,
}

impl Database {
    /// A new one; none where no server is named, which is said.
    ///
    /// # Panics
    /// If the server that is named can't make one.
    pub fn new() -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Ok(server) = std::env::var("SLUICE_TEST_POSTGRES") else {
            eprintln!("skipped: SLUICE_TEST_POSTGRES names no database (tests/postgres.sh)");
            return None;
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let database = Self { server, name: format!("test_{}_{number}", std::process::id()), folder };
        Self::asked(&database.server, &format!("CREATE DATABASE {}", database.name));
        Some(database)
    }

    /// Its URL, without a password.
    ///
    /// # Panics
    /// If the server's URL has no path.
    pub fn url(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').expect("a URL with a path");
        format!("{server}/{}", self.name)
    }

    /// The arguments of each of its hosts.
    ///
    /// # Panics
    /// If the server's URL has no path.
    pub fn arguments(&self) -> [String; 4] {
        let key = self.folder.path().join("seal.key").display().to_string();
        ["--store".to_owned(), self.url(), "--seal-key".to_owned(), key]
    }

    /// Runs statements in it.
    ///
    /// # Panics
    /// If it doesn't take them.
    pub fn run(&self, sql: &str) {
        Self::asked(&self.url(), sql);
    }

    /// Has a database run statements, on a connection and a thread of its own.
    fn asked(url: &str, sql: &str) {
        let (config, sql): (Config, _) = (url.parse().expect("a URL"), sql.to_owned());
        let asked = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let (client, connection) = config.connect(NoTls).await?;
                tokio::select! {
                    done = client.batch_execute(&sql) => Ok(done?),
                    ended = connection => anyhow::bail!("the server ends the connection: {ended:?}"),
                }
            })
        });
        asked.join().expect("no panic").expect("the server does it");
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        Self::asked(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}
