//! Threads: chains of turns that are read as what a later one continues, each continued once.

use std::time::Duration;

use store::{Bounds, Budget, Finished, Lease, Link, NewResponse, Status, StoreError};

use crate::kit::{Kit, each, end, ids, item};

fn turn(after: Option<&str>) -> Link {
    after.map_or(Link::Thread, |id| Link::Turn(id.to_owned()))
}

async fn begin(kit: &Kit, id: &str, after: Option<&str>) -> Result<Lease, StoreError> {
    let new = NewResponse {
        id: id.to_owned(),
        link: turn(after),
        request: vec![],
        input: vec![item(&format!("{id}-in"))],
    };
    kit.store.create(&kit.owner, new).await
}

async fn finish(kit: &Kit, lease: Lease, status: Status) {
    let id = lease.id().to_owned();
    assert_eq!(kit.store.finish(lease, end(status, &id)).await, Ok(Finished::Now));
}

async fn context(kit: &Kit, id: &str) -> Result<Vec<String>, StoreError> {
    let read = kit.store.context(&kit.owner, &turn(Some(id)), Budget::default()).await?;
    let items: Vec<_> = read.into_iter().map(|context| context.item).collect();
    Ok(ids(&items).into_iter().map(str::to_owned).collect())
}

#[tokio::test]
async fn a_thread_is_read_by_its_last_turn_and_continued_once() {
    each(Bounds::default(), async |kit| {
        let first = begin(kit, "a", None).await.unwrap();
        assert_eq!(context(kit, "a").await, Err(StoreError::NotFound), "it runs");
        finish(kit, first, Status::Completed).await;
        let second = begin(kit, "b", Some("a")).await.unwrap();
        assert_eq!(begin(kit, "c", Some("a")).await.unwrap_err(), StoreError::Continued { running: true });
        finish(kit, second, Status::Incomplete).await;
        assert_eq!(begin(kit, "c", Some("a")).await.unwrap_err(), StoreError::Continued { running: false });
        let read = context(kit, "b").await.unwrap();
        let own = |id: &str| read.iter().filter(|item| item.starts_with(id)).count();
        assert_eq!((read[0].as_str(), own("a") + own("b")), ("a-in", read.len()));
        assert_eq!(kit.store.check().await.unwrap(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_fails_or_is_lost_leaves_its_thread_as_it_was() {
    each(Bounds::default(), async |kit| {
        let first = begin(kit, "a", None).await.unwrap();
        finish(kit, first, Status::Completed).await;
        for status in [Status::Failed, Status::Cancelled] {
            let failing = begin(kit, "b", Some("a")).await.unwrap();
            finish(kit, failing, status).await;
            assert_eq!(context(kit, "b").await, Err(StoreError::NotFound));
        }
        begin(kit, "b", Some("a")).await.unwrap();
        kit.clock.advance(Duration::from_secs(21));
        assert!(kit.store.sweep().await.unwrap().is_empty(), "nobody has to end it");
        let again = begin(kit, "b", Some("a")).await.unwrap();
        finish(kit, again, Status::Completed).await;
        assert_eq!(kit.store.check().await.unwrap(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn turns_are_no_responses_and_responses_no_turns() {
    each(Bounds::default(), async |kit| {
        let first = begin(kit, "a", None).await.unwrap();
        finish(kit, first, Status::Completed).await;
        let store = &kit.store;
        assert_eq!(
            store.response(&kit.owner, "a", Budget::default()).await.unwrap_err(),
            StoreError::NotFound
        );
        assert_eq!(store.delete(&kit.owner, "a").await, Err(StoreError::NotFound));
        let named = store.items_by_id(&kit.owner, vec!["a-in".to_owned()], Budget::default()).await.unwrap();
        assert_eq!(named, [None]);
        let parent = Link::Parent("a".to_owned());
        assert_eq!(
            store.context(&kit.owner, &parent, Budget::default()).await.unwrap_err(),
            StoreError::NotFound
        );
        let new = NewResponse { id: "r".to_owned(), link: Link::Alone, request: vec![], input: vec![] };
        let response = store.create(&kit.owner, new).await.unwrap();
        finish(kit, response, Status::Completed).await;
        assert_eq!(begin(kit, "b", Some("r")).await.unwrap_err(), StoreError::NotFound);
        assert_eq!(context(kit, "r").await, Err(StoreError::NotFound));
    })
    .await;
}
