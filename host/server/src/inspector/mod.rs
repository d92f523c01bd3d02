//! The inspector's page: static files inside the binary, on the admin address. They need no key,
//! since they hold nothing of this server; what the page shows it asks for with the operator's key.
//!
//! Invariant: a browser runs nothing in the page but these files. The policy allows no inline
//! scripts, no styles in attributes of the markup, no other origin, and no frame around the page.

use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use http::{HeaderValue, Method, Uri, header};

use crate::http::answer::typed;
use crate::http::routes::no_route;

/// What a browser may load for the page: its own files, and data of the same address.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The files beside `index.html`.
const FILES: [(&str, &str); 26] = [
    ("address.js", include_str!("page/address.js")),
    ("answers.js", include_str!("page/answers.js")),
    ("api.js", include_str!("page/api.js")),
    ("beat_view.js", include_str!("page/beat_view.js")),
    ("checks.js", include_str!("page/checks.js")),
    ("detail.js", include_str!("page/detail.js")),
    ("dialogs.js", include_str!("page/dialogs.js")),
    ("dom.js", include_str!("page/dom.js")),
    ("drop.js", include_str!("page/drop.js")),
    ("icon.svg", include_str!("page/icon.svg")),
    ("items.js", include_str!("page/items.js")),
    ("keys.js", include_str!("page/keys.js")),
    ("lanes.css", include_str!("page/lanes.css")),
    ("lanes.js", include_str!("page/lanes.js")),
    ("line.js", include_str!("page/line.js")),
    ("links.js", include_str!("page/links.js")),
    ("main.js", include_str!("page/main.js")),
    ("overview.js", include_str!("page/overview.js")),
    ("phases.js", include_str!("page/phases.js")),
    ("player.js", include_str!("page/player.js")),
    ("prompt.css", include_str!("page/prompt.css")),
    ("prompt.js", include_str!("page/prompt.js")),
    ("search.js", include_str!("page/search.js")),
    ("style.css", include_str!("page/style.css")),
    ("trace.js", include_str!("page/trace.js")),
    ("words.js", include_str!("page/words.js")),
];

/// `GET /inspector`.
pub(crate) async fn page() -> Response {
    served("text/html; charset=utf-8", include_str!("page/index.html"))
}

/// `GET /inspector/{file}`.
pub(crate) async fn file(Path(name): Path<String>, method: Method, uri: Uri) -> Response {
    let Some((_, text)) = FILES.iter().find(|(file, _)| *file == name) else {
        return no_route(method, uri).await;
    };
    let content_type = match name.rsplit_once('.') {
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        _ => "image/svg+xml",
    };
    served(content_type, text)
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
    use super::{FILES, POLICY};

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/inspector/page");
        let files = std::fs::read_dir(folder).expect("the page's folder");
        let mut found: Vec<String> = files
            .map(|file| file.expect("a file").file_name().into_string().expect("a name"))
            .filter(|name| name != "index.html")
            .collect();
        found.sort();
        assert_eq!(found, FILES.map(|(name, _)| name));
    }

    #[test]
    fn the_page_writes_no_markup_and_runs_no_text() {
        let index = ("index.html", include_str!("page/index.html"));
        for (name, text) in FILES.into_iter().chain([index]) {
            for forbidden in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style="]
            {
                assert!(!text.contains(forbidden), "{name} has {forbidden}");
            }
        }
        assert!(!POLICY.contains("unsafe"));
    }
}
