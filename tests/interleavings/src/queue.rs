//! Model of tokio's bounded queue, which doesn't run under loom. An atomic number counts the free
//! places; it is changed with the memory orderings of tokio's semaphore, so that the model orders
//! no more than tokio's queue does.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use loom::future::AtomicWaker;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};

pub(crate) mod error {
    #[derive(Debug)]
    pub(crate) enum TrySendError<T> {
        Full(T),
        Closed(T),
    }
}

use error::TrySendError;

struct Queue<T> {
    values: Mutex<VecDeque<T>>,
    places: AtomicUsize,
    closed: AtomicBool,
    ended: AtomicBool,
    reader: AtomicWaker,
}

pub(crate) struct Sender<T>(Arc<Queue<T>>);
pub(crate) struct Receiver<T>(Arc<Queue<T>>);

pub(crate) fn channel<T>(places: usize) -> (Sender<T>, Receiver<T>) {
    let queue = Arc::new(Queue {
        values: Mutex::new(VecDeque::new()),
        places: AtomicUsize::new(places),
        closed: AtomicBool::new(false),
        ended: AtomicBool::new(false),
        reader: AtomicWaker::new(),
    });
    (Sender(Arc::clone(&queue)), Receiver(queue))
}

impl<T> Sender<T> {
    pub(crate) fn capacity(&self) -> usize {
        self.0.places.load(Ordering::Acquire)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    pub(crate) fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        if self.is_closed() {
            return Err(TrySendError::Closed(value));
        }
        // There is one sender, so nobody else takes places.
        if self.0.places.load(Ordering::Acquire) == 0 {
            return Err(TrySendError::Full(value));
        }
        self.0.places.fetch_sub(1, Ordering::AcqRel);
        self.0.values.lock().expect("nothing panics with it").push_back(value);
        self.0.reader.wake();
        Ok(())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
        self.0.reader.wake();
    }
}

impl<T> Receiver<T> {
    pub(crate) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.reader.register_by_ref(cx.waker());
        let ended = self.0.ended.load(Ordering::Acquire);
        let value = self.0.values.lock().expect("nothing panics with it").pop_front();
        if value.is_some() {
            self.0.places.fetch_add(1, Ordering::Release);
            return Poll::Ready(value);
        }
        if ended { Poll::Ready(None) } else { Poll::Pending }
    }

    pub(crate) fn close(&mut self) {
        self.0.closed.store(true, Ordering::Release);
    }
}
