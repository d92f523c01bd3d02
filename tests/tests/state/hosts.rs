//! Two hosts and one Postgres: whichever of them a client comes to, it finds the same.

#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use serde_json::{Value, json};
use tests::client::{Answer, answered, get, json_request, metric, open, post, send};
use tests::postgres::Database;
use tests::process::ServerProcess;
use tests::tools::eventually;

use super::durability::clients::{rules, text};

/// The hosts of a new database, if there is a server for it. They end before it does.
struct Hosts {
    hosts: [ServerProcess; 2],
    database: Database,
}

fn start(database: &Database) -> ServerProcess {
    start_with(&database.arguments())
}

fn start_with(arguments: &[String]) -> ServerProcess {
    let mut rules = rules();
    let for_ever = json!({ "when": { "last_user_contains": "for ever" }, "text": "Once", "finish": "hang" });
    rules.as_array_mut().unwrap().insert(0, for_ever);
    ServerProcess::start(&rules, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

impl Hosts {
    fn new() -> Option<Self> {
        let database = Database::new()?;
        Some(Self { hosts: [start(&database), start(&database)], database })
    }

    async fn respond(&self, host: usize, more: Value) -> Value {
        let mut body = json!({ "model": "bench", "input": "short", "reasoning": { "effort": "none" } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answered(self.hosts[host].address, "/v1/responses", &body).await
    }

    async fn get(&self, host: usize, path: &str) -> Answer {
        get(self.hosts[host].address, path).await
    }

    async fn delete(&self, host: usize, path: &str) -> u16 {
        let mut request = json_request(path, "");
        *request.method_mut() = http::Method::DELETE;
        send(self.hosts[host].address, request).await.status.as_u16()
    }
}

fn path(response: &Value) -> String {
    format!("/v1/responses/{}", response["id"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_host_keeps_the_other_has() {
    let Some(hosts) = Hosts::new() else { return };
    let first = hosts.respond(0, json!({})).await;
    assert_eq!(hosts.get(1, &path(&first)).await.json(), first);
    let second = hosts.respond(1, json!({ "previous_response_id": first["id"] })).await;
    let items = hosts.get(0, &format!("{}/input_items", path(&second))).await.json();
    assert_eq!(items["data"].as_array().map(Vec::len), Some(3));

    let conversation = answered(hosts.hosts[0].address, "/v1/conversations", &json!({})).await;
    for host in [1, 0, 1] {
        hosts.respond(host, json!({ "conversation": conversation["id"] })).await;
    }
    let items = format!("/v1/conversations/{}/items", conversation["id"].as_str().unwrap());
    for host in [0, 1] {
        assert_eq!(hosts.get(host, &items).await.json()["data"].as_array().map(Vec::len), Some(6));
    }

    let messages = json!([{ "role": "user", "content": "short" }]);
    let chat = json!({ "model": "bench", "messages": messages, "store": true });
    let completion = answered(hosts.hosts[1].address, "/v1/chat/completions", &chat).await;
    assert_eq!(hosts.get(0, "/v1/chat/completions").await.json()["data"][0]["id"], completion["id"]);

    assert_eq!(hosts.delete(1, &path(&first)).await, 200);
    assert_eq!(hosts.get(0, &path(&first)).await.status, 404);
    // What continues it stays.
    assert_eq!(hosts.get(0, &path(&second)).await.json(), second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_response_is_followed_and_cancelled_at_any_host() {
    let Some(hosts) = Hosts::new() else { return };
    let background = |input: &str| json!({ "input": input, "background": true });
    for asked in [0, 1] {
        let queued = hosts.respond(asked, background("long")).await;
        let stream = format!("{}?stream=true&include_obfuscation=false", path(&queued));
        let (here, there) = tokio::join!(hosts.get(0, &stream), hosts.get(1, &stream));
        assert_eq!(here.events(), there.events());
        let end = &here.events().pop().unwrap()["response"];
        assert_eq!(end["output"][0]["content"][0]["text"], text("long"));
        assert_eq!(*end, hosts.get(1 - asked, &path(&queued)).await.json());
    }
    for at in [0, 1] {
        let queued = hosts.respond(0, background("long")).await;
        eventually("it runs", async || hosts.get(at, &path(&queued)).await.json()["status"] == "in_progress")
            .await;
        let cancel = format!("{}/cancel", path(&queued));
        let cancelled = post(hosts.hosts[at].address, &cancel, &json!({})).await.json();
        assert_eq!(cancelled["status"], "cancelled");
        // Whoever ran it has stopped, and writes nothing more.
        let stream = format!("{}?stream=true&include_obfuscation=false", path(&queued));
        let (here, there) = tokio::join!(hosts.get(0, &stream), hosts.get(1, &stream));
        assert_eq!(here.events(), there.events());
        assert_eq!(here.events().pop().unwrap()["response"], hosts.get(1 - at, &path(&queued)).await.json());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_response_of_a_conversation_runs_whichever_host_is_asked() {
    let Some(hosts) = Hosts::new() else { return };
    let conversation = answered(hosts.hosts[0].address, "/v1/conversations", &json!({})).await;
    let body = |input: &str| json!({ "model": "bench", "input": input, "conversation": conversation["id"], "reasoning": { "effort": "none" } });
    let mut long = body("long");
    long["stream"] = true.into();
    let mut running = open(hosts.hosts[0].address, json_request("/v1/responses", long.to_string())).await;
    assert!(running.next().await.is_some());
    let refused = post(hosts.hosts[1].address, "/v1/responses", &body("short")).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["error"]["code"]),
        (400, &json!("conversation_locked"))
    );
    while running.next().await.is_some() {}
    let next = post(hosts.hosts[1].address, "/v1/responses", &body("short")).await;
    assert_eq!(next.status, 200);
}

/// A host that stalls for longer than a lease finds its response ended by the other one when it goes on,
/// and writes nothing to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_that_stalled_writes_nothing_behind_the_one_that_took_over() {
    let Some(database) = Database::new() else { return };
    let start = || start(&database);
    let stalled = start();
    let body = json!({ "model": "bench", "input": "for ever", "background": true });
    let path = path(&answered(stalled.address, "/v1/responses", &body).await);
    let status = async |host: &ServerProcess| get(host.address, &path).await.json()["status"].clone();
    eventually("it runs", async || status(&stalled).await == "in_progress").await;
    let other = start();
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill").args([name, &stalled.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    signal("-STOP");
    eventually("its lease ends", async || status(&other).await == "failed").await;
    let stream = format!("{path}?stream=true&include_obfuscation=false");
    let log = get(other.address, &stream).await.events();
    signal("-CONT");
    let streams = "sluice_streams{model_name=\"bench\"}";
    eventually("it stops", async || metric(stalled.address, streams).await < 1.0).await;
    for host in [&stalled, &other] {
        assert_eq!(get(host.address, &stream).await.events(), log);
        assert_eq!(get(host.address, &path).await.json(), log.last().unwrap()["response"]);
    }
}

/// A server that seals with a key of its own isn't let in beside one that lives; after a crash it waits until
/// that one can't be there any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_with_another_seal_key_is_refused_while_the_other_one_is_there() {
    let Some(database) = Database::new() else { return };
    let other_key = tempfile::tempdir().unwrap();
    let mut arguments = database.arguments();
    arguments[3] = other_key.path().join("seal.key").display().to_string();
    let lives = start(&database);
    let refused = std::process::Command::new(tests::process::binary())
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(&arguments)
        .output()
        .unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let last = said.lines().last().unwrap();
    let expected = format!("(process {}) shares this store and has other keys", lives.id());
    assert!(last.contains("--seal-key: ") && last.contains(&expected), "{said}");
    // Bounds that differ are said, and each evicts by its own.
    let bounds = [&database.arguments()[..], &["--store-days".to_owned(), "7".to_owned()]].concat();
    let unlike = start_with(&bounds);
    eventually("it is said", async || unlike.log().contains("--store-days 7 here, 30 there")).await;
    drop((lives, unlike));
    let after_the_crash = start_with(&arguments);
    let waited = "waiting whether it is still there";
    assert!(after_the_crash.log().contains(waited), "{}", after_the_crash.log());
    after_the_crash.stop();
    let next = start(&database);
    assert!(!next.log().contains(waited), "one that ends well is gone at once");
}

/// Refuses all new responses, as a full disk does.
const FULL: &str = "CREATE FUNCTION sluice.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
     RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$; \
     CREATE TRIGGER full_disk BEFORE INSERT ON sluice.response EXECUTE FUNCTION sluice.full()";

/// Lets nobody write who connects from then on, as a database does whose disk is nearly full, or everybody
/// again.
fn read_only(is_on: &str) -> String {
    format!(
        "BEGIN READ WRITE; DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = {is_on}', current_database()); END $$; COMMIT"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_that_cannot_write_refuses_what_must_be_stored_and_nothing_else() {
    let Some(database) = Database::new() else { return };
    let server = start(&database);
    let body = json!({ "model": "bench", "input": "short", "reasoning": { "effort": "none" } });
    let before = answered(server.address, "/v1/responses", &body).await;
    let mended = "DROP TRIGGER full_disk ON sluice.response".to_owned();
    for (fault, mend) in [(FULL.to_owned(), mended), (read_only("on"), read_only("off"))] {
        database.run(&fault);
        database.run(CUT);
        let refused = post(server.address, "/v1/responses", &body).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["error"]["code"]),
            (503, &json!("store_unavailable"))
        );
        assert_eq!(get(server.address, &path(&before)).await.json(), before);
        let mut unstored = body.clone();
        unstored["store"] = false.into();
        assert_eq!(answered(server.address, "/v1/responses", &unstored).await["status"], "completed");
        database.run(&mend);
        database.run(CUT);
        assert_eq!(answered(server.address, "/v1/responses", &body).await["status"], "completed");
    }
}

/// Ends all connections of servers.
const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sluice' AND datname = current_database()";
/// How often, for each response.
const CUTS: usize = 5;

/// Connections that are lost in the middle of answers, as by a restart of the database, cost none of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_outlive_the_connections_to_the_database() {
    let Some(hosts) = Hosts::new() else { return };
    let long = json!({ "input": "long", "background": true });
    let mut queued = Vec::new();
    for number in 0..8 {
        queued.push(hosts.respond(number % 2, long.clone()).await);
    }
    for response in &queued {
        // A few times while it runs or waits, at moments that nobody chooses.
        let (mut cuts, mut read) = (0, Value::Null);
        eventually("it ends", async || {
            cuts += 1;
            if cuts <= CUTS {
                hosts.database.run(CUT);
            }
            read = hosts.get(cuts % 2, &path(response)).await.json();
            matches!(read["status"].as_str(), Some("completed" | "failed"))
        })
        .await;
        assert_eq!(read["status"], "completed", "{read} {} {}", hosts.hosts[0].log(), hosts.hosts[1].log());
        let stream = format!("{}?stream=true&include_obfuscation=false", path(response));
        let events = hosts.get(0, &stream).await.events();
        assert!(events.iter().zip(0..).all(|(event, number)| event["sequence_number"] == number));
        assert_eq!(events.last().unwrap()["response"]["output"][0]["content"][0]["text"], text("long"));
    }
}
