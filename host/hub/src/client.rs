//! Requests to the hub: redirects, the token, errors in its words, tries.
//!
//! Invariants: the token goes to the hub's own origin only; a redirect never leads from `https` to
//! `http`, and brings no name and password; every body is bounded, in bytes and in time.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::cache::variable;
use super::listing::{ListedEntry, Listing, next_page};
use super::name::is_commit;
use super::pace::PacedBody;
use super::similar::similar;
use super::token::Token;
use super::tries::{Fault, Tries, wait_time};
use super::{HubError, HubName};
use net::printable::shortened;
use net::tls::with_tls;
use net::{connection_words, read_body};

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
const CONNECT_TIME: Duration = Duration::from_secs(20);
/// Variable for the longest silence of a connection in seconds, as Python's tools have it, and its
/// default. An answer that isn't a file comes within that time as a whole.
const READ_TIME_VARIABLE: &str = "HF_HUB_DOWNLOAD_TIMEOUT";
const READ_TIME: Duration = Duration::from_mins(1);
const MAX_REDIRECTS: usize = 8;
/// Largest answer that isn't a file, and most pages of a listing.
const MAX_ANSWER: usize = 32 << 20;
const MAX_PAGES: usize = 100;
/// Longest message of the hub that is shown, in bytes.
const MAX_MESSAGE: usize = 300;
/// Client of the hub.
pub(super) struct HubClient {
    http: Client,
    endpoint: Url,
    token: Option<Token>,
    read_time: Duration,
}

#[derive(Deserialize)]
struct Revision {
    sha: String,
}

impl HubClient {
    /// Client of the hub that `HF_ENDPOINT` names, with the token of `HF_TOKEN` or Hugging Face's
    /// own tools.
    pub(super) fn from_environment() -> Result<Self, HubError> {
        let endpoint = variable("HF_ENDPOINT").map(|url| url.to_string_lossy().into_owned());
        let endpoint = endpoint.as_deref().unwrap_or(DEFAULT_ENDPOINT).trim_end_matches('/');
        let url = Url::parse(&format!("{endpoint}/")).ok().filter(|url| url.scheme().starts_with("http"));
        let url = url
            .ok_or_else(|| HubError::Settings(format!("HF_ENDPOINT: {endpoint} is no http or https URL")))?;
        let read_time = read_time()?;
        let builder = Client::builder()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIME)
            .read_timeout(read_time)
            .user_agent(concat!("sluice/", env!("CARGO_PKG_VERSION")));
        // A hub behind `http` may redirect to `https`, so that certificates are needed in any case.
        let http = with_tls(builder, true, None)
            .and_then(|builder| builder.build().map_err(|error| connection_words(&error)))
            .map_err(HubError::Settings)?;
        Ok(Self { http, endpoint: url, token: Token::from_environment()?, read_time })
    }

    /// URL of the hub, for messages.
    pub(super) fn hub(&self) -> String {
        self.endpoint.as_str().trim_end_matches('/').to_owned()
    }

    fn route(&self, path: &str) -> Result<Url, HubError> {
        self.endpoint.join(path).map_err(|error| HubError::wrong(path, error.to_string()))
    }

    /// The commit that the name's revision is now.
    pub(super) async fn commit(&self, name: &HubName) -> Result<String, HubError> {
        let revision = name.revision().replace('/', "%2F");
        let url = self.route(&format!("api/models/{}/revision/{revision}", name.repository()))?;
        let (Revision { sha }, _) = self.json(&url, name).await?;
        if is_commit(&sha) { Ok(sha) } else { Err(HubError::wrong(url, "it names no commit")) }
    }

    /// Files of a commit.
    pub(super) async fn files(&self, name: &HubName, commit: &str) -> Result<Listing, HubError> {
        let route = format!("api/models/{}/tree/{commit}?recursive=true&expand=false", name.repository());
        let mut url = self.route(&route)?;
        let mut listing = Listing::new();
        for _ in 0..MAX_PAGES {
            let (entries, headers): (Vec<ListedEntry>, _) = self.json(&url, name).await?;
            for entry in entries.into_iter().filter(|entry| entry.kind == "file") {
                let (path, file) = entry.checked(&url)?;
                listing.insert(path, file);
            }
            match next_page(&url, &headers) {
                None => return Ok(listing),
                Some(next) if next.origin() == self.endpoint.origin() && !brings_user(&url, &next) => {
                    url = next;
                }
                Some(_) => return Err(HubError::wrong(url, "the next page of its listing is elsewhere")),
            }
        }
        Err(HubError::wrong(url, format!("its listing has more than {MAX_PAGES} pages")))
    }

    /// Opens a file, or its bytes `first..=last`.
    pub(super) async fn open(
        &self,
        name: &HubName,
        commit: &str,
        path: &str,
        range: Option<(u64, u64)>,
    ) -> Result<Response, Fault> {
        self.send(self.route(&format!("{}/resolve/{commit}/{path}", name.repository()))?, name, range).await
    }

    /// Reader of an opened file's bytes.
    pub(super) fn body(&self, file: Response) -> PacedBody {
        PacedBody::new(file, self.read_time)
    }

    async fn json<T: DeserializeOwned>(&self, url: &Url, name: &HubName) -> Result<(T, HeaderMap), HubError> {
        let mut tries = Tries::default();
        loop {
            match self.answer(url, name).await {
                Ok((body, headers)) => {
                    let value = serde_json::from_slice(&body);
                    let wrong =
                        |error| HubError::wrong(url.as_str(), format!("not the expected JSON: {error}"));
                    return Ok((value.map_err(wrong)?, headers));
                }
                Err(fault) => tries.wait(fault, &self.hub(), name).await?,
            }
        }
    }

    async fn answer(&self, url: &Url, name: &HubName) -> Result<(Vec<u8>, HeaderMap), Fault> {
        let response = self.send(url.clone(), name, None).await?;
        let headers = response.headers().clone();
        let body = tokio::time::timeout(self.read_time, read_body(response, MAX_ANSWER)).await;
        let body = body.unwrap_or_else(|_| Err("no whole answer in time".to_owned()));
        Ok((body.map_err(Fault::Temporary)?, headers))
    }

    async fn send(&self, mut url: Url, name: &HubName, range: Option<(u64, u64)>) -> Result<Response, Fault> {
        for _ in 0..MAX_REDIRECTS {
            let mut request = self.http.get(url.clone()).header(header::ACCEPT_ENCODING, "identity");
            if let Some((first, last)) = range {
                request = request.header(header::RANGE, format!("bytes={first}-{last}"));
            }
            let is_hub = url.origin() == self.endpoint.origin();
            if let Some(token) = self.token.as_ref().filter(|_| is_hub) {
                request = request.header(header::AUTHORIZATION, token.header.clone());
            }
            let response = request.send().await.map_err(|error| {
                let words = connection_words(&error);
                let is_silent = error.is_connect() || error.is_timeout();
                if is_silent { Fault::Unreachable(words) } else { Fault::Temporary(words) }
            })?;
            let location =
                response.headers().get(header::LOCATION).filter(|_| response.status().is_redirection());
            match location {
                Some(location) => url = redirected(&url, location)?,
                None if response.status().is_success() => return Ok(response),
                None => return Err(self.fault(&response, is_hub, name)),
            }
        }
        Err(HubError::wrong(url, format!("more than {MAX_REDIRECTS} redirects")).into())
    }

    /// What an answer other than a success means.
    fn fault(&self, response: &Response, is_hub: bool, name: &HubName) -> Fault {
        let text =
            |header: &str| response.headers().get(header).and_then(|value| value.to_str().ok()).unwrap_or("");
        let (status, message) = (response.status(), shortened(text("x-error-message"), MAX_MESSAGE));
        let host = response.url().host_str().unwrap_or_default();
        let said = format!("{host} answers {status} {message}").trim_end().to_owned();
        match (status, text("x-error-code")) {
            (StatusCode::RANGE_NOT_SATISFIABLE, _) => Fault::Range,
            (StatusCode::TOO_MANY_REQUESTS, _) => {
                Fault::Busy(wait_time(text("ratelimit"), text("retry-after")))
            }
            // An address that was signed for this download has expired.
            _ if !is_hub || status.is_server_error() => Fault::Temporary(said),
            (_, "GatedRepo") => HubError::Gated {
                name: name.repository().to_owned(),
                hub: self.hub(),
                remedy: if self.token.is_some() {
                    "with the account of your token"
                } else {
                    "and give a token of that account in HF_TOKEN"
                },
            }
            .into(),
            (_, "RevisionNotFound") => HubError::Revision { name: name.to_string() }.into(),
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, "")
                if self.refuses_token(status, &message) =>
            {
                self.refused_token(message).into()
            }
            (StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND, "" | "RepoNotFound") => HubError::Unknown {
                name: name.repository().to_owned(),
                hub: self.hub(),
                remedy: if self.token.is_some() {
                    "check the name, and what your token may read"
                } else {
                    "check the name, or give a token in HF_TOKEN"
                },
                similar: similar(name.repository()),
            }
            .into(),
            _ => HubError::wrong(response.url().as_str(), said).into(),
        }
    }

    /// Whether an answer is about the token: one that isn't valid gets the status of an unknown
    /// repository, and differs in its message.
    fn refuses_token(&self, status: StatusCode, message: &str) -> bool {
        self.token.is_some() && (status == StatusCode::FORBIDDEN || message.contains("nvalid"))
    }

    fn refused_token(&self, message: String) -> HubError {
        let origin = self.token.as_ref().map_or_else(String::new, |token| token.origin.clone());
        HubError::Token { hub: self.hub(), origin, message }
    }
}

fn read_time() -> Result<Duration, HubError> {
    let Some(given) = variable(READ_TIME_VARIABLE) else { return Ok(READ_TIME) };
    let seconds = given.to_str().and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
    let wrong = || HubError::Settings(format!("{READ_TIME_VARIABLE}: expected a number of seconds"));
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// Where a redirect leads.
fn redirected(from: &Url, location: &HeaderValue) -> Result<Url, HubError> {
    let location = location.to_str().unwrap_or_default();
    let url =
        from.join(location).map_err(|error| HubError::wrong(from.as_str(), format!("redirect: {error}")))?;
    match (from.scheme(), url.scheme()) {
        _ if brings_user(from, &url) => {
            let reason = "it redirects to an address with a name of a user, which isn't followed";
            Err(HubError::wrong(from.as_str(), reason))
        }
        (_, "https") | ("http", "http") => Ok(url),
        (_, scheme) => {
            Err(HubError::wrong(from.as_str(), format!("it redirects to {scheme}, which isn't followed")))
        }
    }
}

/// Whether an address has a name or a password that `from`, which led to it, hasn't at the same
/// place: they would go into the request's head.
fn brings_user(from: &Url, to: &Url) -> bool {
    let user = |url: &Url| (url.username().to_owned(), url.password().map(str::to_owned));
    let is_kept = user(to) == user(from) && to.origin() == from.origin();
    user(to) != Default::default() && !is_kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_keep_https_and_leave_no_web() {
        let to = |from: &str, location| {
            redirected(&Url::parse(from).unwrap(), &HeaderValue::from_static(location)).map(String::from)
        };
        assert_eq!(to("https://hub/a/b", "/c").unwrap(), "https://hub/c");
        assert_eq!(to("http://hub/a", "http://cdn/x").unwrap(), "http://cdn/x");
        for location in ["http://cdn/x", "file:///etc/passwd", "ftp://cdn/x"] {
            assert!(to("https://hub/a", location).unwrap_err().to_string().contains("isn't followed"));
        }
        assert_eq!(to("https://me:key@hub/a", "/c").unwrap(), "https://me:key@hub/c");
        for location in ["https://HUB@other/x", "//u:p@hub/x", "https://:p@hub/x"] {
            assert!(to("https://hub/a", location).unwrap_err().to_string().contains("a name of a user"));
        }
    }
}
