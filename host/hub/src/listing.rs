//! Files of a repository as the hub lists them, with their sizes and digests.

use std::collections::BTreeMap;

use http::{HeaderMap, header};
use reqwest::Url;
use serde::Deserialize;

use super::HubError;
use super::name::is_hexadecimal;

/// A file as the hub lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HubFile {
    pub(super) bytes: u64,
    pub(super) digest: Digest,
}

/// Digest of a file, which is also its name in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Digest {
    /// SHA-1 of a Git blob: of a header with the size, and the content.
    Git(String),
    /// SHA-256 of the content, of a file in large file storage.
    Sha256(String),
}

impl Digest {
    /// The digits.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Git(text) | Self::Sha256(text) => text,
        }
    }
}

/// Files of a repository, by path.
pub(super) type Listing = BTreeMap<String, HubFile>;

/// Entry of a listing.
#[derive(Deserialize)]
pub(super) struct ListedEntry {
    #[serde(rename = "type")]
    pub(super) kind: String,
    path: String,
    #[serde(default)]
    oid: String,
    #[serde(default)]
    size: u64,
    lfs: Option<LargeFile>,
}

#[derive(Deserialize)]
struct LargeFile {
    oid: String,
    size: u64,
}

impl ListedEntry {
    /// Path and file, if digest and size make sense.
    pub(super) fn checked(self, url: &Url) -> Result<(String, HubFile), HubError> {
        let Self { path, oid, size, lfs, .. } = self;
        let (bytes, digest, digits) = match lfs {
            Some(LargeFile { oid, size }) => (size, Digest::Sha256(oid), 64),
            None => (size, Digest::Git(oid), 40),
        };
        if is_hexadecimal(digest.text(), digits) {
            Ok((path, HubFile { bytes, digest }))
        } else {
            Err(HubError::wrong(url.as_str(), format!("{path} has no digest")))
        }
    }
}

/// URL of the next page of a listing, as the header `Link` says (RFC 8288).
pub(super) fn next_page(url: &Url, headers: &HeaderMap) -> Option<Url> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    let next = link.split(',').find(|link| link.contains("rel=\"next\""))?;
    let (_, target) = next.split_once('<')?;
    url.join(target.split_once('>')?.0).ok()
}
