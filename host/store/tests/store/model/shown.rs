//! What a model shows, and its conversations.

use store::{Link, Owner, StoreError, StoredItem};

use super::{Model, ModelConversation, ModelResponse};

impl Model {
    /// What reading a response leaves.
    pub(crate) fn read(&mut self, index: usize) {
        let (now, touch) = (self.now, self.limits.touch);
        let response = &mut self.responses[index];
        if response.ended.is_some() && response.used + touch <= now {
            response.used = now;
            let root = response.root;
            self.touch_root(root);
        }
    }

    /// Events that can be read: none if the log is gone.
    pub(crate) fn log(&self, index: usize) -> Option<u64> {
        let response = &self.responses[index];
        let gone = response.ended.is_some_and(|(_, at)| at + self.limits.log_kept <= self.now);
        (!gone).then_some(response.events)
    }

    /// Items of a chain that ends with this response.
    fn chain(&self, last: Option<u64>, root: Option<(u64, u64)>) -> Vec<StoredItem> {
        let mut items: Vec<StoredItem> = Vec::new();
        let mut next = last;
        while let Some(response) = next.and_then(|key| self.by_key(key)) {
            items.splice(0..0, [response.input.clone(), response.output.clone()].concat());
            next = response.parent;
        }
        if let Some((key, base)) = root {
            let entries = self.conversations.iter().filter(|c| c.key == key).flat_map(|c| &c.entries);
            items.splice(0..0, entries.filter(|(pos, _)| *pos < base).map(|(_, item)| item.clone()));
        }
        items
    }

    pub(crate) fn context(&self, owner: &Owner, link: &Link) -> Result<Vec<StoredItem>, StoreError> {
        match link {
            Link::Alone | Link::Thread | Link::Turn(_) => Ok(Vec::new()),
            Link::Parent(id) => {
                let response = &self.responses[self.continuable(owner, id)?];
                Ok(self.chain(Some(response.key), response.root))
            }
            Link::Conversation(id) => self.entries(owner, id),
        }
    }

    pub(crate) fn items(&self, index: usize) -> Vec<StoredItem> {
        let response = &self.responses[index];
        [self.chain(response.parent, response.root), response.input.clone()].concat()
    }

    /// The newest visible item of this id.
    pub(crate) fn item(&self, owner: &Owner, id: &str) -> Option<StoredItem> {
        let visible =
            |r: &&ModelResponse| self.find(owner, &r.id).is_ok_and(|i| self.responses[i].key == r.key);
        let mut responses: Vec<_> =
            self.responses.iter().filter(|r| r.owner == *owner).filter(visible).collect();
        responses.sort_by_key(|r| r.key);
        let mut items = responses.into_iter().flat_map(|r| r.input.iter().chain(&r.output));
        let visible =
            |c: &&ModelConversation| c.owner == *owner && self.find_conversation(owner, &c.id).is_ok();
        let mut entries =
            self.conversations.iter().filter(visible).flat_map(|c| &c.entries).map(|(_, item)| item);
        let newest = items.rfind(|item| item.id == id);
        newest.or_else(|| entries.rfind(|item| item.id == id)).cloned()
    }

    pub(crate) fn conversation_create(
        &mut self,
        owner: &Owner,
        id: &str,
        items: &[StoredItem],
    ) -> Result<(), StoreError> {
        if self.conversations.iter().any(|c| c.owner == *owner && c.id == id) {
            let is_same = self.entries(owner, id).is_ok_and(|entries| entries == items);
            return if is_same { Ok(()) } else { Err(StoreError::Duplicate) };
        }
        let (owner, id, key) = (owner.clone(), id.to_owned(), self.next);
        self.next += 1;
        let (entries, used) = (Vec::new(), self.now);
        self.conversations.push(ModelConversation {
            owner: owner.clone(),
            id: id.clone(),
            key,
            used,
            next: 0,
            entries,
            running: None,
        });
        self.conversation_append(&owner, &id, items)
    }

    pub(crate) fn conversation_append(
        &mut self,
        owner: &Owner,
        id: &str,
        items: &[StoredItem],
    ) -> Result<(), StoreError> {
        let (index, now) = (self.find_conversation(owner, id)?, self.now);
        let conversation = &mut self.conversations[index];
        let mut taken: Vec<&str> = conversation.entries.iter().map(|(_, entry)| entry.id.as_str()).collect();
        for StoredItem { id, .. } in items {
            if taken.contains(&id.as_str()) {
                return Err(StoreError::DuplicateItem(id.clone()));
            }
            taken.push(id);
        }
        conversation.add(items, now);
        let key = conversation.key;
        self.make_room(owner, Some(key))
    }

    pub(crate) fn conversation_remove(
        &mut self,
        owner: &Owner,
        id: &str,
        item: &str,
    ) -> Result<(), StoreError> {
        let (index, now) = (self.find_conversation(owner, id)?, self.now);
        let conversation = &mut self.conversations[index];
        let place =
            conversation.entries.iter().rposition(|(_, it)| it.id == item).ok_or(StoreError::NotFound)?;
        conversation.entries.remove(place);
        conversation.used = now;
        Ok(())
    }

    pub(crate) fn conversation_delete(&mut self, owner: &Owner, id: &str) -> Result<(), StoreError> {
        let index = self.find_conversation(owner, id)?;
        self.conversations.remove(index);
        Ok(())
    }

    /// What reading a conversation leaves.
    pub(crate) fn read_conversation(&mut self, owner: &Owner, id: &str) {
        let (now, touch) = (self.now, self.limits.touch);
        if let Ok(index) = self.find_conversation(owner, id)
            && self.conversations[index].used + touch <= now
        {
            self.conversations[index].used = now;
        }
    }

    pub(crate) fn entries(&self, owner: &Owner, id: &str) -> Result<Vec<StoredItem>, StoreError> {
        let conversation = &self.conversations[self.find_conversation(owner, id)?];
        Ok(conversation.entries.iter().map(|(_, item)| item.clone()).collect())
    }
}

impl ModelConversation {
    pub(super) fn add(&mut self, items: &[StoredItem], now: u64) {
        self.entries.extend((self.next..).zip(items.iter().cloned()));
        self.next += items.len() as u64;
        self.used = now;
    }
}
