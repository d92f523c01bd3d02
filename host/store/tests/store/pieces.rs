//! Transactions of the one writer are bounded: what is large is evicted and removed in pieces, and
//! is gone for everybody from the first of them on.

use store::{
    Bounds, Budget, Chunk, Evicted, ITEM_BYTES, Link, NewResponse, Options, Owner, ROW_BYTES, Sqlite, Status,
    Store, StoreError, StoredItem,
};

use crate::kit::{Kit, conversation, each, end, named, new, parent, path};

/// Most responses of the kit that one transaction evicts: each changes several rows.
const EVICTED: u64 = 1024;

fn alice() -> Owner {
    Owner::new("alice")
}

fn small(id: &str) -> StoredItem {
    StoredItem { id: id.to_owned(), body: b"{}".to_vec() }
}

fn many(count: usize) -> Vec<StoredItem> {
    (0..count).map(|number| small(&format!("i{number}"))).collect()
}

/// A file of this many small responses, oldest first.
async fn filled(count: usize) -> (tempfile::TempDir, u64) {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&path(&folder), &Options::default()).unwrap();
    let create = async |number: usize| {
        let lease = store.create(&alice(), new(&number.to_string(), Link::Alone)).await.unwrap();
        store.finish(lease, end(Status::Completed, "x")).await.unwrap();
    };
    futures_util::future::join_all((0..count).map(create)).await;
    let bytes = store.stats().await.unwrap().owners[0].1;
    drop(store);
    (folder, bytes)
}

fn lowered(owner_bytes: u64) -> Options {
    Options { bounds: Bounds { owner_bytes, ..Bounds::default() }, ..Options::default() }
}

/// A lower bound let the first request evict everything before it was answered.
#[tokio::test]
async fn a_request_under_a_lowered_bound_evicts_a_piece_and_the_upkeep_the_rest() {
    let (folder, bytes) = filled(6000).await;
    let store = Sqlite::open(&path(&folder), &lowered(bytes / 6)).unwrap();
    store.create(&alice(), new("next", Link::Alone)).await.unwrap();
    let evicted = store.stats().await.unwrap().evicted.responses;
    assert!((1..=EVICTED).contains(&evicted), "{evicted}");
    let mut calls = 0;
    loop {
        let evicted = store.evict().await.unwrap();
        if evicted == Evicted::default() {
            break;
        }
        assert!(evicted.responses <= EVICTED, "{evicted:?}");
        calls += 1;
    }
    assert!(calls > 3, "{calls}");
    assert!(store.stats().await.unwrap().owners[0].1 <= bytes / 6);
    assert_eq!(store.check().await, Ok(Vec::new()));
}

/// What one request adds, it makes room for: its owner doesn't grow beyond the bound by it.
#[tokio::test]
async fn a_large_request_makes_its_room_in_several_transactions() {
    let (folder, bytes) = filled(6000).await;
    let store = Sqlite::open(&path(&folder), &lowered(bytes)).unwrap();
    let mut large = new("large", Link::Alone);
    large.request = vec![b'x'; usize::try_from(bytes / 2).unwrap()];
    store.create(&alice(), large).await.unwrap();
    let stats = store.stats().await.unwrap();
    assert!(stats.owners[0].1 <= bytes, "{} of {bytes}", stats.owners[0].1);
    assert!(stats.evicted.responses > 2 * EVICTED, "{:?}", stats.evicted);
    assert_eq!(store.check().await, Ok(Vec::new()));
}

async fn counted(kit: &Kit) -> u64 {
    kit.store.stats().await.unwrap().owners.iter().map(|(_, bytes)| bytes).sum()
}

#[tokio::test]
async fn deleted_conversation_is_gone_at_once_for_its_responses_too() {
    each(Bounds::default(), async |kit| {
        kit.store.conversation_create(&kit.owner, "v", vec![], many(5000)).await.unwrap();
        kit.complete("r", conversation("v")).await;
        assert_eq!(kit.context(parent("r")).await.len(), 5002);
        kit.store.conversation_delete(&kit.owner, "v").await.unwrap();
        assert_eq!(kit.context(parent("r")).await, ["r-in", "r-out"]);
        assert_eq!(named(&*kit.store, &kit.owner, "i7").await, Err(StoreError::NotFound));
        let of_response = ROW_BYTES + "request rresult r".len() as u64;
        let of_items = 2 * ITEM_BYTES + "r-inbody of r-inr-outbody of r-out".len() as u64;
        assert_eq!(counted(kit).await, of_response + of_items);
        assert_eq!(kit.store.check().await, Ok(Vec::new()));
        // One of its name has none of its items.
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![small("new")]).await.unwrap();
        assert_eq!(kit.context(conversation("v")).await, ["new"]);
    })
    .await;
}

/// The key of a deleted row is given to the next one: it must not find anything under it.
#[tokio::test]
async fn large_deleted_response_leaves_nothing_to_its_successor() {
    each(Bounds::default(), async |kit| {
        let input = many(5000);
        let large = NewResponse { id: "large".into(), link: Link::Alone, request: vec![], input };
        let lease = kit.store.create(&kit.owner, large).await.unwrap();
        assert_eq!(kit.store.delete(&kit.owner, "large").await, Ok(()));
        assert_eq!(counted(kit).await, 0);
        kit.complete("next", Link::Alone).await;
        assert_eq!(kit.context(parent("next")).await, ["next-in", "next-out"]);
        assert_eq!(named(&*kit.store, &kit.owner, "i7").await, Err(StoreError::NotFound));
        assert_eq!(
            kit.store.response(&kit.owner, "large", Budget::default()).await,
            Err(StoreError::NotFound)
        );
        let late = kit.store.finish(lease, end(Status::Completed, "large")).await;
        assert_eq!(late, Err(StoreError::NotFound));
        assert_eq!(kit.store.sweep().await.unwrap().len(), 0);
        assert_eq!(kit.store.check().await, Ok(Vec::new()));
    })
    .await;
}

#[tokio::test]
async fn long_log_is_gone_at_once_and_its_response_stays() {
    each(Bounds::default(), async |kit| {
        let lease = kit.run("b").await;
        for first in 0..2000 {
            let events = vec![b"event".to_vec()];
            kit.store.append(&lease, Chunk { first, events }).await.unwrap();
        }
        kit.store.finish(lease, end(Status::Completed, "b")).await.unwrap();
        kit.clock.advance(std::time::Duration::from_hours(2));
        assert_eq!(kit.store.evict().await, Ok(Evicted { logs: 1, ..Evicted::default() }));
        assert_eq!(kit.store.check().await, Ok(Vec::new()));
        assert!(kit.store.response(&kit.owner, "b", Budget::default()).await.is_ok());
        assert_eq!(kit.store.delete(&kit.owner, "b").await, Ok(()));
        assert_eq!((counted(kit).await, kit.store.check().await), (0, Ok(Vec::new())));
    })
    .await;
}

/// Deleted responses that were kept for one child go with it, however many they are.
#[tokio::test]
async fn long_deleted_chain_goes_with_its_last_child() {
    each(Bounds::default(), async |kit| {
        kit.complete("0", Link::Alone).await;
        for number in 1..900 {
            kit.complete(&number.to_string(), parent(&(number - 1).to_string())).await;
        }
        for number in 0..899 {
            kit.store.delete(&kit.owner, &number.to_string()).await.unwrap();
        }
        assert_eq!(kit.context(parent("899")).await.len(), 1800);
        kit.store.delete(&kit.owner, "899").await.unwrap();
        // The pieces are removed while nobody calls; whoever calls meanwhile sees nothing of them.
        while kit.store.stats().await.unwrap().kept > 0 {
            assert_eq!(kit.store.check().await, Ok(Vec::new()));
        }
        assert_eq!(counted(kit).await, 0);
    })
    .await;
}

#[tokio::test]
async fn garbage_of_a_killed_process_is_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Sqlite::open(&path(&folder), &Options::default()).unwrap();
    let store = open();
    store.conversation_create(&alice(), "v", vec![], many(16_000)).await.unwrap();
    let full = store.stats().await.unwrap().file_bytes;
    store.conversation_delete(&alice(), "v").await.unwrap();
    drop(store);
    let store = open();
    while store.stats().await.unwrap().file_bytes > full / 4 {
        assert_eq!(store.check().await, Ok(Vec::new()));
    }
    let found = store.items_by_id(&alice(), vec!["i1".into()], Budget::default()).await;
    assert_eq!(found, Ok(vec![None]));
}
