//! What clients were told outlives the server: it is killed (SIGKILL) at random moments under fifty
//! clients, and started again.
//!
//! `SLUICE_SERVER_KILLS` says how often, and `SLUICE_EARLIER_HOST` names the binary of a version from which
//! a database is taken over while it serves.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use http::Request;
use http_body_util::Full;
use seeded::SplitMix64;
use serde_json::Value;
use store::{EndedResponse, ExportedRecord, Options, Sqlite, State, Status, Store};
use tests::client::{Answer, try_send};
use tests::postgres::Database;
use tests::process::ServerProcess;
use tests::tools::eventually;
use tokio::task::JoinSet;

use super::clients::{Client, Memory, Told, is_end, rules, text};

const CLIENTS: u64 = 50;
/// Things that clients are told before a kill, at most.
const MOST: u64 = 3000;
/// Kills of servers of one store; then a new one begins.
const KILLS_OF_A_STORE: u64 = 10;

fn start(file: &Path) -> ServerProcess {
    start_with(&["--store".to_owned(), format!("sqlite:{}", file.display())])
}

fn start_with(arguments: &[String]) -> ServerProcess {
    ServerProcess::start(&rules(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn kills(otherwise: u64) -> u64 {
    std::env::var("SLUICE_SERVER_KILLS").map_or(otherwise, |kills| kills.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_clients_were_told_outlives_kill_9() {
    let kills = kills(10);
    let mut random = SplitMix64::new(std::process::id().into());
    let mut tally = Tally::default();
    let mut folder = tempfile::tempdir().unwrap();
    let mut server = start(&folder.path().join("state.db"));
    for kill in 1..=kills {
        let told = killed_under_load(server, 1 + random.draw() % MOST, &mut random).await;
        let file = folder.path().join("state.db");
        check_store(&file).await;
        server = start(&file);
        for (id, told) in &told {
            tally.add(&check(&server, id, told).await, told);
        }
        if kill % KILLS_OF_A_STORE == 0 {
            println!("{kill} kills: {tally:?}");
            drop(server);
            check_store(&file).await;
            folder = tempfile::tempdir().unwrap();
            server = start(&folder.path().join("state.db"));
        }
    }
    assert!(tally.told_of_the_end > 0 && tally.events > 0, "{tally:?}");
}

/// The hosts of one database are killed one after the other. The one that is left ends what ran, once the
/// leases have ended, and runs what waited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_clients_were_told_outlives_each_of_the_hosts() {
    let Some(database) = Database::new() else { return };
    let mut random = SplitMix64::new(std::process::id().into());
    let mut tally = Tally::default();
    let mut left = start_with(&database.arguments());
    for _ in 0..kills(2).div_ceil(2) {
        let server = std::mem::replace(&mut left, start_with(&database.arguments()));
        let load = Load::begin(&server, 1 + random.draw() % MOST, &mut random);
        load.told_of_an_end().await;
        drop(server);
        for (id, told) in &load.told().await {
            tally.add(&check(&left, id, told).await, told);
        }
    }
    println!("{tally:?}");
    assert!(tally.told_of_the_end > 0 && tally.events > 0, "{tally:?}");
    let checked = std::process::Command::new(tests::process::binary())
        .args(["store", "check", "--store", &database.url()])
        .output();
    assert!(checked.as_ref().is_ok_and(|output| output.status.success()), "{checked:?}");
}

/// An earlier version serves while this one brings the database to its schema and serves beside it, and then
/// is killed: no client was told anything that isn't there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_clients_were_told_outlives_an_upgrade() {
    let Some(earlier) = std::env::var_os("SLUICE_EARLIER_HOST") else {
        return eprintln!("skipped: SLUICE_EARLIER_HOST names no binary of an earlier version");
    };
    let Some(database) = Database::new() else { return };
    let mut random = SplitMix64::new(std::process::id().into());
    let arguments = database.arguments();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let old = ServerProcess::start_binary(earlier.as_ref(), &rules(), &arguments);
    let of_the_old = Load::begin(&old, MOST, &mut random);
    let new = tokio::task::block_in_place(|| start_with(&database.arguments()));
    let of_the_new = Load::begin(&new, MOST, &mut random);
    of_the_old.told_of_an_end().await;
    of_the_new.told_of_an_end().await;
    drop(old);
    let mut tally = Tally::default();
    let last = tokio::task::block_in_place(|| start_with(&database.arguments()));
    let told = of_the_old.told().await;
    drop(new);
    for (id, told) in told.into_iter().chain(of_the_new.told().await) {
        tally.add(&check(&last, &id, &told).await, &told);
    }
    println!("{tally:?}");
    assert!(tally.told_of_the_end > 0 && tally.events > 0, "{tally:?}");
}

/// What the tests have seen.
#[derive(Debug, Default)]
struct Tally {
    responses: u64,
    events: u64,
    told_of_the_end: u64,
    ended_unseen: u64,
    lost_and_failed: u64,
}

impl Tally {
    fn add(&mut self, status: &str, told: &Told) {
        self.responses += 1;
        self.events += told.events.len() as u64;
        match (&told.ended, status) {
            (Some(_), _) => self.told_of_the_end += 1,
            (None, "failed") => self.lost_and_failed += 1,
            (None, _) => self.ended_unseen += 1,
        }
    }
}

/// Kills a server after its clients were told so many things. Returns all that they were told.
async fn killed_under_load(
    server: ServerProcess,
    after: u64,
    random: &mut SplitMix64,
) -> Vec<(String, Told)> {
    let load = Load::begin(&server, after, random);
    load.memory.enough.notified().await;
    drop(server);
    load.told().await
}

/// The clients of a server.
struct Load {
    memory: Arc<Memory>,
    clients: JoinSet<()>,
}

impl Load {
    /// Clients who have had `enough` once they were told so many things.
    fn begin(server: &ServerProcess, enough: u64, random: &mut SplitMix64) -> Self {
        let memory = Arc::new(Memory::default());
        let left = Arc::new(AtomicU64::new(enough));
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let client = Client {
                address: server.address,
                memory: Arc::clone(&memory),
                random: SplitMix64::new(random.draw()),
                left: Arc::clone(&left),
            };
            clients.spawn(client.run());
        }
        Self { memory, clients }
    }

    /// Waits until they have had enough, and one was told that its response has ended.
    async fn told_of_an_end(&self) {
        self.memory.enough.notified().await;
        let is_told = || self.memory.told().values().any(|told| told.ended.is_some());
        eventually("somebody is told of an end", async || is_told()).await;
    }

    /// All that they were told, once their server is gone.
    async fn told(self) -> Vec<(String, Told)> {
        self.clients.join_all().await;
        self.memory.told().drain().collect()
    }
}

/// Checks a store that no server has open: what it promises holds, and no response that completed
/// is half of one.
async fn check_store(file: &Path) {
    let store = Sqlite::open(file, &Options::default()).unwrap();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let mut after = 0;
    while let Some((number, record)) = store.export(None, after).await.unwrap() {
        after = number;
        let ExportedRecord::Response(_, response, input) = record else {
            panic!("nobody made anything else")
        };
        assert_eq!(input.len(), 1);
        if let State::Ended(EndedResponse { status: Status::Completed, output, .. }) = response.state {
            let item: Value = serde_json::from_slice(&output[0].body).unwrap();
            let asked: Value = serde_json::from_slice(&input[0].body).unwrap();
            let asked = asked["content"][0]["text"].as_str().unwrap().to_owned();
            assert_eq!((output.len(), &item["content"][0]["text"]), (1, &Value::from(text(&asked))));
        }
    }
}

/// Checks a response on the server that came after the one that told of it. Returns its status.
async fn check(server: &ServerProcess, id: &str, told: &Told) -> String {
    let path = format!("/v1/responses/{id}");
    let numbered =
        |events: &[Value]| events.iter().zip(0_u64..).all(|(event, n)| event["sequence_number"] == n);
    assert!(numbered(&told.events), "{id}: {told:?}");
    if told.background {
        // To its end: one that waited runs now.
        let answer = get(server, &format!("{path}?stream=true&include_obfuscation=false")).await;
        let log = answer.events();
        assert!(numbered(&log) && answer.body.ends_with(b"data: [DONE]\n\n"), "{id}: {log:?}");
        assert!(log.starts_with(&told.events), "{id}: {told:?} {log:?}");
        let ends = log.iter().filter(|event| event["response"]["status"].as_str().is_some_and(is_end));
        let ends: Vec<_> = ends.map(|event| &event["response"]).collect();
        assert_eq!(ends, [&get(server, &path).await.json()], "{id}");
    }
    let response = ended(server, &path).await;
    let status = response["status"].as_str().unwrap().to_owned();
    if let Some(ended) = &told.ended {
        assert_eq!(&response, ended);
    }
    match &*status {
        "completed" => assert_eq!(response["output"][0]["content"][0]["text"], text(told.input)),
        "failed" => {
            assert_eq!((&response["error"]["code"], &told.ended), (&Value::from("server_error"), &None));
        }
        "cancelled" => assert!(told.background),
        _ => panic!("{id}: {response}"),
    }
    status
}

/// What a server answers, which must be there.
async fn get(server: &ServerProcess, path: &str) -> Answer {
    let request = Request::get(path).header("host", "localhost").body(Full::default()).unwrap();
    let asked = Instant::now();
    let answer = try_send(server.address, request).await;
    let answer = answer.unwrap_or_else(|error| {
        panic!(
            "{path} after {:?}: {error:#}; the server: {}\n{}",
            asked.elapsed(),
            server.state(),
            server.log()
        )
    });
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer
}

/// The response once it has ended: one whose server was lost is ended as soon as the next one has
/// begun.
async fn ended(server: &ServerProcess, path: &str) -> Value {
    let mut response = Value::Null;
    eventually("the new server ends it", async || {
        response = get(server, path).await.json();
        response["status"].as_str().is_some_and(is_end)
    })
    .await;
    response
}
