//! Stores in Postgres: `SLUICE_TEST_POSTGRES` names a database (`tests/postgres.sh` starts one), in which each
//! test has a schema of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use store::{Options, Postgres, PostgresOptions};

/// A schema of its own, for as long as a test runs.
pub(crate) struct Schema {
    url: String,
    name: String,
}

impl Schema {
    /// A new one; none where no database is named, which is said.
    pub(crate) fn new() -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Ok(url) = std::env::var("SLUICE_TEST_POSTGRES") else {
            eprintln!("skipped on Postgres: SLUICE_TEST_POSTGRES names no database (tests/postgres.sh)");
            return None;
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Some(Self { url, name: format!("test {} {number}", std::process::id()) })
    }

    pub(crate) fn open(&self, options: &Options) -> Postgres {
        self.open_at(&self.url, options)
    }

    /// Opens it by another way to the database.
    pub(crate) fn open_at(&self, url: &str, options: &Options) -> Postgres {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let options = PostgresOptions {
            host: options.host.clone(),
            bounds: options.bounds.clone(),
            clock: options.clock.clone(),
            schema: self.name.clone(),
            password: None,
            connections: 8,
            tls: Arc::new(tls),
        };
        Postgres::open(url, &options).unwrap()
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (url, sql) = (self.url.clone(), format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.name));
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (client, connection) =
                    tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
                tokio::spawn(connection);
                client.batch_execute(&sql).await.unwrap();
            });
        });
        dropped.join().unwrap();
    }
}
