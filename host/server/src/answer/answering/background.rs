//! An answer that is generated without a client: its events are stored as they come.

use super::Answer;
use crate::answer::keeper::{Journal, Kept, Unstored};
use api::error::not_stored;
use api::event_buffer::EventBuffer;
use model::record::line::Delivery;

impl Answer {
    /// Generates the answer without a client, and stores its events in `journal` as they come. An
    /// answer that lost its lease is another host's, and ends here without a word.
    ///
    /// # Errors
    /// The last events can't be stored.
    pub(crate) async fn run_stored(mut self, mut journal: Journal) -> Result<(), Unstored> {
        self.record_delivery(Delivery::Stored);
        let mut buffer = EventBuffer::new();
        self.machine.begin(&mut buffer);
        let failed = self.drive_stored(&mut journal, &mut buffer).await.err();
        match failed {
            None => {}
            Some(store::StoreError::LeaseLost) => return Ok(()),
            Some(error) => {
                tracing::error!(id = %self.id, %error, "the answer's events can't be stored");
                self.withdraw(not_stored(), &mut buffer);
            }
        }
        self.record_events(&buffer);
        self.trace_events(buffer.len(), None);
        journal.add(&mut buffer);
        journal.send_again().await;
        let last = journal.take();
        let kept = self.keep(last.clone(), &mut buffer).await;
        self.record_end();
        if kept == Kept::Here {
            return Ok(());
        }
        Err(Unstored { last: journal.rest(last, &buffer), is_open: kept == Kept::Not })
    }

    /// Stores events until the answer's last ones are in the buffer.
    async fn drive_stored(
        &mut self,
        journal: &mut Journal,
        buffer: &mut EventBuffer,
    ) -> Result<(), store::StoreError> {
        loop {
            self.record_events(buffer);
            self.trace_events(buffer.len(), None);
            journal.add(buffer);
            if journal.is_full() {
                journal.flush().await?;
            }
            tokio::select! {
                biased;
                () = journal.due() => journal.flush().await?,
                over = self.advance(buffer) => if over {
                    return Ok(());
                },
            }
        }
    }
}
