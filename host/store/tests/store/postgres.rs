//! Stores in Postgres, and ways to it that are cut: `SLUICE_TEST_POSTGRES` names a database (`tests/postgres.sh` starts one), in which each
//! test has a schema of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use store::{OpenError, Options, Postgres, PostgresOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A schema of its own, for as long as a test runs.
pub(crate) struct Schema {
    url: String,
    /// The way to the database that stores take.
    way: String,
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
        Some(Self { way: url.clone(), url, name: format!("test {} {number}", std::process::id()) })
    }

    /// URL of its database.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The same by another way to the database.
    pub(crate) fn through(mut self, way: String) -> Self {
        self.way = way;
        self
    }

    pub(crate) fn open(&self, options: &Options) -> Postgres {
        self.try_open(options).unwrap()
    }

    fn try_open(&self, options: &Options) -> Result<Postgres, OpenError> {
        let options = PostgresOptions {
            host: options.host.clone(),
            bounds: options.bounds.clone(),
            clock: options.clock.clone(),
            schema: self.name.clone(),
            password: None,
            connections: 8,
            is_limited: true,
            tls: None,
        };
        Postgres::open(&self.way, &options)
    }
}

/// URL of a pooler in front of the database that lends connections for a transaction; none where there
/// is none, which is said.
pub(crate) fn pooler() -> Option<String> {
    let pooler = std::env::var("SLUICE_TEST_PGBOUNCER").ok();
    if pooler.is_none() {
        eprintln!("skipped: SLUICE_TEST_PGBOUNCER names no pooler (tests/postgres.sh)");
    }
    pooler
}

impl Schema {
    /// Runs statements in its database, in which `SCHEMA_NAME` is its name.
    fn run(&self, sql: &str) {
        let (url, sql) = (self.url.clone(), sql.replace("SCHEMA_NAME", &format!("\"{}\"", self.name)));
        let done = std::thread::spawn(move || {
            runtime().block_on(async {
                let (client, connection) =
                    tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
                tokio::select! {
                    done = client.batch_execute(&sql) => done.unwrap(),
                    ended = connection => panic!("{ended:?}"),
                }
            });
        });
        done.join().unwrap();
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.run("DROP SCHEMA IF EXISTS SCHEMA_NAME CASCADE");
    }
}

#[test]
fn schemas_of_later_versions_are_used_as_far_as_they_say() {
    let Some(schema) = Schema::new() else { return };
    let open = || schema.try_open(&Options::default());
    let versions = |opened: Result<Postgres, OpenError>| {
        opened.map(|store| (store.schema().before, store.schema().now)).map_err(|error| error.to_string())
    };
    let newest = std::fs::read_dir("migrations/postgres").unwrap().count();
    assert_eq!([versions(open()), versions(open())], [Ok((0, newest)), Ok((newest, newest))]);
    schema.run("UPDATE SCHEMA_NAME.schema SET version = 9");
    assert_eq!(versions(open()), Ok((9, 9)));
    schema.run("UPDATE SCHEMA_NAME.schema SET readable_since = 8");
    let refused = versions(open()).unwrap_err();
    assert!(refused.contains("it has schema 9, which versions that know schema 8 read"), "{refused}");
    schema.run("DROP TABLE SCHEMA_NAME.schema");
    let refused = versions(open()).unwrap_err();
    assert!(refused.contains("has other tables than a store's; give another database"), "{refused}");
}

#[test]
fn hosts_that_start_at_once_make_the_tables_once() {
    let Some(schema) = Schema::new() else { return };
    std::thread::scope(|scope| {
        let opened = [(); 6].map(|()| scope.spawn(|| schema.open(&Options::default()).schema()));
        let made = opened.map(|opened| opened.join().unwrap().before);
        assert_eq!(made.iter().filter(|before| **before == 0).count(), 1, "{made:?}");
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A way to a database that is cut at every fifth commit: in turns before Postgres gets it, and behind
/// its answer, which nobody sees.
pub(crate) struct CutWay {
    url: String,
    commits: Arc<AtomicU64>,
}

/// One commit of so many is cut.
const CUT: u64 = 5;

impl CutWay {
    pub(crate) fn new(url: &str) -> Self {
        let config: tokio_postgres::Config = url.parse().unwrap();
        let [tokio_postgres::config::Host::Tcp(host)] = config.get_hosts() else {
            panic!("{url} has one host")
        };
        let target = (host.clone(), config.get_ports()[0]);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let commits = Arc::<AtomicU64>::default();
        let counted = commits.clone();
        // On a thread of its own: opening a store blocks the test's.
        std::thread::spawn(move || {
            runtime().block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let mut ways = JoinSet::new();
                while let Ok((client, _)) = listener.accept().await {
                    let server = TcpStream::connect(target.clone()).await.unwrap();
                    ways.spawn(pass(client, server, counted.clone()));
                }
            });
        });
        let (user, dbname) = (config.get_user().unwrap(), config.get_dbname().unwrap());
        Self { url: format!("postgres://{user}@127.0.0.1:{port}/{dbname}"), commits }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// Commits that were cut so far.
    pub(crate) fn cuts(&self) -> u64 {
        self.commits.load(Ordering::Relaxed) / CUT
    }
}

/// Passes what two sides write, message by message of the client's, until a commit is cut.
async fn pass(mut client: TcpStream, mut server: TcpStream, commits: Arc<AtomicU64>) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    // The first message has no kind.
    let length = client.read_u32().await?;
    let mut message = length.to_be_bytes().to_vec();
    message.resize(length as usize, 0);
    client.read_exact(&mut message[4..]).await?;
    server.write_all(&message).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        loop {
            let kind = from_client.read_u8().await?;
            let length = from_client.read_u32().await?;
            let mut message = vec![kind];
            message.extend(length.to_be_bytes());
            message.resize(1 + length as usize, 0);
            from_client.read_exact(&mut message[5..]).await?;
            let is_commit = kind == b'Q' && message[5..].starts_with(b"COMMIT");
            let number = if is_commit { commits.fetch_add(1, Ordering::Relaxed) + 1 } else { 1 };
            if number % CUT != 0 {
                to_server.write_all(&message).await?;
            } else {
                let is_made = (number / CUT).is_multiple_of(2);
                return Ok::<_, std::io::Error>(is_made.then_some(message));
            }
        }
    };
    let down = tokio::io::copy(&mut from_server, &mut to_client);
    let commit = tokio::select! {
        commit = up => commit?,
        passed = down => return passed.map(|_| ()),
    };
    if let Some(commit) = commit {
        to_server.write_all(&commit).await?;
        from_server.read_u8().await?;
    }
    Ok(())
}
