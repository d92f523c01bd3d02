//! What a fake engine does with a request, byte by byte.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// What is done with a request, one act after the other; then the connection is closed.
#[derive(Clone)]
pub enum Act {
    /// These bytes.
    Send(Vec<u8>),
    /// One byte at a time, each in a packet of its own.
    SendByByte(Vec<u8>),
    /// Nothing until the test adds a permit for it.
    Wait(Arc<Semaphore>),
    /// Nothing until the client has gone.
    UntilGone,
    /// The connection is reset.
    Reset,
    /// These bytes one after the other, at ticks that all streams share, as those of an engine's steps are: multiples of the pace since 1970.
    Paced(Arc<[Vec<u8>]>, Duration),
}

impl Act {
    /// Fails if the client has gone.
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
                gone = gone(socket) => gone,
            },
            Self::UntilGone => gone(socket).await,
            Self::Reset => socket.set_zero_linger(),
            Self::Paced(events, pace) => {
                for event in &*events {
                    tokio::select! {
                        () = next_tick(pace) => {}
                        gone = gone(socket) => return gone,
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

/// Fails when the client has gone.
async fn gone(socket: &mut TcpStream) -> std::io::Result<()> {
    let mut byte = [0];
    match socket.read(&mut byte).await? {
        0 => Err(std::io::ErrorKind::ConnectionAborted.into()),
        _ => Ok(()),
    }
}
