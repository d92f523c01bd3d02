//! Download of one file: into a partial file that survives the process, from where it ended, until
//! its digest is right.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::{StatusCode, header};
use reqwest::Response;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::cache::{Cache, create_parent};
use super::client::HubClient;
use super::listing::{Digest, HubFile};
use super::tries::{Fault, Tries};
use super::{HubError, HubName};

/// Ending of a partial file. Python's tools have another, so that neither takes the other's.
pub(super) const PARTIAL: &str = "sluice.incomplete";
/// Most bytes of one request: what delivers large files ends longer answers.
const PIECE: u64 = 8 << 30;
/// Bytes after which a download that broke off counts as new.
const PROGRESS: u64 = 1 << 20;
const BUFFER: usize = 1 << 20;

/// A file to download.
pub(super) struct Download<'a> {
    pub(super) client: &'a HubClient,
    pub(super) cache: &'a Cache,
    pub(super) name: &'a HubName,
    pub(super) commit: &'a str,
    pub(super) path: &'a str,
    pub(super) file: &'a HubFile,
}

/// What has come of a file.
struct Partial {
    path: PathBuf,
    file: File,
    bytes: u64,
    hasher: Hasher,
}

enum Hasher {
    Git(Sha1),
    Sha256(Sha256),
}

impl Download<'_> {
    /// Downloads the file unless the cache has it, and puts it into the snapshot. `received` is
    /// called with the bytes that are there.
    pub(super) async fn run(&self, received: &dyn Fn(u64)) -> Result<(), HubError> {
        let blob = self.cache.blob(&self.file.digest);
        if !has_size(&blob, self.file.bytes) {
            let _lock = self.cache.lock(&self.file.digest).await?;
            if !has_size(&blob, self.file.bytes) {
                self.fetch(&blob, received).await?;
            }
        }
        received(self.file.bytes);
        self.cache.link(self.commit, self.path, &self.file.digest)
    }

    /// Downloads the first bytes of the file, at most `bytes`, unless they are there, and returns
    /// them. The rest goes on behind them.
    pub(super) async fn head(&self, bytes: u64) -> Result<Vec<u8>, HubError> {
        let blob = self.cache.blob(&self.file.digest);
        let bytes = bytes.min(self.file.bytes);
        if let Some(head) = self.present_head(&blob, bytes) {
            return Ok(head);
        }
        let _lock = self.cache.lock(&self.file.digest).await?;
        if let Some(head) = self.present_head(&blob, bytes) {
            return Ok(head);
        }
        let partial_path = partial_path(&blob);
        let mut partial = Partial::open(partial_path.clone(), self.file)?;
        self.receive_until(&mut partial, bytes, &|_| {}).await?;
        first_bytes(&partial_path, bytes).map_err(HubError::cache(&partial_path))
    }

    /// The first `bytes`, if they are in the cache.
    fn present_head(&self, blob: &Path, bytes: u64) -> Option<Vec<u8>> {
        let is_whole = has_size(blob, self.file.bytes);
        let path = if is_whole { blob.to_owned() } else { partial_path(blob) };
        first_bytes(&path, bytes).ok()
    }

    async fn fetch(&self, blob: &Path, received: &dyn Fn(u64)) -> Result<(), HubError> {
        let mut partial = Partial::open(partial_path(blob), self.file)?;
        for is_last in [false, true] {
            self.receive_until(&mut partial, self.file.bytes, received).await?;
            let found = partial.digest();
            if found == self.file.digest.text() {
                return partial.finish(blob);
            }
            if is_last {
                partial.discard();
                let reason =
                    format!("the hub lists the digest {}, and sends {found}", self.file.digest.text());
                return Err(HubError::wrong(self.path, reason));
            }
            partial.restart(self.file)?;
            tracing::warn!(file = self.path, "the digest is wrong: it is downloaded again");
        }
        Ok(())
    }

    /// Receives until `until` bytes are there.
    async fn receive_until(
        &self,
        partial: &mut Partial,
        until: u64,
        received: &dyn Fn(u64),
    ) -> Result<(), HubError> {
        let mut tries = Tries::default();
        while partial.bytes < until {
            let before = partial.bytes;
            let Err(fault) = self.receive(partial, until, received).await else { continue };
            if partial.bytes >= before + PROGRESS {
                tries = Tries::default();
            }
            if matches!(fault, Fault::Range) {
                partial.restart(self.file)?;
            }
            tries.wait(fault, &self.client.hub(), self.name).await?;
        }
        Ok(())
    }

    /// Receives one piece, which ends at `until` at the latest.
    async fn receive(&self, partial: &mut Partial, until: u64, received: &dyn Fn(u64)) -> Result<(), Fault> {
        let (first, size) = (partial.bytes, self.file.bytes);
        let end = until.min(first + PIECE);
        let range = (first > 0 || end < size).then_some((first, end - 1));
        let response = self.client.open(self.name, self.commit, self.path, range).await?;
        let end = if response.status() == StatusCode::PARTIAL_CONTENT {
            self.check_range(&response, partial)?;
            end
        } else {
            // The whole file comes.
            partial.restart(self.file)?;
            if let Some(sent) = response.content_length().filter(|sent| *sent < size) {
                return Err(self.other_size(partial, sent).into());
            }
            size
        };
        let mut body = self.client.body(response);
        while let Some(chunk) = body.chunk().await? {
            if chunk.len() as u64 > end - partial.bytes {
                let reason = format!("more than the {size} bytes that the hub lists come");
                return Err(HubError::wrong(self.path, reason).into());
            }
            partial.write(&chunk)?;
            received(partial.bytes);
            if until < size && partial.bytes >= until {
                return Ok(());
            }
        }
        if partial.bytes < end {
            return Err(Fault::Temporary("the file broke off".to_owned()));
        }
        Ok(())
    }

    /// Checks that a part of the file is the part that was asked for.
    fn check_range(&self, response: &Response, partial: &Partial) -> Result<(), HubError> {
        let (first, wanted) = (partial.bytes, self.file.bytes);
        let range = response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
        let (part, size) =
            range.and_then(|range| range.strip_prefix("bytes ")?.split_once('/')).unwrap_or_default();
        let begins = part.split_once('-').is_some_and(|(begin, _)| begin.parse() == Ok(first));
        match size.parse() {
            Ok(sent) if begins && sent != wanted => Err(self.other_size(partial, sent)),
            Ok(_) if begins => Ok(()),
            Err(_) if begins && size == "*" => Ok(()),
            _ => {
                let said = range.unwrap_or("nothing");
                let reason = format!("bytes from {first} on of {wanted} were asked for, and {said} came");
                Err(HubError::wrong(self.path, reason))
            }
        }
    }

    /// Error for a file of another size than the listed one, which what came is no part of.
    fn other_size(&self, partial: &Partial, sent: u64) -> HubError {
        partial.discard();
        let listed = self.file.bytes;
        let reason = format!(
            "the hub lists {listed} bytes, and sends a file of {sent}: it was changed meanwhile; try again"
        );
        HubError::wrong(self.path, reason)
    }
}

impl Partial {
    /// Opens the partial file, and reads what is there already.
    fn open(path: PathBuf, whole: &HubFile) -> Result<Self, HubError> {
        create_parent(&path)?;
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(HubError::cache(&path))?;
        let mut partial = Self { path, file, bytes: 0, hasher: Hasher::new(whole) };
        let size = partial.file.metadata().map_err(HubError::cache(&partial.path))?.len();
        if size > whole.bytes {
            partial.restart(whole)?;
        }
        let mut buffer = vec![0; BUFFER];
        loop {
            match partial.file.read(&mut buffer).map_err(HubError::cache(&partial.path))? {
                0 => return Ok(partial),
                count => {
                    partial.hasher.update(&buffer[..count]);
                    partial.bytes += count as u64;
                }
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), HubError> {
        self.file.write_all(bytes).map_err(HubError::cache(&self.path))?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn restart(&mut self, whole: &HubFile) -> Result<(), HubError> {
        let restarted = self.file.set_len(0).and_then(|()| self.file.rewind());
        restarted.map_err(HubError::cache(&self.path))?;
        (self.bytes, self.hasher) = (0, Hasher::new(whole));
        Ok(())
    }

    fn digest(&self) -> String {
        self.hasher.digest()
    }

    /// Removes the file, which is the beginning of no file that the hub lists. One that can't be
    /// removed is overwritten by the next download.
    fn discard(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Gives the file its final name, once the disk has it.
    fn finish(self, blob: &Path) -> Result<(), HubError> {
        let finished = self.file.sync_all().and_then(|()| fs::rename(&self.path, blob));
        finished.map_err(HubError::cache(blob))
    }
}

impl Hasher {
    fn new(whole: &HubFile) -> Self {
        match whole.digest {
            Digest::Git(_) => Self::Git(Sha1::new_with_prefix(format!("blob {}\0", whole.bytes))),
            Digest::Sha256(_) => Self::Sha256(Sha256::new()),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Git(hasher) => hasher.update(bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
        }
    }

    fn digest(&self) -> String {
        let digest = match self {
            Self::Git(hasher) => hasher.clone().finalize().to_vec(),
            Self::Sha256(hasher) => hasher.clone().finalize().to_vec(),
        };
        format!("{:x}", Bytes::from(digest))
    }
}

/// The first bytes of a file, which must have that many.
fn first_bytes(path: &Path, bytes: u64) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if file.metadata()?.len() < bytes {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let mut head = Vec::new();
    file.take(bytes).read_to_end(&mut head)?;
    Ok(head)
}

/// Path of the partial file of `blob`.
pub(super) fn partial_path(blob: &Path) -> PathBuf {
    blob.with_added_extension(PARTIAL)
}

/// Whether there is a file of this size.
pub(super) fn has_size(path: &Path, bytes: u64) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == bytes)
}
