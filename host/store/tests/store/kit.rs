//! What tests share: all stores, short constructors, a clock that they set.

use std::path::PathBuf;

use crate::postgres::Schema;
use store::{
    Bounds, Budget, Chunk, End, Finished, Lease, Link, Needs, NewResponse, Options, Order, Owner, Page,
    Served, Sqlite, Status, Store, StoreError, StoredItem, TimeSource,
};

/// A store and what a test needs to drive it.
pub(crate) struct Kit {
    pub(crate) store: Box<dyn Store>,
    /// The same store as another host has it.
    pub(crate) beside: Box<dyn Store>,
    pub(crate) clock: TimeSource,
    pub(crate) owner: Owner,
    options: Options,
    place: Place,
}

/// Where a test's store is.
pub(crate) enum Place {
    Memory,
    File(tempfile::TempDir),
    Postgres(Schema),
}

/// Runs `test` on a store in a file, on one in memory, and on one in Postgres where there is one.
pub(crate) async fn each(bounds: Bounds, test: impl AsyncFn(&mut Kit)) {
    local(&bounds, &test).await;
    postgres(&bounds, &test).await;
}

/// Runs `test` on a store in a file and on one in memory.
pub(crate) async fn local(bounds: &Bounds, test: &impl AsyncFn(&mut Kit)) {
    on(Place::File(tempfile::tempdir().unwrap()), bounds, test).await;
    on(Place::Memory, bounds, test).await;
}

/// Runs `test` on a store in Postgres, where there is one.
pub(crate) async fn postgres(bounds: &Bounds, test: &impl AsyncFn(&mut Kit)) {
    if let Some(schema) = Schema::new() {
        on(Place::Postgres(schema), bounds, test).await;
    }
}

/// Runs `test` on a store.
pub(crate) async fn on(place: Place, bounds: &Bounds, test: &impl AsyncFn(&mut Kit)) {
    let clock = TimeSource::manual(1_000_000_000_000);
    let options =
        Options { host: "here".into(), bounds: bounds.clone(), clock: clock.clone(), ..Options::default() };
    let [store, beside] = place.open(&options);
    let mut kit = Kit { store, beside, clock, owner: Owner::new("alice"), options, place };
    test(&mut kit).await;
    assert_eq!(kit.store.check().await.unwrap(), Vec::<String>::new());
}

impl Place {
    /// A store's handles for two hosts.
    fn open(&self, options: &Options) -> [Box<dyn Store>; 2] {
        let store = match self {
            Self::Memory => Sqlite::memory(options).unwrap(),
            Self::File(folder) => Sqlite::open(&path(folder), options).unwrap(),
            Self::Postgres(schema) => {
                let store = schema.open(options);
                let beside = store.beside("there");
                return [Box::new(store), Box::new(beside)];
            }
        };
        let beside = store.beside("there");
        [Box::new(store), Box::new(beside)]
    }
}

/// Path of the store in a folder.
pub(crate) fn path(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("state.db")
}

impl Kit {
    /// Closes and opens the store, as one process does after another. Returns whether it is kept that
    /// long, and has lost its leases by that: others' processes may have a shared one open.
    pub(crate) fn reopen(&mut self) -> bool {
        if let Place::Memory = self.place {
            return false;
        }
        // A file has one owner: the old store is dropped first.
        [self.store, self.beside] = Place::Memory.open(&self.options);
        [self.store, self.beside] = self.place.open(&self.options);
        matches!(self.place, Place::File(_))
    }

    /// Runs `test` again after the store was closed and opened.
    pub(crate) async fn reopen_and(&mut self, test: impl AsyncFn(&Kit)) {
        test(self).await;
        if self.reopen() {
            test(self).await;
        }
    }

    /// Creates a foreground response with one input item `ID-in` and returns its lease.
    pub(crate) async fn create(&self, id: &str, link: Link) -> store::Result<Lease> {
        self.store.create(&self.owner, new(id, link)).await
    }

    /// Creates one and completes it with one output item `ID-out`.
    pub(crate) async fn complete(&self, id: &str, link: Link) {
        let lease = self.create(id, link).await.unwrap();
        let finished = self.store.finish(lease, end(Status::Completed, id)).await;
        assert_eq!(finished, Ok(Finished::Now));
    }

    /// Queues a background response and claims it.
    pub(crate) async fn run(&self, id: &str) -> Lease {
        self.store.enqueue(&self.owner, &needs(), new(id, Link::Alone), vec![]).await.unwrap();
        let claimed = self.store.claim(&served()).await.unwrap().unwrap();
        assert_eq!(claimed.lease.id(), id);
        claimed.lease
    }

    /// Ids of the context of a link.
    pub(crate) async fn context(&self, link: Link) -> Vec<String> {
        self.store
            .context(&self.owner, &link, Budget::default())
            .await
            .unwrap()
            .into_iter()
            .map(|c| c.item.id)
            .collect()
    }
}

pub(crate) fn new(id: &str, link: Link) -> NewResponse {
    NewResponse {
        id: id.into(),
        link,
        request: format!("request {id}").into(),
        input: vec![item(&format!("{id}-in"))],
    }
}

/// What a background response needs that any test's host claims.
pub(crate) fn needs() -> Needs {
    Needs { model: "model".into(), version: 1 }
}

/// What a test's host serves.
pub(crate) fn served() -> Served {
    Served { models: vec!["other".into(), "model".into()], version: 1 }
}

pub(crate) fn item(id: &str) -> StoredItem {
    StoredItem { id: id.into(), body: format!("body of {id}").into() }
}

pub(crate) fn end(status: Status, id: &str) -> End {
    End {
        status,
        result: format!("result {id}").into(),
        output: vec![item(&format!("{id}-out"))],
        last: None,
    }
}

pub(crate) fn parent(id: &str) -> Link {
    Link::Parent(id.into())
}

pub(crate) fn conversation(id: &str) -> Link {
    Link::Conversation(id.into())
}

/// Events `first..first + count`; each says its number.
pub(crate) fn chunk(first: u64, count: u64) -> Chunk {
    Chunk { first, events: (first..first + count).map(|n| format!("event {n}").into()).collect() }
}

/// The item of an id.
pub(crate) async fn named(store: &dyn Store, owner: &Owner, id: &str) -> store::Result<StoredItem> {
    let found = store.items_by_id(owner, vec![id.to_owned()], Budget::default()).await?;
    found.into_iter().next().flatten().ok_or(StoreError::NotFound)
}

pub(crate) fn page(order: Order, limit: usize, after: Option<&str>) -> Page {
    Page { order, limit, bytes: u64::MAX, after: after.map(str::to_owned) }
}

pub(crate) fn ids(items: &[StoredItem]) -> Vec<&str> {
    items.iter().map(|item| item.id.as_str()).collect()
}
