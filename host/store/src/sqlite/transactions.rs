//! [`Store`] on SQLite: each method as a call to the writer's or a reader's queue.

use super::evict::Debt;
use super::{Sqlite, background, check, completions, context, conversations, evict, named, read, responses};
use crate::chunk::pack;
use crate::sqlite::session::Session;
use crate::{
    Budget, Chunk, Claimed, Completion, CompletionTag, Completions, ContextItem, End, Events, Evicted,
    ExportedRecord, Finished, Items, Lease, Link, Needs, NewCompletion, NewResponse, Owner, Page, Purge,
    Reply, Response, Result, Served, Stats, Store, StoredConversation, StoredItem, Swept,
};

impl Sqlite {
    /// Has `work` made by the writer, as this handle's host.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session) -> Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send + 'static {
        let host = self.host.clone();
        self.opened.writer.clone().call(move |s| {
            s.host.replace(host);
            work(s)
        })
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session) -> Result<T> + Send + 'static,
    ) -> Reply<T> {
        Reply::write(self.call(work))
    }

    /// Makes a change, and then the room that it owes. Others' calls are made in between.
    fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session) -> Result<(T, Option<Debt>)> + Send + 'static,
    ) -> Reply<T> {
        let (made, writer) = (self.call(work), self.opened.writer.clone());
        Reply::write(async move {
            let (done, mut debt) = made.await?;
            while let Some(owed) = debt {
                // The change is committed, whatever becomes of the rest.
                debt = writer.clone().call(move |s| evict::repay(s, owed)).await.unwrap_or_default();
            }
            Ok(done)
        })
    }

    fn read<T: Send + 'static>(&self, work: impl FnOnce(&Session) -> Result<T> + Send + 'static) -> Reply<T> {
        Reply::read(self.opened.reader.clone().call(work))
    }

    /// Reads what `budget` pays for.
    fn read_paid<T: Send + 'static>(
        &self,
        budget: Budget,
        work: impl FnOnce(&Session, &Budget) -> Result<T> + Send + 'static,
    ) -> Reply<T> {
        self.read(move |s| budget.run(|| work(s, &budget)))
    }

    /// Reads a row, and renews its age with `touch` if `work` says its key.
    fn read_and_touch<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Session) -> Result<(T, Option<i64>)> + Send + 'static,
        touch: fn(&Session, i64) -> Result<()>,
    ) -> Reply<T> {
        let (reader, writer) = (self.opened.reader.clone(), self.opened.writer.clone());
        Reply::read(async move {
            let (row, old) = reader.call(work).await?;
            if let Some(key) = old {
                // A disk that can't be written can still be read.
                let _ = writer.call(move |s| touch(s, key)).await;
            }
            Ok(row)
        })
    }
}

impl Store for Sqlite {
    fn create(&self, owner: &Owner, new: NewResponse) -> Reply<Lease> {
        let owner = owner.clone();
        self.change(move |s| responses::create(s, &owner, &new))
    }

    fn enqueue(&self, owner: &Owner, needs: &Needs, new: NewResponse, log: Vec<Vec<u8>>) -> Reply<()> {
        let (owner, needs) = (owner.clone(), needs.clone());
        match pack(Chunk { first: 0, events: log }) {
            Ok(log) => self.change(move |s| responses::enqueue(s, &owner, &needs, &new, &log)),
            Err(error) => Reply::write(std::future::ready(Err(error))),
        }
    }

    fn append(&self, lease: &Lease, chunk: Chunk) -> Reply<()> {
        let (lease, writer) = (lease.clone(), self.opened.writer.clone());
        Reply::write(async move {
            let (first, chunks) = (chunk.first, pack(chunk)?);
            writer.call(move |s| responses::append(s, &lease, first, &chunks)).await
        })
    }

    fn add_output(&self, lease: &Lease, first: u64, items: Vec<StoredItem>) -> Reply<()> {
        let lease = lease.clone();
        self.write(move |s| responses::add_output(s, &lease, first, &items))
    }

    fn finish(&self, lease: Lease, mut end: End) -> Reply<Finished> {
        let writer = self.opened.writer.clone();
        Reply::write(async move {
            let last = match end.last.take() {
                Some(chunk) => Some((chunk.first, pack(chunk)?)),
                None => None,
            };
            writer.call(move |s| responses::finish(s, &lease, &end, last)).await
        })
    }

    fn fence(&self, owner: &Owner, id: &str) -> Reply<Option<Lease>> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.write(move |s| background::fence(s, &owner, &id))
    }

    fn response(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<Response> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| budget.run(|| read::response(s, &owner, &id, &budget));
        self.read_and_touch(read, responses::touch)
    }

    fn context(&self, owner: &Owner, link: &Link, budget: Budget) -> Reply<Vec<ContextItem>> {
        let (owner, link) = (owner.clone(), link.clone());
        self.read_paid(budget, move |s, budget| context::context(s, &owner, &link, budget))
    }

    fn items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| {
            let items = budget.run(|| context::items(s, &owner, &id, &page, &budget))?;
            Ok((items, read::to_touch(s, &owner, &id)?))
        };
        self.read_and_touch(read, responses::touch)
    }

    fn items_by_id(&self, owner: &Owner, ids: Vec<String>, budget: Budget) -> Reply<Vec<Option<StoredItem>>> {
        let owner = owner.clone();
        self.read_paid(budget, move |s, budget| {
            ids.into_iter().map(|id| named::item(s, &owner, id, budget)).collect()
        })
    }

    fn events_after(&self, owner: &Owner, id: &str, after: Option<u64>) -> Reply<Events> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.read(move |s| read::events_after(s, &owner, &id, after))
    }

    fn delete(&self, owner: &Owner, id: &str) -> Reply<()> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.write(move |s| responses::delete(s, &owner, &id))
    }

    fn conversation_create(
        &self,
        owner: &Owner,
        id: &str,
        metadata: Vec<u8>,
        items: Vec<StoredItem>,
    ) -> Reply<StoredConversation> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.change(move |s| conversations::create(s, &owner, &id, &metadata, &items))
    }

    fn conversation_get(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<StoredConversation> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| budget.run(|| conversations::get(s, &owner, &id, &budget));
        self.read_and_touch(read, conversations::touch)
    }

    fn conversation_update(&self, owner: &Owner, id: &str, metadata: Vec<u8>) -> Reply<StoredConversation> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.change(move |s| conversations::update(s, &owner, &id, metadata))
    }

    fn conversation_delete(&self, owner: &Owner, id: &str) -> Reply<()> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.write(move |s| conversations::delete(s, &owner, &id))
    }

    fn conversation_append(&self, owner: &Owner, id: &str, items: Vec<StoredItem>) -> Reply<()> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.change(move |s| conversations::append(s, &owner, &id, &items))
    }

    fn conversation_items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| budget.run(|| conversations::items(s, &owner, &id, &page, &budget));
        self.read_and_touch(read, conversations::touch)
    }

    fn conversation_len(&self, owner: &Owner, id: &str) -> Reply<u64> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.read(move |s| conversations::len(s, &owner, &id))
    }

    fn conversation_item(&self, owner: &Owner, id: &str, item: &str, budget: Budget) -> Reply<StoredItem> {
        let (owner, id, item) = (owner.clone(), id.to_owned(), item.to_owned());
        self.read_paid(budget, move |s, budget| conversations::item(s, &owner, &id, item, budget))
    }

    fn conversation_remove(&self, owner: &Owner, id: &str, item: &str) -> Reply<StoredConversation> {
        let (owner, id, item) = (owner.clone(), id.to_owned(), item.to_owned());
        self.write(move |s| conversations::remove(s, &owner, &id, &item))
    }

    fn completion_create(&self, owner: &Owner, new: NewCompletion) -> Reply<Lease> {
        let owner = owner.clone();
        self.change(move |s| completions::create(s, &owner, new))
    }

    fn completion_get(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<Completion> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| budget.run(|| completions::get(s, &owner, &id, &budget));
        self.read_and_touch(read, responses::touch)
    }

    fn completion_list(
        &self,
        owner: &Owner,
        tags: Vec<CompletionTag>,
        page: Page,
        budget: Budget,
    ) -> Reply<Completions> {
        let owner = owner.clone();
        self.read_paid(budget, move |s, budget| completions::list(s, &owner, tags, &page, budget))
    }

    fn completion_retag(&self, owner: &Owner, id: &str, tags: Vec<CompletionTag>) -> Reply<()> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.change(move |s| completions::retag(s, &owner, &id, &tags))
    }

    fn completion_items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| {
            let items = budget.run(|| completions::items(s, &owner, &id, &page, &budget))?;
            Ok((items, completions::to_touch(s, &owner, &id)?))
        };
        self.read_and_touch(read, responses::touch)
    }

    fn completion_delete(&self, owner: &Owner, id: &str) -> Reply<()> {
        let (owner, id) = (owner.clone(), id.to_owned());
        self.write(move |s| completions::delete(s, &owner, &id))
    }

    fn claim(&self, served: &Served) -> Reply<Option<Claimed>> {
        let served = served.clone();
        self.write(move |s| background::claim(s, &served))
    }

    fn release(&self, lease: Lease) -> Reply<()> {
        self.write(move |s| background::release(s, &lease))
    }

    fn renew(&self, leases: Vec<Lease>) -> Reply<Vec<Lease>> {
        self.write(move |s| background::renew(s, leases))
    }

    fn sweep(&self) -> Reply<Vec<Swept>> {
        self.write(background::sweep)
    }

    fn evict(&self) -> Reply<Evicted> {
        self.write(evict::evict)
    }

    fn stats(&self) -> Reply<Stats> {
        self.read(check::stats)
    }

    fn purge(&self, what: Purge) -> Reply<Evicted> {
        self.write(move |s| evict::purge(s, &what))
    }

    fn check(&self) -> Reply<Vec<String>> {
        self.read(check::check)
    }

    fn export(&self, owner: Option<&Owner>, after: u64) -> Reply<Option<(u64, ExportedRecord)>> {
        let owner = owner.cloned();
        self.read(move |s| check::export(s, owner.as_ref(), after))
    }
}
