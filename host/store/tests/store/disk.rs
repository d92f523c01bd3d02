//! A disk that is full or read-only, in a process whose files may not grow (`kill.rs` starts it):
//! calls fail and store no half, what is stored is read, and the store goes on when the disk does.

use rustix::process::{Resource, Rlimit, setrlimit};
use store::{Budget, Link, Sqlite, State, Status, Store, StoreError, StoredItem};

use crate::kill::{STREAMS, acknowledge, alice, child, foreground, options, whole};
use crate::kit::{end, item, new, path};

#[tokio::test]
async fn full_or_read_only_disk_loses_nothing_and_no_half() {
    let folder = tempfile::tempdir().unwrap();
    let output = child("disk", &path(&folder)).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let store = Sqlite::open(&path(&folder), &options()).unwrap();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let acknowledged = String::from_utf8(output.stdout).unwrap();
    let acknowledged = acknowledged.lines().filter_map(|line| line.strip_prefix("ack finished "));
    let mut count = 0;
    for id in acknowledged {
        assert!(matches!(whole(&store, id.trim_end_matches(" 0")).await.state, State::Ended(_)));
        count += 1;
    }
    // What was created and couldn't be ended is all that is there beside.
    let orphans = store.sweep().await.unwrap().len() as u64;
    assert_eq!(store.stats().await.unwrap().responses, count + orphans);
    assert!(count > STREAMS, "{count}");
}

fn limit_files(bytes: Option<u64>) {
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

/// The other process, whose disk fails.
pub(crate) async fn failing_disk(store: &Sqlite) {
    foreground(store, "before", Link::Alone).await;
    let lease = store.create(&alice(), new("during", Link::Alone)).await.unwrap();

    // No write at all succeeds, as on a disk that became read-only.
    limit_files(Some(0));
    for id in ["r1", "r2"] {
        let refused = store.create(&alice(), new(id, Link::Alone)).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        assert_eq!(store.response(&alice(), id, Budget::default()).await, Err(StoreError::NotFound));
    }
    let refused = store.finish(lease.clone(), end(Status::Completed, "during")).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    // An item that finished before the end, and is stored with it.
    let refused = store.add_output(&lease, 0, vec![item("during-out")]).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert_eq!(whole(store, "during").await.state, State::Running(vec![]));
    whole(store, "before").await;
    limit_files(None);
    store.finish(lease, end(Status::Completed, "during")).await.unwrap();
    acknowledge("finished", "during", 0);

    // Files can't grow, as on a full disk; writes from many tasks meet the end in one commit.
    limit_files(Some(1 << 20));
    let streams = (0..STREAMS).map(|stream| async move {
        for n in 0.. {
            let id = format!("{stream}-{n}");
            let mut new = new(&id, Link::Alone);
            new.input.insert(0, StoredItem { id: "ballast".into(), body: vec![7; 10_000] });
            let created = store.create(&alice(), new).await;
            let Ok(lease) = created else {
                assert!(matches!(created, Err(StoreError::Unavailable(_))), "{created:?}");
                return assert_eq!(
                    store.response(&alice(), &id, Budget::default()).await,
                    Err(StoreError::NotFound)
                );
            };
            match store.finish(lease.clone(), end(Status::Completed, &id)).await {
                Ok(_) => acknowledge("finished", &id, 0),
                Err(error) => {
                    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
                    return assert_eq!(whole(store, &id).await.state, State::Running(vec![]));
                }
            }
        }
    });
    futures_util::future::join_all(streams).await;

    // What SQLite can't write within a transaction makes it roll back the whole transaction by
    // itself, with other calls before and behind.
    limit_files(Some(8 << 20));
    let mixed = (0..STREAMS).map(|stream| async move {
        let mut new = new(&format!("mixed-{stream}"), Link::Alone);
        let size = if stream % 5 == 0 { 12 << 20 } else { 10 };
        new.input.insert(0, StoredItem { id: "ballast".into(), body: vec![7; size] });
        store.create(&alice(), new).await
    });
    let mixed = futures_util::future::join_all(mixed).await;
    limit_files(None);
    for (stream, created) in mixed.into_iter().enumerate() {
        let id = format!("mixed-{stream}");
        assert!(stream % 5 != 0 || created.is_err());
        match created {
            Ok(lease) => {
                store.finish(lease, end(Status::Completed, &id)).await.unwrap();
                acknowledge("finished", &id, 0);
            }
            Err(_) => {
                assert_eq!(store.response(&alice(), &id, Budget::default()).await, Err(StoreError::NotFound));
            }
        }
    }
    for stream in 0..STREAMS {
        foreground(store, &format!("after-{stream}"), Link::Alone).await;
    }
}
