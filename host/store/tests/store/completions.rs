//! Chat completions: read once they ended well, listed by tags, and apart from responses.

use std::time::Duration;

use store::{
    Bounds, Budget, CompletionTag, Finished, Lease, Link, NewCompletion, Order, Owner, Status, StoreError,
    StoredItem,
};

use crate::kit::{Kit, each, end, ids, item, named, page, parent};

fn tags(tags: &[(&str, &str)]) -> Vec<CompletionTag> {
    tags.iter()
        .map(|(name, value)| CompletionTag { name: (*name).to_owned(), value: (*value).to_owned() })
        .collect()
}

async fn create(kit: &Kit, id: &str, listed: &[(&str, &str)]) -> Lease {
    let input: Vec<StoredItem> = ["0", "1"].map(|number| item(&format!("{id}-{number}"))).to_vec();
    let new = NewCompletion { id: id.to_owned(), tags: tags(listed), input };
    kit.store.completion_create(&kit.owner, new).await.unwrap()
}

async fn finish(kit: &Kit, lease: Lease, status: Status) {
    let id = lease.id().to_owned();
    let ended = kit.store.finish(lease, end(status, &id)).await;
    assert_eq!(ended, Ok(Finished::Now));
}

async fn listed(
    kit: &Kit,
    by: &[(&str, &str)],
    order: Order,
    limit: usize,
    after: Option<&str>,
) -> (Vec<String>, bool) {
    let list = kit
        .store
        .completion_list(&kit.owner, tags(by), page(order, limit, after), Budget::default())
        .await
        .unwrap();
    (list.data.into_iter().map(|completion| completion.id).collect(), list.more)
}

async fn sound(kit: &Kit) {
    assert_eq!(kit.store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_completion_is_read_changed_and_deleted() {
    each(Bounds::default(), async |kit| {
        let lease = create(kit, "c", &[("model", "m"), ("metadata.a", "1")]).await;
        assert_eq!(
            kit.store.completion_get(&kit.owner, "c", Budget::default()).await,
            Err(StoreError::NotFound),
            "it runs"
        );
        finish(kit, lease, Status::Completed).await;
        let read = kit.store.completion_get(&kit.owner, "c", Budget::default()).await.unwrap();
        assert_eq!((read.id.as_str(), &read.tags), ("c", &tags(&[("model", "m"), ("metadata.a", "1")])));
        assert_eq!(read.result, end(Status::Completed, "c").result);
        let messages = kit
            .store
            .completion_items(&kit.owner, "c", page(Order::Ascending, 9, None), Budget::default())
            .await
            .unwrap();
        assert_eq!(ids(&messages.data), ["c-0", "c-1"]);
        let changed = tags(&[("model", "m"), ("metadata.b", "longer than before")]);
        kit.store.completion_retag(&kit.owner, "c", changed.clone()).await.unwrap();
        let retagged = store::Completion { tags: changed, ..read };
        assert_eq!(kit.store.completion_get(&kit.owner, "c", Budget::default()).await, Ok(retagged));
        let by = async |tag| listed(kit, &[tag], Order::Ascending, 9, None).await.0;
        assert_eq!(by(("metadata.b", "longer than before")).await, ["c"]);
        assert_eq!(by(("metadata.a", "1")).await, Vec::<String>::new());
        sound(kit).await;
        assert_eq!(kit.store.completion_delete(&kit.owner, "c").await, Ok(()));
        assert_eq!(
            kit.store.completion_get(&kit.owner, "c", Budget::default()).await,
            Err(StoreError::NotFound)
        );
        assert_eq!(kit.store.completion_delete(&kit.owner, "c").await, Err(StoreError::NotFound));
        sound(kit).await;
        assert!(kit.store.stats().await.unwrap().owners.iter().all(|(_, bytes)| *bytes == 0));
    })
    .await;
}

#[tokio::test]
async fn what_fails_is_cancelled_or_lost_leaves_nothing() {
    each(Bounds::default(), async |kit| {
        for status in [Status::Failed, Status::Cancelled] {
            let lease = create(kit, "c", &[("model", "m")]).await;
            finish(kit, lease, status).await;
            assert_eq!(
                kit.store.completion_get(&kit.owner, "c", Budget::default()).await,
                Err(StoreError::NotFound)
            );
        }
        let lease = create(kit, "c", &[]).await;
        kit.clock.advance(Duration::from_secs(21));
        assert!(kit.store.sweep().await.unwrap().is_empty(), "nobody has to end it");
        let late = kit.store.finish(lease, end(Status::Completed, "c")).await;
        assert_eq!(late, Err(StoreError::NotFound));
        assert_eq!(listed(kit, &[], Order::Ascending, 9, None).await, (vec![], false));
        sound(kit).await;
        assert!(kit.store.stats().await.unwrap().owners.iter().all(|(_, bytes)| *bytes == 0));
    })
    .await;
}

#[tokio::test]
async fn completions_are_listed_by_tags_in_pages() {
    each(Bounds::default(), async |kit| {
        for number in 0..6 {
            let model = if number % 2 == 0 { "even" } else { "odd" };
            let lease =
                create(kit, &format!("c{number}"), &[("model", model), ("third", &(number / 3).to_string())])
                    .await;
            finish(kit, lease, Status::Completed).await;
        }
        create(kit, "running", &[("model", "even")]).await;
        kit.complete("response", Link::Alone).await;
        let list = async |by: &[(&str, &str)], order, limit, after| {
            let (ids, more) = listed(kit, by, order, limit, after).await;
            (ids.join(" "), more)
        };
        assert_eq!(list(&[], Order::Ascending, 9, None).await, ("c0 c1 c2 c3 c4 c5".to_owned(), false));
        assert_eq!(list(&[], Order::Descending, 2, Some("c4")).await, ("c3 c2".to_owned(), true));
        assert_eq!(list(&[("model", "even")], Order::Ascending, 2, None).await, ("c0 c2".to_owned(), true));
        assert_eq!(
            list(&[("model", "even")], Order::Ascending, 2, Some("c2")).await,
            ("c4".to_owned(), false)
        );
        let both = [("third", "0"), ("model", "odd")];
        assert_eq!(list(&both, Order::Descending, 9, None).await, ("c1".to_owned(), false));
        assert_eq!(
            list(&[("third", "' OR 1=1 --")], Order::Ascending, 9, None).await,
            (String::new(), false)
        );
        let unknown = kit.store.completion_list(
            &kit.owner,
            vec![],
            page(Order::Ascending, 9, Some("running")),
            Budget::default(),
        );
        assert_eq!(unknown.await, Err(StoreError::NotFound));
    })
    .await;
}

#[tokio::test]
async fn completions_and_responses_dont_know_each_other() {
    each(Bounds::default(), async |kit| {
        let lease = create(kit, "c", &[]).await;
        finish(kit, lease, Status::Completed).await;
        kit.complete("r", Link::Alone).await;
        let (store, owner) = (&kit.store, &kit.owner);
        let all = || page(Order::Ascending, 9, None);
        assert_eq!(store.response(owner, "c", Budget::default()).await, Err(StoreError::NotFound));
        assert_eq!(store.items(owner, "c", all(), Budget::default()).await, Err(StoreError::NotFound));
        assert_eq!(named(&**store, owner, "c-0").await, Err(StoreError::NotFound));
        assert_eq!(store.context(owner, &parent("c"), Budget::default()).await, Err(StoreError::NotFound));
        assert_eq!(store.events_after(owner, "c", None).await, Err(StoreError::NotFound));
        assert_eq!(store.delete(owner, "c").await, Err(StoreError::NotFound));
        assert_eq!(store.fence(owner, "c").await, Err(StoreError::NotFound));
        assert_eq!(kit.create("next", parent("c")).await, Err(StoreError::NotFound));
        assert_eq!(kit.create("c", Link::Alone).await, Err(StoreError::Duplicate));
        assert_eq!(store.completion_get(owner, "r", Budget::default()).await, Err(StoreError::NotFound));
        assert_eq!(
            store.completion_items(owner, "r", all(), Budget::default()).await,
            Err(StoreError::NotFound)
        );
        assert_eq!(store.completion_retag(owner, "r", vec![]).await, Err(StoreError::NotFound));
        assert_eq!(store.completion_delete(owner, "r").await, Err(StoreError::NotFound));
        // Nor does another owner.
        let bob = Owner::new("bob");
        assert_eq!(store.completion_get(&bob, "c", Budget::default()).await, Err(StoreError::NotFound));
        assert_eq!(
            store.completion_list(&bob, vec![], all(), Budget::default()).await.map(|list| list.data.len()),
            Ok(0)
        );
        assert_eq!(store.completion_delete(&bob, "c").await, Err(StoreError::NotFound));
        assert!(
            store.completion_get(owner, "c", Budget::default()).await.is_ok()
                && store.response(owner, "r", Budget::default()).await.is_ok()
        );
    })
    .await;
}

#[tokio::test]
async fn oldest_completions_go_for_room_and_for_age() {
    each(Bounds { owner_bytes: 4000, ..Bounds::default() }, async |kit| {
        for number in 0..30 {
            let lease = create(kit, &format!("c{number}"), &[("model", "m")]).await;
            finish(kit, lease, Status::Completed).await;
            kit.clock.advance(Duration::from_secs(1));
        }
        let (kept, _) = listed(kit, &[], Order::Descending, 99, None).await;
        assert!((2..12).contains(&kept.len()), "{kept:?}");
        assert_eq!(kept[0], "c29");
        sound(kit).await;
        kit.clock.advance(Duration::from_hours(31 * 24));
        assert_eq!(listed(kit, &[], Order::Ascending, 99, None).await, (vec![], false));
    })
    .await;
}

#[tokio::test]
async fn growing_metadata_evicts_others_never_its_own() {
    let one = "x".repeat(1000);
    each(Bounds { owner_bytes: 8 << 10, ..Bounds::default() }, async |kit| {
        for id in ["a", "b", "c", "d"] {
            let lease = create(kit, id, &[("model", &one)]).await;
            finish(kit, lease, Status::Completed).await;
        }
        // The clock is behind, so that the one that changes looks like the oldest.
        kit.clock.set(kit.clock.now() - 1000);
        let larger = tags(&[("model", &one), ("metadata.a", &"y".repeat(4000))]);
        assert!(kit.store.completion_retag(&kit.owner, "a", larger.clone()).await.is_ok());
        assert_eq!(kit.store.completion_get(&kit.owner, "a", Budget::default()).await.unwrap().tags, larger);
        let (ids, _) = listed(kit, &[], Order::Ascending, 9, None).await;
        assert!(ids.len() < 4 && ids.first().is_some_and(|id| id == "a"), "{ids:?}");
        // What can't fit changes nothing.
        let endless = tags(&[("metadata.a", &"z".repeat(9000))]);
        let refused = kit.store.completion_retag(&kit.owner, "a", endless).await;
        assert_eq!(refused, Err(StoreError::Full(store::Full::Owner)));
        assert_eq!(kit.store.completion_get(&kit.owner, "a", Budget::default()).await.unwrap().tags, larger);
        assert_eq!(listed(kit, &[], Order::Ascending, 9, None).await.0, ids);
        sound(kit).await;
    })
    .await;
}
