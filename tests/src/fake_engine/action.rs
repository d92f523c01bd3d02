//! Actions of a fake engine in answer to a request, byte by byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// Action of a fake engine. The actions for a request run one after the other; then the connection
/// is closed.
#[derive(Clone)]
pub enum Action {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends one byte at a time, each in a packet of its own.
    SendByByte(Vec<u8>),
    /// Waits until the test adds a permit.
    Wait(Arc<Semaphore>),
    /// Waits until the client has disconnected.
    UntilDisconnect,
    /// Resets the connection.
    Reset,
    /// Sends the bytes again and again until the client disconnects or at least `most` bytes were
    /// sent; `sent` counts them.
    Flood {
        /// Bytes of one round.
        bytes: Vec<u8>,
        /// Number of bytes after which it ends.
        most: usize,
        /// Number of bytes that were sent.
        sent: Arc<AtomicUsize>,
    },
    /// Sends one of these parts at each tick. Ticks are multiples of the pace since 1970, so all
    /// streams share them, as they share an engine's steps.
    Paced(Arc<[Vec<u8>]>, Duration),
}

impl Action {
    /// Runs the action; fails if the client has disconnected.
    pub(super) async fn run(self, socket: &mut TcpStream) -> std::io::Result<()> {
        match self {
            Self::Send(bytes) => socket.write_all(&bytes).await,
            Self::SendByByte(bytes) => {
                for byte in bytes {
                    socket.write_all(&[byte]).await?;
                    tokio::task::yield_now().await;
                }
                Ok(())
            }
            Self::Wait(permits) => tokio::select! {
                permit = permits.acquire() => {
                    permit.expect("tests close none").forget();
                    Ok(())
                }
                result = disconnected(socket) => result,
            },
            Self::UntilDisconnect => disconnected(socket).await,
            Self::Reset => socket.set_zero_linger(),
            Self::Flood { bytes, most, sent } => {
                while sent.load(Ordering::SeqCst) < most {
                    socket.write_all(&bytes).await?;
                    sent.fetch_add(bytes.len(), Ordering::SeqCst);
                }
                Ok(())
            }
            Self::Paced(events, pace) => {
                for event in &*events {
                    tokio::select! {
                        () = next_tick(pace) => {}
                        result = disconnected(socket) => return result,
                    }
                    socket.write_all(event).await?;
                }
                Ok(())
            }
        }
    }
}

async fn next_tick(pace: Duration) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later than 1970");
    let past = now.as_nanos() % pace.as_nanos();
    let left = u64::try_from(pace.as_nanos() - past).expect("a short pace");
    tokio::time::sleep(Duration::from_nanos(left)).await;
}

/// Waits until the client sends something; fails when it disconnects.
async fn disconnected(socket: &mut TcpStream) -> std::io::Result<()> {
    let mut byte = [0];
    match socket.read(&mut byte).await? {
        0 => Err(std::io::ErrorKind::ConnectionAborted.into()),
        _ => Ok(()),
    }
}
