//! What a client prefers, by its header `Accept`.

use http::{HeaderMap, header};

/// Whether a client wants HTML more than JSON. Browsers name HTML; programs name JSON, or take
/// anything.
pub(super) fn prefers_html(headers: &HeaderMap) -> bool {
    quality(headers, "text", "html") > quality(headers, "application", "json")
}

/// How much a client wants a type, from 0 to 1: as the most specific of its ranges says (RFC 9110,
/// 12.5.1).
fn quality(headers: &HeaderMap, kind: &str, subtype: &str) -> f32 {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(','));
    let matching = ranges.filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let specificity = match parts.next()?.split_once('/')? {
            ("*", "*") => 0,
            (of, "*") if of.eq_ignore_ascii_case(kind) => 1,
            (of, sub) if of.eq_ignore_ascii_case(kind) && sub.eq_ignore_ascii_case(subtype) => 2,
            _ => return None,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        Some((specificity, weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0))))
    });
    matching.max_by_key(|(specificity, _)| *specificity).map_or(0.0, |(_, quality)| quality)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_get_html_and_programs_json() {
        let html = [
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
            "text/html",
            "TEXT/HTML;level=1, */*;q=0.1",
            "text/*, application/json;q=0.5",
        ];
        let json = [
            "*/*",
            "application/json",
            "application/json, text/html;q=0.9",
            "text/html;q=0, */*",
            "application/json, text/plain, */*",
            "text/html;q=x",
            "text/html, application/json",
            "",
            "html",
        ];
        let prefers = |accept: &str| {
            let accept = accept.parse().expect("a header");
            prefers_html(&HeaderMap::from_iter([(header::ACCEPT, accept)]))
        };
        for accept in html {
            assert!(prefers(accept), "{accept}");
        }
        for accept in json {
            assert!(!prefers(accept), "{accept}");
        }
        assert!(!prefers_html(&HeaderMap::new()));
    }
}
