//! Ids of calls: the model's own where clients can be given it, else the host's.

use super::*;
use crate::CallIds;
use contract::ToolCall;

/// Ids that clients see of calls that have these ids of the model's own, and the turn's fault. The
/// text has all of the ids.
fn seen(own: &[Option<&str>], others: &[&str]) -> (Vec<String>, Option<String>) {
    seen_with(own, settings().call_ids.besides(others.iter().map(|id| (*id).to_owned())))
}

/// As [`seen`], with ids made so.
fn seen_with(own: &[Option<&str>], call_ids: CallIds) -> (Vec<String>, Option<String>) {
    let step = |id: Option<&str>| {
        let call = ToolCall { id: id.map(str::to_owned), ..ToolCall::new("f", Payload::Text) };
        let text = format!("f {}", id.unwrap_or_default());
        let taken = u32::try_from(text.len()).unwrap();
        (text, Step::Ops(vec![bytes(Route::Drop, taken), Op::ToolCall(call), Op::Close]))
    };
    let (texts, steps): (Vec<String>, Vec<Step>) = own.iter().copied().map(step).unzip();
    let settings = TurnSettings { call_ids, ..settings() };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (items, _, turn) = run(scripted(settings, steps), &texts, FinishReason::Stop);
    let id = |item: FoldedItem| {
        if let ItemHead::ToolCall { call_id, .. } = item.head { Some(call_id) } else { None }
    };
    (items.into_iter().filter_map(id).collect(), turn.fault().map(Fault::in_full))
}

#[test]
fn a_models_own_id_is_given_to_clients_once() {
    let (ids, fault) = seen(&[Some("a1"), None, Some("a1"), Some("call_1"), Some("b-_2")], &[]);
    assert_eq!(
        (ids, fault),
        (["a1", "call_1", "call_2", "call_3", "b-_2"].map(str::to_owned).to_vec(), None)
    );
}

#[test]
fn id_of_another_call_in_conversation_is_not_reused() {
    let (ids, fault) = seen(&[Some("a1"), Some("b2"), None], &["a1", "call_1"]);
    assert_eq!((ids, fault), (["call_2", "b2", "call_3"].map(str::to_owned).to_vec(), None));
}

#[test]
fn ids_that_a_client_might_not_take_are_replaced() {
    let long = "a".repeat(65);
    let odd = ["", "a b", "functions.f:0", "é", "a\n", &long];
    let (ids, fault) = seen(&odd.map(Some), &[]);
    let made: Vec<String> = (1..=odd.len()).map(|n| format!("call_{n}")).collect();
    assert_eq!((ids, fault), (made, None));
    assert_eq!(seen(&[Some(&long[1..])], &[]).0, [&long[1..]]);
}

#[test]
fn ids_are_made_of_the_calls_place_and_its_own_id_if_wanted() {
    let named = CallIds::new(|call| format!("{}:{}", call.name, call.index));
    assert_eq!(seen_with(&[None, Some("a1"), None], named).0, ["f:0", "a1", "f:2"]);
    let own =
        || CallIds::new(|call| call.own_id.map_or_else(|| format!("new_{}", call.index), str::to_owned));
    let ids = [Some("functions.f:0"), Some("functions.f:1"), Some("functions.f:0"), None];
    assert_eq!(seen_with(&ids, own()).0, ["functions.f:0", "functions.f:1", "new_2", "new_3"]);
}
