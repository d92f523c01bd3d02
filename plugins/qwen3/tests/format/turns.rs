//! How the tests play a turn: cut in several ways, with markers as text or as tokens, asked always or not; the items must agree.

use parser_sdk::testing::{Item, Player, play, request};
use parser_sdk::{FinishReason, Parser, Request};
use qwen3_parser::Qwen3;

/// Splits into pieces of these many characters, over and over.
pub(crate) fn cut<'a>(text: &'a str, sizes: &[usize]) -> Vec<&'a str> {
    let mut sizes = sizes.iter().copied().cycle();
    let (mut rest, mut pieces) = (text, Vec::new());
    while !rest.is_empty() {
        let size = sizes.next().unwrap_or(1).max(1);
        let at = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, tail) = rest.split_at(at);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// The items of a turn with its markers as tokens of their own and the text between them in pieces of `size` characters.
pub(crate) fn by_tokens(
    request: &Request,
    prompt: &str,
    output: &str,
    size: usize,
    reason: FinishReason,
) -> Vec<Item> {
    let markers = Qwen3::describe(&[]).expect("describe").markers;
    let mut player = Player::<Qwen3>::start(request).asking_always();
    player.prompt(prompt);
    let mut rest = output;
    while !rest.is_empty() {
        let next = |(index, marker): (usize, &String)| Some((rest.find(marker.as_str())?, index));
        let (at, index) = markers.iter().enumerate().filter_map(next).min().unwrap_or((rest.len(), 0));
        for piece in cut(&rest[..at], &[size]) {
            player.text(piece);
        }
        if at == rest.len() {
            break;
        }
        player.marker(u32::try_from(index).expect("few"));
        rest = &rest[at + markers[index].len()..];
    }
    player.finish(reason)
}

/// The items of a turn, which every way of cutting it must give.
pub(crate) fn items(request: &Request, prompt: &str, output: &str, reason: FinishReason) -> Vec<Item> {
    let whole = play::<Qwen3>(request, prompt, [output], reason);
    for sizes in [&[1][..], &[3], &[7], &[2, 11, 1]] {
        let pieces = play::<Qwen3>(request, prompt, cut(output, sizes), reason);
        assert_eq!(pieces, whole, "in pieces of {sizes:?}: {output}");
    }
    for size in [1, 5, 4096] {
        assert_eq!(by_tokens(request, prompt, output, size, reason), whole, "by tokens, {size}: {output}");
    }
    whole
}

/// The items of a turn that ended by itself, with the tools `get_weather` and `add` declared.
pub(crate) fn turn(output: &str) -> Vec<Item> {
    items(&tools(), "<|im_start|>assistant\n", output, FinishReason::Stop)
}

/// A request with two tools.
pub(crate) fn tools() -> Request {
    request(&["get_weather", "add"])
}
