//! Tests of the chunks that the events of each kind become.

use engine::Token;
use serde_json::{Value, json};

use crate::kind::EngineKind;
use crate::wire::{self, Chunk, Piece, Room, WireEnd, WireFault};

/// Chunk of all `events` together.
fn read(kind: EngineKind, events: &[&str]) -> Result<Chunk, WireFault> {
    let (mut reader, mut chunk) = (wire::of(kind).reader(&[]), Chunk::new(Room { tokens: 8, text: 64 }));
    for event in events {
        reader.read(event.as_bytes(), &mut chunk)?;
    }
    Ok(chunk)
}

fn ids(chunk: &Chunk) -> Vec<u32> {
    let id = |piece: &Piece| if let Piece::Token(token) = piece { Some(token.id) } else { None };
    chunk.pieces.iter().filter_map(id).collect()
}

#[test]
fn sglang_tells_all_ids_or_the_new_ones() {
    let event = |ids: &[u32], count: usize, finish: Value| {
        let meta = json!({ "finish_reason": finish, "completion_tokens": count, "cached_tokens": 2 });
        json!({ "text": "", "output_ids": ids, "meta_info": meta }).to_string()
    };
    let stop = json!({ "type": "stop", "matched": 5 });
    let all = [
        event(&[1], 1, Value::Null),
        event(&[1, 2, 3], 3, Value::Null),
        event(&[1, 2, 3, 5], 4, stop.clone()),
    ];
    let new = [event(&[1], 1, Value::Null), event(&[2, 3], 3, Value::Null), event(&[5], 4, stop)];
    for events in [all, new] {
        let chunk = read(EngineKind::Sglang, &events.each_ref().map(String::as_str)).unwrap();
        assert_eq!(
            (ids(&chunk), &chunk.end, chunk.cached),
            (vec![1, 2, 3, 5], &Some(WireEnd::Stop(Some(5))), Some(2))
        );
    }
    let lost = event(&[3], 3, Value::Null);
    assert!(matches!(read(EngineKind::Sglang, &[&lost]), Err(WireFault::Unreadable(_))));
    let aborted = event(&[], 0, json!({ "type": "abort", "message": "full", "status_code": 503 }));
    assert_eq!(read(EngineKind::Sglang, &[&aborted]), Err(WireFault::Engine(Some(503), "full".to_owned())));
}

#[test]
fn prompt_logprobs_precede_the_answers_in_one_list() {
    let event = |text: &str, ids: Value, names: Value, told: Value| {
        let logprobs =
            json!({ "tokens": names, "token_logprobs": told, "top_logprobs": null, "text_offset": [] });
        json!({ "choices": [{ "text": text, "token_ids": ids, "logprobs": logprobs, "finish_reason": null }] }).to_string()
    };
    // vLLM sends the prompt with the first token, this server before it.
    let names = json!(["token_id:4", "token_id:5", "token_id:6", "token_id:9"]);
    let vllm = vec![event("ab c", json!([9]), names, json!([null, -1.5, -2.5, -0.5]))];
    let names = json!(["token_id:4", "token_id:5", "token_id:6"]);
    let own = vec![
        event("ab ", json!([]), names, json!([null, -1.5, -2.5])),
        event("c", json!([9]), json!(["token_id:9"]), json!([-0.5])),
    ];
    for events in [vllm, own] {
        let mut reader = wire::of(EngineKind::OpenAi).reader(&[4, 5, 6]);
        let mut chunk = Chunk::new(Room { tokens: 8, text: 64 });
        for event in &events {
            reader.read(event.as_bytes(), &mut chunk).unwrap();
        }
        let told = |token: &Token| (token.id, token.logprobs.as_ref().unwrap().chosen);
        assert_eq!(chunk.prompt_tokens.iter().map(told).collect::<Vec<_>>(), [(5, -1.5), (6, -2.5)]);
        let [Piece::Token(token)] = &chunk.pieces[..] else { panic!("{:?}", chunk.pieces) };
        assert_eq!(told(token), (9, -0.5));
    }
}

#[test]
fn llamacpp_characters_of_several_tokens_are_text() {
    let token = |content: &str, id: i64, count: usize| {
        json!({ "content": content, "tokens": [id], "tokens_predicted": count, "stop": false }).to_string()
    };
    let progress = r#"{"content":"","tokens":[-1],"tokens_predicted":0,"stop":false,"prompt_progress":{"total":9,"cache":4,"processed":9}}"#;
    let end = r#"{"content":"","tokens":[],"stop":true,"stop_type":"eos","tokens_predicted":4,"timings":{"cache_n":5}}"#;
    let chunk =
        read(EngineKind::LlamaCpp, &[progress, &token("a", 7, 1), &token("ã", 96, 3), &token("", 5, 4), end]);
    let chunk = chunk.unwrap();
    assert_eq!(ids(&chunk), [7, 5]);
    assert_eq!(chunk.pieces[1], Piece::Text("ã".to_owned()));
    assert_eq!((chunk.end, chunk.cached, chunk.is_over), (Some(WireEnd::Stop(None)), Some(5), true));
    assert_eq!(chunk.generated, Some(4));
}

#[test]
fn nothing_is_added_behind_the_end_or_beyond_the_room() {
    let openai = |ids: &[u32], text: &str, end: Value| {
        json!({ "choices": [{ "token_ids": ids, "text": text, "finish_reason": end }] }).to_string()
    };
    let usage =
        r#"{"choices":[],"usage":{"completion_tokens":99,"prompt_tokens_details":{"cached_tokens":2}}}"#;
    for kind in [EngineKind::OpenAi, EngineKind::Vllm] {
        let end = openai(&[7], "", json!("stop"));
        let more = openai(&[8, 9], "", json!("length"));
        let chunk = read(kind, &[&end, &more, usage, &more]).unwrap();
        assert_eq!((ids(&chunk), &chunk.end), (vec![7], &Some(WireEnd::Stop(None))), "{kind:?}");
        // The engine's count says nothing that the ids don't.
        assert_eq!((chunk.cached, chunk.generated, chunk.is_over), (Some(2), None, true));
        let chunk = read(kind, &[&openai(&[7; 9], "", Value::Null)]).unwrap();
        assert_eq!((ids(&chunk).len(), chunk.is_too_long, chunk.is_over), (8, true, true));
    }
    let text = |text: &str| json!({ "choices": [{ "text": text, "finish_reason": null }] }).to_string();
    let chunk = read(EngineKind::OpenAi, &[&text("a"), &text(&"\u{e4}".repeat(40)), &text("more")]).unwrap();
    let expected = [Piece::Text("a".to_owned()), Piece::Text("\u{e4}".repeat(31))];
    assert_eq!((&chunk.pieces[..], chunk.is_too_long), (&expected[..], true));
    let chunk = read(EngineKind::OpenAi, &[&text("a"), &openai(&[], "", json!("stop")), usage]).unwrap();
    assert_eq!(chunk.generated, Some(99), "the text's own count is unknown");
}

#[test]
fn unreadable_event_is_told_without_its_text() {
    for kind in EngineKind::ALL {
        for event in [r#"{"choices":"secret","meta_info":"secret","tokens":"secret"}"#, "secret"] {
            let fault = read(kind, &[event]).unwrap_err();
            let WireFault::Unreadable(words) = fault else { panic!("{kind:?} {fault:?}") };
            assert!(!words.contains("secret") && words.contains("bytes"), "{words}");
        }
        let finish = r#"{"choices":[{"finish_reason":"secret"}],"meta_info":{"completion_tokens":0,"finish_reason":{"type":"secret"}},"stop":true,"stop_type":"secret"}"#;
        let end = read(kind, &[finish]).unwrap().end;
        assert_eq!(end, Some(WireEnd::Aborted("it ended the answer for a reason of its own")), "{kind:?}");
    }
}

#[test]
fn log_probabilities_belong_to_their_tokens() {
    let openai = r#"{"choices":[{"text":"","token_ids":[7,8],"logprobs":{"token_logprobs":[-0.5,-1.0],"top_logprobs":[{"token_id:7":-0.5,"token_id:9":-2.0},null]}}]}"#;
    let vllm = r#"{"choices":[{"token_ids":[7,8],"logprobs":{"content":[{"token_id":7,"logprob":-0.5,"top_logprobs":[{"token_id":7,"logprob":-0.5},{"token_id":9,"logprob":-2.0}]},{"token_id":8,"logprob":-1.0}]}}]}"#;
    let sglang = r#"{"output_ids":[7,8],"meta_info":{"finish_reason":null,"completion_tokens":2,"output_token_logprobs":[[-0.5,7,null],[-1.0,8,null]],"output_top_logprobs":[[[-0.5,7,null],[-2.0,9,null]],null]}}"#;
    for (kind, event) in
        [(EngineKind::OpenAi, openai), (EngineKind::Vllm, vllm), (EngineKind::Sglang, sglang)]
    {
        let chunk = read(kind, &[event]).unwrap();
        let [Piece::Token(first), Piece::Token(second)] = &chunk.pieces[..] else { panic!("{chunk:?}") };
        let (first, second) = (first.logprobs.as_ref().unwrap(), second.logprobs.as_ref().unwrap());
        assert_eq!((first.chosen, &first.top), (-0.5, &vec![(7, -0.5), (9, -2.0)]));
        assert_eq!((second.chosen, &second.top), (-1.0, &Vec::new()));
    }
}

#[test]
fn errors_are_found_whatever_stands_around_them() {
    let errors = [
        r#"{"error":{"message":"no","code":400}}"#,
        r#"{"error": {"message": "no", "type": "x", "code": 400}}"#,
        r#"{"object":"error","message":"no","code":400}"#,
    ];
    for kind in EngineKind::ALL {
        for error in errors {
            assert_eq!(
                read(kind, &[error]),
                Err(WireFault::Engine(Some(400), "no".to_owned())),
                "{kind:?} {error}"
            );
        }
        for unreadable in ["", "{", "[]", "null", "<html>"] {
            assert!(
                matches!(read(kind, &[unreadable]), Err(WireFault::Unreadable(_))),
                "{kind:?} {unreadable}"
            );
        }
    }
}

#[test]
fn chunks_without_choices_say_nothing() {
    for kind in [EngineKind::OpenAi, EngineKind::Vllm] {
        let usage =
            r#"{"choices":[],"usage":{"prompt_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}"#;
        let chunk = read(kind, &[usage, "[DONE]"]).unwrap();
        assert_eq!((chunk.pieces.len(), chunk.end, chunk.cached, chunk.is_over), (0, None, Some(2), true));
    }
}

#[test]
fn answer_tokens_come_from_ids_or_text_never_both() {
    let [ids_alone, with_ids, text_alone, all_ids, end] = [
        r#"{"choices":[{"text":"","token_ids":[6],"finish_reason":null}]}"#,
        r#"{"choices":[{"text":"He","token_ids":[7],"finish_reason":null}]}"#,
        r#"{"choices":[{"text":"llo","finish_reason":null}]}"#,
        r#"{"choices":[{"text":"","token_ids":[7,8],"finish_reason":null}]}"#,
        r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#,
    ];
    let chunk = read(EngineKind::OpenAi, &[ids_alone, with_ids, end]).unwrap();
    assert_eq!((ids(&chunk), chunk.end), (vec![6, 7], Some(WireEnd::Stop(None))));
    // Text without ids came first, so it alone counts.
    let chunk = read(EngineKind::OpenAi, &[text_alone, with_ids, all_ids, end]).unwrap();
    let texts = ["llo", "He"].map(|text| Piece::Text(text.to_owned()));
    assert_eq!(chunk.pieces, texts);
    // Whether the ids of this text are missing or have come already can't be known.
    assert!(matches!(read(EngineKind::OpenAi, &[with_ids, text_alone]), Err(WireFault::Unreadable(_))));
}

#[test]
fn logprobs_are_found_by_the_ids_that_they_name() {
    let event = r#"{"choices":[{"text":"","token_ids":[6,7,8],"logprobs":{"tokens":["token_id:7","token_id:8"],"token_logprobs":[-0.5,-1.0]}}]}"#;
    let chunk = read(EngineKind::OpenAi, &[event]).unwrap();
    let chosen = |piece: &Piece| match piece {
        Piece::Token(token) => token.logprobs.as_ref().map(|logprobs| logprobs.chosen),
        Piece::Text(_) => panic!("ids are told"),
    };
    assert_eq!(chunk.pieces.iter().map(chosen).collect::<Vec<_>>(), [None, Some(-0.5), Some(-1.0)]);
}
