//! Reads that are paid for: each body before it is read, and pages that end at a bound of bytes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use store::{
    Bounds, Budget, EndedResponse, Link, NewCompletion, NewResponse, Order, Page, Payer, State, Status,
    StoreError, StoredItem,
};

use crate::kit::{Kit, conversation, each, end, ids, parent};

/// Size of each item.
const SIZE: u64 = 1000;

/// A payer with so many bytes, which notes what it was asked for.
struct Purse {
    has: AtomicU64,
    asked: Mutex<Vec<u64>>,
    ran: AtomicU64,
}

impl Purse {
    fn with(bytes: u64) -> Arc<Self> {
        Arc::new(Self { has: bytes.into(), asked: Mutex::default(), ran: AtomicU64::new(0) })
    }

    fn asked(&self) -> Vec<u64> {
        self.asked.lock().unwrap().clone()
    }
}

impl Payer for Purse {
    fn pay(&self, bytes: u64) -> bool {
        self.asked.lock().unwrap().push(bytes);
        let left = |has: u64| has.checked_sub(bytes);
        self.has.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }

    fn run(&self, work: Box<dyn FnOnce() + '_>) {
        self.ran.fetch_add(1, Ordering::Relaxed);
        work();
    }
}

fn item(id: &str) -> StoredItem {
    StoredItem { id: id.to_owned(), body: vec![b'x'; usize::try_from(SIZE).unwrap()] }
}

fn items(count: usize) -> Vec<StoredItem> {
    (0..count).map(|number| item(&number.to_string())).collect()
}

fn page(bytes: u64, after: Option<&str>) -> Page {
    Page { order: Order::Ascending, limit: 100, bytes, after: after.map(str::to_owned) }
}

/// A response, a conversation and a chat completion of this many items.
async fn fill(kit: &Kit, count: usize) {
    let new = NewResponse { id: "r".into(), link: Link::Alone, request: vec![], input: items(count) };
    let lease = kit.store.create(&kit.owner, new).await.unwrap();
    kit.store.finish(lease, end(Status::Completed, "r")).await.unwrap();
    kit.store.conversation_create(&kit.owner, "v", b"meta".to_vec(), items(count)).await.unwrap();
    let new = NewCompletion { id: "c".into(), tags: vec![], input: items(count) };
    let lease = kit.store.completion_create(&kit.owner, new).await.unwrap();
    let large = store::End { result: vec![b'x'; 1000], ..end(Status::Completed, "c") };
    kit.store.finish(lease, large).await.unwrap();
}

#[tokio::test]
async fn references_are_paid_for_one_by_one_and_as_often_as_they_are_named() {
    each(Bounds::default(), async |kit| {
        fill(kit, 3).await;
        let purse = Purse::with(10 * SIZE);
        let budget = Budget::of(purse.clone());
        let named = ["1", "1", "unknown", "1"].map(str::to_owned).to_vec();
        let found = kit.store.items_by_id(&kit.owner, named, budget).await.unwrap();
        assert_eq!(found, [Some(item("1")), Some(item("1")), None, Some(item("1"))]);
        assert_eq!((purse.asked(), purse.ran.load(Ordering::Relaxed)), (vec![SIZE; 3], 1));

        // A thousand of them cost as much as can be paid, and one more is asked for.
        let purse = Purse::with(10 * SIZE);
        let named = vec!["1".to_owned(); 1000];
        let refused = kit.store.items_by_id(&kit.owner, named, Budget::of(purse.clone())).await;
        assert_eq!((refused, purse.asked().len()), (Err(StoreError::Unpaid), 11));
    })
    .await;
}

#[tokio::test]
async fn contexts_and_lists_end_where_nobody_pays() {
    each(Bounds::default(), async |kit| {
        fill(kit, 20).await;
        let purse = || Purse::with(5 * SIZE);
        for link in [parent("r"), conversation("v")] {
            let context = async |purse: &Arc<Purse>| {
                kit.store.context(&kit.owner, &link, Budget::of(purse.clone())).await
            };
            // All of it before any is read.
            let (rich, poor) = (Purse::with(30 * SIZE), purse());
            let bytes = context(&rich).await.unwrap().iter().map(|read| read.item.body.len() as u64).sum();
            assert!(bytes >= 20 * SIZE);
            assert_eq!(
                (context(&poor).await, rich.asked(), poor.asked()),
                (Err(StoreError::Unpaid), vec![bytes], vec![bytes])
            );
        }
        let (store, owner) = (&kit.store, &kit.owner);
        for list in ["items", "conversation", "completion"] {
            let (purse, all) = (purse(), page(u64::MAX, None));
            let budget = Budget::of(purse.clone());
            let read = match list {
                "items" => store.items(owner, "r", all, budget).await,
                "conversation" => store.conversation_items(owner, "v", all, budget).await,
                _ => store.completion_items(owner, "c", all, budget).await,
            };
            assert_eq!((read, purse.asked()), (Err(StoreError::Unpaid), vec![SIZE; 6]), "{list}");
        }
        let none = Purse::with(0);
        let read = store.completion_list(owner, vec![], page(u64::MAX, None), Budget::of(none.clone())).await;
        assert_eq!((read, none.asked()), (Err(StoreError::Unpaid), vec![SIZE]));
    })
    .await;
}

#[tokio::test]
async fn single_objects_are_paid_for_before_they_are_read() {
    each(Bounds::default(), async |kit| {
        fill(kit, 3).await;
        let (store, owner) = (&kit.store, &kit.owner);
        let read = async |what: &str, budget: Budget| match what {
            "response" => store.response(owner, "r", budget).await.map(drop),
            "conversation" => store.conversation_get(owner, "v", budget).await.map(drop),
            "item" => store.conversation_item(owner, "v", "1", budget).await.map(drop),
            _ => store.completion_get(owner, "c", budget).await.map(drop),
        };
        let response = store.response(owner, "r", Budget::default()).await.unwrap();
        let State::Ended(EndedResponse { result, output, .. }) = response.state else { panic!("it ended") };
        let response = result.len() + output.iter().map(|item| item.body.len()).sum::<usize>();
        let sizes =
            [("response", response as u64), ("conversation", 4), ("item", SIZE), ("completion", SIZE)];
        for (what, bytes) in sizes {
            let (rich, poor) = (Purse::with(bytes), Purse::with(bytes - 1));
            assert_eq!(read(what, Budget::of(rich.clone())).await, Ok(()), "{what}");
            assert_eq!(read(what, Budget::of(poor.clone())).await, Err(StoreError::Unpaid), "{what}");
            assert_eq!((rich.asked(), poor.asked()), (vec![bytes], vec![bytes]), "{what}");
            assert_eq!(rich.ran.load(Ordering::Relaxed), 1, "{what}");
        }
    })
    .await;
}

/// A context of 64 MiB may have a million items of a few bytes.
#[tokio::test]
async fn places_of_many_tiny_items_are_paid_for_before_they_are_read() {
    each(Bounds::default(), async |kit| {
        let tiny = |number: u64| StoredItem { id: number.to_string(), body: vec![b'x'] };
        let all = || (0..1500).map(tiny).collect::<Vec<_>>();
        let new = NewResponse { id: "r".into(), link: Link::Alone, request: vec![], input: all() };
        let lease = kit.store.create(&kit.owner, new).await.unwrap();
        kit.store.finish(lease, end(Status::Completed, "r")).await.unwrap();
        kit.store.conversation_create(&kit.owner, "v", vec![], all()).await.unwrap();
        for link in [parent("r"), conversation("v")] {
            let purse = Purse::with(2000);
            let read = kit.store.context(&kit.owner, &link, Budget::of(purse.clone())).await;
            assert_eq!(read, Err(StoreError::Unpaid));
            assert!(purse.asked()[0] > 400 * 128 && purse.asked().len() == 1, "{:?}", purse.asked());
            let read = kit.store.context(&kit.owner, &link, Budget::of(Purse::with(1 << 20))).await.unwrap();
            assert!(read.len() >= 1500);
        }
    })
    .await;
}

#[tokio::test]
async fn pages_end_at_their_bytes_and_their_first_element_always_comes() {
    each(Bounds::default(), async |kit| {
        fill(kit, 7).await;
        for (bytes, lengths) in [(3 * SIZE, vec![3, 3, 1]), (3 * SIZE - 1, vec![2, 2, 2, 1]), (1, vec![1; 7])]
        {
            for list in ["items", "conversation", "completion"] {
                let (mut pages, mut seen, mut after) = (Vec::new(), Vec::new(), None::<String>);
                loop {
                    let asked = page(bytes, after.as_deref());
                    let (store, owner, budget) = (&kit.store, &kit.owner, Budget::default());
                    let read = match list {
                        "items" => store.items(owner, "r", asked, budget).await,
                        "conversation" => store.conversation_items(owner, "v", asked, budget).await,
                        _ => store.completion_items(owner, "c", asked, budget).await,
                    }
                    .unwrap();
                    pages.push(read.data.len());
                    seen.extend(ids(&read.data).into_iter().map(str::to_owned));
                    after = seen.last().cloned();
                    if !read.more {
                        break;
                    }
                }
                assert_eq!((&pages, seen.len()), (&lengths, 7), "{list}, {bytes} bytes");
            }
        }
    })
    .await;
}
