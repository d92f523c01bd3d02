//! Every case of every parser, read through the trait in any pieces.

use dynamo_parsers_v2::{UnifiedParser, UnifiedParserOutput};
use gateway_tests::{CUTS, each_case, groups, read, texts};

use super::seen::{by_text, by_tokens, end, feed, ids, seen, started};

#[test]
fn text_in_any_pieces_gives_what_the_facade_does() {
    let count = each_case(|case| {
        if !case.reads_text {
            return;
        }
        let opening = texts(&case.opening);
        let expected = read(&case.reader, &case.request, &opening, &case.output, None, case.reason());
        for seed in 0..CUTS {
            assert_eq!(by_text(case, seed), expected, "{} cut by {seed}", case.name);
        }
    });
    assert!(count > 800, "{count} cases");
}

#[test]
fn token_ids_in_any_groups_give_what_the_facade_does() {
    each_case(|case| {
        let (opening, tokens) = (texts(&case.opening), Some(&case.tokens));
        let expected = read(&case.reader, &case.request, &opening, &case.output, tokens, case.reason());
        for seed in 0..CUTS {
            assert_eq!(by_tokens(case, seed), expected, "{} cut by {seed}", case.name);
        }
    });
}

#[test]
fn a_fork_goes_on_as_the_stream_does() {
    each_case(|case| {
        let ids = ids(&case.output);
        for (seed, at) in [ids.len() / 3, ids.len() / 2].into_iter().enumerate() {
            let (before, behind) = ids.split_at(at);
            let (mut parser, mut output) = (started(case), UnifiedParserOutput::default());
            for group in groups(before, 5, seed as u64) {
                parser.parse_token_ids_into(group, &mut output).expect("token ids");
            }
            let continuation = parser.continuation().expect("a stream").expect("is supported");
            let (mut fork, mut forked) = (continuation.fork().expect("a fork"), output.clone());
            parser.parse_token_ids_into(behind, &mut output).expect("token ids");
            end(&mut parser, case.is_whole, &mut output);
            fork.parse_token_ids_into(behind, &mut forked).expect("token ids");
            end(&mut *fork, case.is_whole, &mut forked);
            assert_eq!(forked.events, output.events, "{}", case.name);
        }
    });
}

#[test]
fn a_parser_that_was_reset_reads_a_new_stream() {
    each_case(|case| {
        if !case.reads_text {
            return;
        }
        let text = texts(&case.output);
        let (mut parser, mut output) = (started(case), UnifiedParserOutput::default());
        feed(&mut parser, &text, 2, &mut output);
        parser.reset();
        let mut output = UnifiedParserOutput::default();
        feed(&mut parser, &text, 3, &mut output);
        end(&mut parser, case.is_whole, &mut output);
        assert_eq!(seen(&output.events), by_text(case, 0), "{}", case.name);
    });
}
