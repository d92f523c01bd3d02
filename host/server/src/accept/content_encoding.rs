//! Decompresses request bodies in gzip or zstd (RFC 9110, 8.4), piece by piece, so that a small
//! body which decompresses to a large one is refused as soon as it is too large.

use std::io::Read;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use api::error::ApiError;

/// Compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    /// The body isn't compressed.
    None,
    Gzip,
    Zstd,
}

/// Number of bytes that are decompressed at a time.
const PIECE: usize = 64 << 10;
/// Base-2 logarithm of the largest window of a zstd frame that RFC 9659 allows in HTTP.
const ZSTD_WINDOW: u32 = 23;

/// Compression given by `Content-Encoding`.
///
/// # Errors
/// 415 for any other encoding, and for several encodings of one body.
pub(crate) fn of_headers(headers: &HeaderMap) -> Result<ContentEncoding, ApiError> {
    let mut given = headers.get_all(CONTENT_ENCODING).iter();
    let name = match (given.next(), given.next()) {
        (None, _) => return Ok(ContentEncoding::None),
        (Some(name), None) => name.to_str().unwrap_or_default().trim().to_ascii_lowercase(),
        (Some(_), Some(_)) => String::new(),
    };
    match name.as_str() {
        "identity" => Ok(ContentEncoding::None),
        "gzip" | "x-gzip" => Ok(ContentEncoding::Gzip),
        "zstd" => Ok(ContentEncoding::Zstd),
        _ => Err(ApiError::unsupported_media_type("Expected a body as it is, or packed with gzip or zstd.")),
    }
}

/// The decompressed body. `hold` is called with the size of each piece before the piece is kept.
///
/// # Errors
/// 413 if it is larger than `limit`, 400 if the data is damaged, or the error of `hold`.
pub(crate) fn unpack(
    body: Bytes,
    encoding: ContentEncoding,
    limit: usize,
    hold: impl FnMut(usize) -> Result<(), ApiError>,
) -> Result<Bytes, ApiError> {
    match encoding {
        ContentEncoding::None => Ok(body),
        ContentEncoding::Gzip => gather(MultiGzDecoder::new(&*body), "gzip", limit, hold),
        ContentEncoding::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(&*body).map_err(|_| damaged("zstd"))?;
            decoder.window_log_max(ZSTD_WINDOW).map_err(|_| damaged("zstd"))?;
            gather(decoder, "zstd", limit, hold)
        }
    }
}

fn gather(
    mut unpacked: impl Read,
    name: &str,
    limit: usize,
    mut hold: impl FnMut(usize) -> Result<(), ApiError>,
) -> Result<Bytes, ApiError> {
    let mut whole = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let read = unpacked.read(&mut piece).map_err(|_| damaged(name))?;
        if read == 0 {
            return Ok(whole.into());
        }
        if whole.len() + read > limit {
            return Err(ApiError::too_large(limit));
        }
        hold(read)?;
        whole.extend_from_slice(&piece[..read]);
    }
}

fn damaged(name: &str) -> ApiError {
    ApiError::invalid(
        None,
        format!("The request body says that it is packed with {name}, and can't be unpacked."),
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &[u8]) -> Bytes {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap().into()
    }

    fn packed(text: &[u8]) -> [(ContentEncoding, Bytes); 2] {
        [
            (ContentEncoding::Gzip, gzip(text)),
            (ContentEncoding::Zstd, zstd::encode_all(text, 1).unwrap().into()),
        ]
    }

    #[test]
    fn what_was_packed_comes_out_and_is_held_once() {
        let text = "abc".repeat(100_000);
        for (kind, body) in packed(text.as_bytes()) {
            let mut kept = 0;
            let hold = |bytes| {
                kept += bytes;
                Ok(())
            };
            assert_eq!(unpack(body, kind, text.len(), hold).unwrap(), text.as_bytes());
            assert_eq!(kept, text.len());
        }
    }

    #[test]
    fn overlarge_unpacked_body_is_refused_before_held() {
        for (kind, body) in packed(&vec![0; 32 << 20]) {
            let mut kept = 0;
            let hold = |bytes| {
                kept += bytes;
                Ok(())
            };
            assert_eq!(unpack(body, kind, 1 << 20, hold).unwrap_err().status, 413);
            assert!(kept <= 1 << 20);
        }
    }

    #[test]
    fn damaged_bodies_and_large_windows_are_refused() {
        for (kind, body) in packed(b"some text that is long enough to be cut") {
            let cut = body.slice(..body.len() - 3);
            assert_eq!(unpack(cut, kind, 1 << 20, |_| Ok(())).unwrap_err().status, 400);
            assert_eq!(unpack(Bytes::from_static(b"no"), kind, 1 << 20, |_| Ok(())).unwrap_err().status, 400);
        }
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(ZSTD_WINDOW + 1).unwrap();
        encoder.write_all(&vec![7; 20 << 20]).unwrap();
        let wide = encoder.finish().unwrap().into();
        assert_eq!(unpack(wide, ContentEncoding::Zstd, 32 << 20, |_| Ok(())).unwrap_err().status, 400);
    }

    #[test]
    fn only_known_encodings_are_taken() {
        let given = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, http::HeaderValue::from_static(value));
            }
            of_headers(&headers).map_err(|error| error.status)
        };
        assert_eq!(given(&[]), Ok(ContentEncoding::None));
        assert_eq!(given(&["identity"]), Ok(ContentEncoding::None));
        assert_eq!(given(&["GZIP"]), Ok(ContentEncoding::Gzip));
        assert_eq!(given(&["zstd"]), Ok(ContentEncoding::Zstd));
        for other in [&["br"][..], &["gzip, gzip"], &["gzip", "zstd"], &[""]] {
            assert_eq!(given(other), Err(415), "{other:?}");
        }
    }
}
