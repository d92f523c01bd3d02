//! Random programs of two owners: create, chain, fork, converse, cancel, delete, resume, compact,
//! evict, restart. Whatever they did, what can be read is what was answered, the events of every
//! reader add up to it, and nobody sees another owner's.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use api::seal::Seal;
use http::Method;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use store::{Bounds, Options, Sqlite, Store, TimeSource};
use tests::client::Answer;
use tests::server::{Setup, TestServer};

use self::known::{Known, check_prompt, folded, id_of, output_texts, without_padding};
use self::steps::{How, Step, step};
use super::support::{ask, body, rules};

mod known;
mod steps;

const KEYS: [&str; 2] = ["key-a", "key-b"];

/// A server with its store, and what its answers must be.
struct World {
    folder: tempfile::TempDir,
    clock: TimeSource,
    seal: Seal,
    store: Option<Arc<dyn Store>>,
    server: Option<TestServer>,
    known: [BTreeMap<String, Known>; 2],
    conversations: [Option<(String, Vec<String>)>; 2],
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = TimeSource::manual(1_800_000_000_000);
        let mut world = Self {
            folder,
            clock,
            seal: Seal::random(),
            store: None,
            server: None,
            known: Default::default(),
            conversations: Default::default(),
        };
        world.start().await;
        world
    }

    async fn start(&mut self) {
        let bounds = Bounds { unused: Duration::from_hours(24), ..Bounds::default() };
        let options = Options { bounds, clock: self.clock.clone(), ..Options::default() };
        let file: &Path = &self.folder.path().join("state.db");
        let store: Arc<dyn Store> = Arc::new(Sqlite::open(file, &options).expect("it opens"));
        let keys = vec!["ada=key-a".to_owned(), "bob=key-b".to_owned()];
        let setup = Setup {
            keys,
            store: Some(Arc::clone(&store)),
            seal: self.seal.clone(),
            ..Setup::replay(self.folder.path(), &rules())
        };
        self.server = Some(TestServer::start(setup).await);
        self.store = Some(store);
    }

    async fn ask(&self, owner: usize, method: Method, path: &str, body: &Value) -> Answer {
        ask(self.server.as_ref().expect("it runs"), KEYS[owner], method, path, body).await
    }

    async fn get(&self, owner: usize, path: &str) -> Answer {
        self.ask(owner, Method::GET, path, &Value::Null).await
    }

    /// The id of one of the owner's responses.
    fn pick(&self, owner: usize, which: prop::sample::Index) -> Option<String> {
        let known = &self.known[owner];
        (!known.is_empty()).then(|| known.keys().nth(which.index(known.len())).cloned()).flatten()
    }

    async fn make(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Create { owner, parent, how, text } => {
                let parent = parent.and_then(|which| self.pick(*owner, which));
                self.create(*owner, parent, *how, text).await
            }
            Step::Converse { owner } => self.converse(*owner).await,
            Step::Cancel { owner, which } => self.cancel(*owner, self.pick(*owner, *which)).await,
            Step::Delete { owner, which, continued } => {
                let id = self.pick(*owner, *which);
                if *continued && id.is_some() {
                    self.create(*owner, id.clone(), How::Whole, "2+2?").await?;
                }
                self.delete(*owner, id).await
            }
            Step::Resume { owner, which, after } => {
                self.resume(*owner, self.pick(*owner, *which), *after).await
            }
            Step::Compact { owner, which } => self.compact(*owner, self.pick(*owner, *which)).await,
            Step::Evict => self.evict().await,
            Step::Restart => {
                self.server.take().expect("it runs").stop().await;
                self.store = None;
                self.start().await;
                Ok(())
            }
        }
    }

    async fn create(
        &mut self,
        owner: usize,
        parent: Option<String>,
        how: How,
        text: &str,
    ) -> Result<(), TestCaseError> {
        let more = json!({
            "previous_response_id": parent,
            "stream": how == How::Streamed,
            "background": how == How::Background,
            "enable_response_messages": true,
        });
        let answer = self.ask(owner, Method::POST, "/v1/responses", &body(text, &more)).await;
        let before = parent.as_ref().map(|parent| &self.known[owner][parent]);
        if before.is_some_and(|before| before.response["status"] == "failed") {
            prop_assert_eq!(answer.status, 400);
            return Ok(());
        }
        let mut texts = before.map(|before| before.texts.clone()).unwrap_or_default();
        prop_assert_eq!(answer.status, 200, "{:?}", answer.body);
        let response = match how {
            How::Whole => answer.json(),
            How::Streamed => folded(&answer.events())?,
            How::Background => {
                let id = id_of(&answer.json());
                let events = self.get(owner, &format!("/v1/responses/{id}?stream=true")).await.events();
                folded(&events)?
            }
        };
        let id = id_of(&response);
        let stored = self.get(owner, &format!("/v1/responses/{id}")).await.json();
        prop_assert_eq!(&stored, &response);
        texts.push(text.to_owned());
        check_prompt(&response, &texts)?;
        texts.extend(output_texts(&response));
        let background = how == How::Background;
        self.known[owner].insert(id, Known { response, texts, background });
        Ok(())
    }

    async fn converse(&mut self, owner: usize) -> Result<(), TestCaseError> {
        if self.conversations[owner].is_none() {
            let made = self.ask(owner, Method::POST, "/v1/conversations", &json!({})).await.json();
            self.conversations[owner] = Some((id_of(&made), Vec::new()));
        }
        let (id, mut said) = self.conversations[owner].clone().expect("there is one");
        let more = json!({ "conversation": id, "enable_response_messages": true });
        let response = self.ask(owner, Method::POST, "/v1/responses", &body("2+2?", &more)).await.json();
        prop_assert_eq!(&response["status"], "completed");
        said.push("2+2?".to_owned());
        check_prompt(&response, &said)?;
        said.extend(output_texts(&response));
        let path = format!("/v1/conversations/{id}/items?order=asc&limit=100");
        let items = self.get(owner, &path).await.json();
        let shown = super::support::texts(&items);
        prop_assert_eq!(&shown[..], &said[..said.len().min(100)]);
        self.conversations[owner] = Some((id, said));
        Ok(())
    }

    async fn cancel(&mut self, owner: usize, id: Option<String>) -> Result<(), TestCaseError> {
        let Some(id) = id else { return Ok(()) };
        let answer = self.ask(owner, Method::POST, &format!("/v1/responses/{id}/cancel"), &Value::Null).await;
        let known = &self.known[owner][&id];
        if known.background {
            prop_assert_eq!(&answer.json(), &known.response);
        } else {
            prop_assert_eq!(answer.status, 400);
        }
        // One that runs.
        let more = json!({ "background": true });
        let queued = self.ask(owner, Method::POST, "/v1/responses", &body("endless", &more)).await.json();
        let id = id_of(&queued);
        let path = format!("/v1/responses/{id}");
        let cancelled = self.ask(owner, Method::POST, &format!("{path}/cancel"), &Value::Null).await.json();
        prop_assert_eq!(&cancelled["status"], "cancelled");
        let events = self.get(owner, &format!("{path}?stream=true")).await.events();
        prop_assert_eq!(&folded(&events)?, &cancelled);
        let mut texts = vec!["endless".to_owned()];
        texts.extend(output_texts(&cancelled));
        self.known[owner].insert(id, Known { response: cancelled, texts, background: true });
        Ok(())
    }

    async fn delete(&mut self, owner: usize, id: Option<String>) -> Result<(), TestCaseError> {
        let Some(id) = id else { return Ok(()) };
        let path = format!("/v1/responses/{id}");
        prop_assert_eq!(self.ask(1 - owner, Method::DELETE, &path, &Value::Null).await.status, 404);
        prop_assert_eq!(self.ask(owner, Method::DELETE, &path, &Value::Null).await.status, 200);
        prop_assert_eq!(self.get(owner, &path).await.status, 404);
        self.known[owner].remove(&id);
        Ok(())
    }

    async fn compact(&mut self, owner: usize, id: Option<String>) -> Result<(), TestCaseError> {
        let Some(id) = id else { return Ok(()) };
        let path = "/v1/responses/compact";
        let more = json!({ "model": "qwen3-tiny", "previous_response_id": id });
        prop_assert_eq!(self.ask(1 - owner, Method::POST, path, &more).await.status, 400);
        let compacted = self.ask(owner, Method::POST, path, &more).await.json();
        let mut items = compacted["output"].as_array().cloned().unwrap_or_default();
        let last = items.last().map(|item| &item["type"]);
        prop_assert_eq!(last, Some(&json!("compaction")), "{}", compacted);
        items.push(json!({ "role": "user", "content": "2+2?" }));
        let mut texts = super::support::texts(&json!({ "data": &items[..items.len() - 1] }));
        prop_assert_eq!(&texts, &self.known[owner][&id].users());
        let more = json!({ "input": items, "enable_response_messages": true });
        let response = self.ask(owner, Method::POST, "/v1/responses", &body("", &more)).await.json();
        prop_assert_eq!(&response["status"], "completed", "{}", response);
        let shown = [texts.clone(), vec!["Task: sums.".to_owned(), "2+2?".to_owned()]].concat();
        check_prompt(&response, &shown)?;
        texts.push("2+2?".to_owned());
        texts.extend(output_texts(&response));
        self.known[owner].insert(id_of(&response), Known { response, texts, background: false });
        Ok(())
    }

    async fn resume(&self, owner: usize, id: Option<String>, after: u64) -> Result<(), TestCaseError> {
        let Some(id) = id else { return Ok(()) };
        let path = format!("/v1/responses/{id}?stream=true");
        let all = self.get(owner, &path).await;
        if !self.known[owner][&id].background {
            prop_assert_eq!(all.status, 400);
            return Ok(());
        }
        // A log goes an hour after the end.
        if all.status != 200 {
            prop_assert_eq!(&all.json()["error"]["code"], "events_expired");
            return Ok(());
        }
        let bare = |events: Vec<Value>| -> Vec<Value> { events.into_iter().map(without_padding).collect() };
        let all = bare(all.events());
        let rest = self.get(owner, &format!("{path}&starting_after={after}")).await.events();
        let from = usize::try_from(after + 1).expect("a length").min(all.len());
        prop_assert_eq!(&bare(rest)[..], &all[from..]);
        prop_assert_eq!(&folded(&all)?, &self.known[owner][&id].response);
        Ok(())
    }

    async fn evict(&mut self) -> Result<(), TestCaseError> {
        self.clock.advance(Duration::from_hours(30));
        let store = self.store.as_ref().expect("it is open");
        while store.evict().await.expect("it works") != store::Evicted::default() {}
        for owner in 0..KEYS.len() {
            for id in std::mem::take(&mut self.known[owner]).into_keys() {
                prop_assert_eq!(self.get(owner, &format!("/v1/responses/{id}")).await.status, 404);
            }
        }
        self.conversations = Default::default();
        Ok(())
    }

    /// Whatever was done, everything is as it was answered, for its owner alone.
    async fn check(&self) -> Result<(), TestCaseError> {
        for owner in 0..KEYS.len() {
            for (id, known) in &self.known[owner] {
                let path = format!("/v1/responses/{id}");
                prop_assert_eq!(&self.get(owner, &path).await.json(), &known.response);
                for rest in ["", "?stream=true", "/input_items", "/cancel"] {
                    let method = if rest == "/cancel" { Method::POST } else { Method::GET };
                    let other = async |path: &str| {
                        self.ask(1 - owner, method.clone(), &format!("{path}{rest}"), &Value::Null).await.body
                    };
                    prop_assert_eq!(other(&path).await, other("/v1/responses/resp_0").await, "{}", rest);
                }
                let items = self.get(owner, &format!("{path}/input_items?order=asc&limit=100")).await.json();
                let mut texts = super::support::texts(&items);
                texts.extend(output_texts(&known.response));
                prop_assert_eq!(&texts, &known.texts);
            }
        }
        let faults = self.store.as_ref().expect("it is open").check().await.expect("it works");
        prop_assert!(faults.is_empty(), "{:?}", faults);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 60, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn readable_is_what_was_answered_whatever_was_done(steps in vec(step(), 1..16)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let mut world = World::new().await;
            for step in &steps {
                world.make(step).await?;
            }
            world.check().await?;
            world.server.take().expect("it runs").stop().await;
            Ok::<(), TestCaseError>(())
        })?;
    }
}

/// A twelfth of the cases of other properties: each starts servers.
fn cases() -> u32 {
    ProptestConfig::default().cases / 12
}
