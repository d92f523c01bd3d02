//! A plain model of a store, in vectors: what each transaction must return and leave, without SQL,
//! bytes of logs or files.

mod background;
mod shown;

use store::{Full, ITEM_BYTES, Link, Owner, ROW_BYTES, Status, StoreError, StoredItem};

/// Bounds of the model, in its own units.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) owner_bytes: u64,
    pub(crate) links: u64,
    pub(crate) unused: u64,
    pub(crate) log_kept: u64,
    pub(crate) touch: u64,
    pub(crate) running: usize,
    pub(crate) queued: usize,
    pub(crate) lease: u64,
    pub(crate) claims: u64,
    pub(crate) unserved: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct ModelResponse {
    pub(crate) owner: Owner,
    pub(crate) id: String,
    /// Order of creation.
    pub(crate) key: u64,
    link: Link,
    parent: Option<u64>,
    /// Conversation that its chain began in, and the entries that it saw.
    root: Option<(u64, u64)>,
    depth: u64,
    pub(crate) background: bool,
    /// Whether its first chunk came.
    pub(crate) begun: bool,
    pub(crate) ended: Option<(Status, u64)>,
    used: u64,
    pub(crate) input: Vec<StoredItem>,
    pub(crate) output: Vec<StoredItem>,
    pub(crate) request: Vec<u8>,
    pub(crate) result: Vec<u8>,
    /// First event and length of each chunk.
    log: Vec<(u64, u64)>,
    pub(crate) events: u64,
    deleted: bool,
    pub(crate) epoch: u64,
    /// The host that has its lease.
    host: Option<usize>,
    lease: u64,
    tries: u64,
}

/// A host, and the epoch of its lease.
pub(crate) type Holder = (usize, u64);

#[derive(Clone, Debug)]
pub(crate) struct ModelConversation {
    owner: Owner,
    id: String,
    key: u64,
    used: u64,
    next: u64,
    entries: Vec<(u64, StoredItem)>,
    running: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) limits: Limits,
    pub(crate) now: u64,
    /// When a host was last noted to serve the model.
    served_last: u64,
    next: u64,
    pub(crate) responses: Vec<ModelResponse>,
    conversations: Vec<ModelConversation>,
}

fn counted(items: &[StoredItem]) -> u64 {
    items.iter().map(|item| ITEM_BYTES + (item.id.len() + item.body.len()) as u64).sum()
}

impl ModelResponse {
    /// Whether it is this new one.
    fn is_of(&self, new: &store::NewResponse) -> bool {
        (&self.link, &self.request, &self.input) == (&new.link, &new.request, &new.input)
    }

    /// Whether this host has, or had at the end, its lease of this epoch.
    fn is_held(&self, (host, epoch): Holder) -> bool {
        self.host == Some(host) && self.epoch == epoch
    }

    /// Whether it ended like this.
    fn has_ended_as(&self, end: &store::End) -> bool {
        self.ended.is_some_and(|(status, _)| status == end.status)
            && self.result == end.result
            && self.output.starts_with(&end.output)
            && end.last.as_ref().is_none_or(|last| last.first + last.events.len() as u64 == self.events)
    }

    fn bytes(&self) -> u64 {
        let bodies = if self.deleted { 0 } else { self.request.len() + self.result.len() };
        ROW_BYTES + bodies as u64 + counted(&self.input) + counted(&self.output)
    }
}

impl ModelConversation {
    fn bytes(&self) -> u64 {
        ROW_BYTES + self.entries.iter().map(|(_, item)| counted(std::slice::from_ref(item))).sum::<u64>()
    }
}

impl Model {
    pub(crate) fn new(limits: Limits, now: u64) -> Self {
        Self { limits, now, served_last: 0, next: 1, responses: Vec::new(), conversations: Vec::new() }
    }

    fn expired(&self) -> u64 {
        self.now - self.limits.unused
    }

    /// Index of a visible response.
    pub(crate) fn find(&self, owner: &Owner, id: &str) -> Result<usize, StoreError> {
        let visible = |r: &ModelResponse| !r.deleted && (r.ended.is_none() || r.used > self.expired());
        self.responses
            .iter()
            .position(|r| r.owner == *owner && r.id == id && visible(r))
            .ok_or(StoreError::NotFound)
    }

    fn find_conversation(&self, owner: &Owner, id: &str) -> Result<usize, StoreError> {
        let visible = |c: &ModelConversation| c.running.is_some() || c.used > self.expired();
        let found = self.conversations.iter().position(|c| c.owner == *owner && c.id == id && visible(c));
        found.ok_or(StoreError::NotFound)
    }

    fn continuable(&self, owner: &Owner, id: &str) -> Result<usize, StoreError> {
        let index = self.find(owner, id)?;
        match self.responses[index].ended {
            Some((status, _)) if status != Status::Failed => Ok(index),
            _ => Err(StoreError::NotFound),
        }
    }

    fn by_key(&self, key: u64) -> Option<&ModelResponse> {
        self.responses.iter().find(|r| r.key == key)
    }

    fn children(&self, key: u64) -> usize {
        self.responses.iter().filter(|r| r.parent == Some(key)).count()
    }

    /// Does `change` as a whole or not at all.
    pub(crate) fn transaction<T>(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let before = self.clone();
        let result = change(self);
        if result.is_err() {
            *self = before;
        }
        result
    }

    pub(crate) fn create(
        &mut self,
        owner: &Owner,
        new: &store::NewResponse,
        background: bool,
        host: usize,
    ) -> Result<(), StoreError> {
        if let Some(there) = self.responses.iter().find(|r| r.owner == *owner && r.id == new.id) {
            let is_same = !there.deleted && there.background == background && there.is_of(new);
            let is_held = background || (there.ended.is_none() && there.is_held((host, 1)));
            return if is_same && is_held { Ok(()) } else { Err(StoreError::Duplicate) };
        }
        let (now, key) = (self.now, self.next);
        let (mut parent, mut root, mut depth) = (None, None, 1);
        match &new.link {
            Link::Alone | Link::Thread | Link::Turn(_) => {}
            Link::Parent(id) => {
                let index = self.continuable(owner, id)?;
                let before = &mut self.responses[index];
                if before.depth >= self.limits.links {
                    return Err(StoreError::TooLong(store::TooLong::Links));
                }
                before.used = now;
                (parent, root, depth) = (Some(before.key), before.root, before.depth + 1);
            }
            Link::Conversation(id) => {
                let index = self.find_conversation(owner, id)?;
                let conversation = &mut self.conversations[index];
                if conversation.running.is_some() {
                    return Err(StoreError::Locked);
                }
                conversation.running = Some(key);
                root = Some((conversation.key, conversation.next));
            }
        }
        self.touch_root(root);
        self.next += 1;
        self.responses.push(ModelResponse {
            owner: owner.clone(),
            id: new.id.clone(),
            key,
            link: new.link.clone(),
            parent,
            root,
            depth,
            background,
            begun: !background,
            ended: None,
            used: now,
            input: new.input.clone(),
            output: Vec::new(),
            request: new.request.clone(),
            result: Vec::new(),
            log: Vec::new(),
            events: 0,
            deleted: false,
            epoch: u64::from(!background),
            host: (!background).then_some(host),
            lease: if background { 0 } else { now + self.limits.lease },
            tries: u64::from(!background),
        });
        let waiting = |r: &&ModelResponse| r.owner == *owner && r.background && r.ended.is_none() && !r.begun;
        if background && self.responses.iter().filter(waiting).count() > self.limits.queued {
            return Err(StoreError::QueueFull(self.limits.queued as u64));
        }
        if background {
            self.note_served();
        }
        self.make_room(owner, None)
    }

    fn touch_root(&mut self, root: Option<(u64, u64)>) {
        let now = self.now;
        for conversation in
            self.conversations.iter_mut().filter(|c| root.is_some_and(|(key, _)| key == c.key))
        {
            conversation.used = now;
        }
    }

    fn bytes(&self, owner: &Owner) -> u64 {
        let responses = self.responses.iter().filter(|r| r.owner == *owner).map(ModelResponse::bytes);
        let conversations =
            self.conversations.iter().filter(|c| c.owner == *owner).map(ModelConversation::bytes);
        responses.chain(conversations).sum()
    }

    fn make_room(&mut self, owner: &Owner, keep: Option<u64>) -> Result<(), StoreError> {
        while self.bytes(owner) > self.limits.owner_bytes {
            let leaves = self.responses.iter().filter(|r| r.owner == *owner && r.ended.is_some());
            let leaves = leaves.filter(|r| self.children(r.key) == 0).map(|r| (r.used, false, r.key));
            let idle = self.conversations.iter().filter(|c| c.owner == *owner && c.running.is_none());
            let idle = idle.filter(|c| keep != Some(c.key)).map(|c| (c.used, true, c.key));
            match leaves.chain(idle).min() {
                None => return Err(StoreError::Full(Full::Owner)),
                Some((_, false, key)) => self.erase(key),
                Some((_, true, key)) => self.conversations.retain(|c| c.key != key),
            }
        }
        Ok(())
    }

    fn erase(&mut self, key: u64) {
        let parent = self.by_key(key).and_then(|r| r.parent);
        self.responses.retain(|r| r.key != key);
        for conversation in self.conversations.iter_mut().filter(|c| c.running == Some(key)) {
            conversation.running = None;
        }
        if let Some(parent) =
            parent.filter(|key| self.by_key(*key).is_some_and(|r| r.deleted) && self.children(*key) == 0)
        {
            self.erase(parent);
        }
    }

    pub(crate) fn delete(&mut self, owner: &Owner, id: &str) -> Result<(), StoreError> {
        let index = self.find(owner, id)?;
        let key = self.responses[index].key;
        if self.children(key) > 0 {
            self.responses[index].deleted = true;
        } else {
            self.erase(key);
        }
        Ok(())
    }

    /// Returns whether this call ended it.
    pub(crate) fn finish(
        &mut self,
        owner: &Owner,
        id: &str,
        holder: Holder,
        end: &store::End,
    ) -> Result<bool, StoreError> {
        let (index, now) = (self.find(owner, id)?, self.now);
        let response = &mut self.responses[index];
        if response.ended.is_some() {
            return Ok(response.is_held(holder) && response.has_ended_as(end));
        }
        if !response.is_held(holder) {
            return Err(StoreError::LeaseLost);
        }
        if let Some(last) = &end.last
            && (last.first != response.events || !response.background)
        {
            return Err(StoreError::Sequence { expected: response.events });
        }
        response.ended = Some((end.status, now));
        response.used = now;
        let rest = end.output.get(response.output.len()..).unwrap_or_default();
        response.output.extend_from_slice(rest);
        response.result.clone_from(&end.result);
        response.log.extend(end.last.as_ref().map(|last| (last.first, last.events.len() as u64)));
        response.events += end.last.as_ref().map_or(0, |chunk| chunk.events.len() as u64);
        let key = response.key;
        let items = [response.input.clone(), response.output.clone()].concat();
        let keep = matches!(end.status, Status::Completed | Status::Incomplete);
        for conversation in self.conversations.iter_mut().filter(|c| c.running == Some(key)) {
            conversation.running = None;
            conversation.add(if keep { &items } else { &[] }, now);
        }
        Ok(true)
    }
}
