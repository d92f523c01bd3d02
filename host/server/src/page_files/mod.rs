//! Static files of the pages inside the binary, with the headers that bind them. They need no key,
//! since they hold nothing of this server; what a page shows it asks for with its reader's key.
//!
//! Invariant: a browser runs nothing in a page but these files. The policy allows no inline
//! scripts, no styles in attributes of the markup, no other origin, and no frame around the page.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, Method, Uri, header};

use crate::http::answer::typed;
use crate::http::methods::no_route;

/// What a browser may load for a page: its own files, and data of the same address.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file's name and text.
pub(crate) type File = (&'static str, &'static str);

/// Files of a folder: their names with their texts.
macro_rules! files {
    ($folder:literal: $($name:literal)+) => {
        &[$(($name, include_str!(concat!($folder, $name)))),+]
    };
}
pub(crate) use files;

/// Files that every page has.
const SHARED: &[File] = files! {
    "shared/":
    "asking.js" "base.css" "dom.js" "drops.js" "icon.svg" "key_dialog.js"
};

/// A page: its document, and the files of its own.
pub(crate) struct PageFiles {
    pub(crate) index: &'static str,
    pub(crate) own: &'static [File],
}

impl PageFiles {
    /// The document.
    pub(crate) fn document(&self) -> Response {
        served("text/html; charset=utf-8", self.index)
    }

    /// A file that the document loads; 404 for other names.
    pub(crate) async fn file(&self, name: &str, method: Method, uri: Uri) -> Response {
        let Some((_, text)) = self.own.iter().chain(SHARED).find(|(file, _)| *file == name) else {
            return no_route(method, uri).await;
        };
        let content_type = match name.rsplit_once('.') {
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            _ => "image/svg+xml",
        };
        served(content_type, text)
    }
}

fn served(content_type: &'static str, text: &'static str) -> Response {
    let mut response = typed(200, content_type, Body::from(text));
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        // The files change with the binary, and have no version in their names.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(headers);
    response
}

#[cfg(test)]
mod tests {
    use super::{File, POLICY, PageFiles, SHARED};
    use crate::{inspector, page};

    const PAGES: [(&str, &PageFiles); 2] =
        [("inspector/page", &inspector::FILES), ("page/files", &page::FILES)];

    fn assert_served(folder: &str, files: &[File]) {
        let path = format!("{}/src/{folder}", env!("CARGO_MANIFEST_DIR"));
        let found = std::fs::read_dir(path).expect("the folder");
        let mut found: Vec<String> = found
            .map(|file| file.expect("a file").file_name().into_string().expect("a name"))
            .filter(|name| name != "index.html")
            .collect();
        found.sort();
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, names, "{folder}");
    }

    #[test]
    fn every_file_of_a_page_is_served() {
        assert_served("page_files/shared", SHARED);
        for (folder, page) in PAGES {
            assert_served(folder, page.own);
        }
    }

    #[test]
    fn pages_write_no_markup_and_run_no_text() {
        let documents = PAGES.map(|(folder, page)| (folder, page.index));
        let own = PAGES.iter().flat_map(|(_, page)| page.own).copied();
        for (name, text) in own.chain(SHARED.iter().copied()).chain(documents) {
            for forbidden in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style="]
            {
                assert!(!text.contains(forbidden), "{name} has {forbidden}");
            }
        }
        assert!(!POLICY.contains("unsafe"));
    }
}
