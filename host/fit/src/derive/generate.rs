//! Writes a probe by the format that was inferred, and compares that with what the template wrote:
//! all text to the byte, values as values.

use jinja::Origin;
use serde_json::Value;

use crate::probes::Probe;

use super::joints::{Joints, Pair};
use super::point::{COUNTER, Point, Type};
use super::refusal::Underivable;
use super::spelling::value_at;
use super::turns::ShownTurn;

/// A part of a turn that the format writes.
#[derive(Debug, Clone, PartialEq)]
enum Segment {
    /// Text of the format.
    Literal(Pair, String),
    /// Words of the probe.
    Words(Point, String),
    /// A value of a parameter, or all arguments.
    Value(Point, Value),
    /// The id of a call.
    Id,
}

/// Compares a turn, behind its header, with what the format writes for the probe. Returns the
/// joints that were used.
pub(super) fn compare(joints: &Joints, probe: &Probe, whole: &str) -> Result<Vec<Pair>, Underivable> {
    let refuse = |reason: String| Err(Underivable::new(&probe.name, reason));
    let mut rest = whole;
    let mut used = Vec::new();
    for segment in segments(joints, probe)? {
        let read = match &segment {
            Segment::Literal(pair, text) => {
                used.push(*pair);
                literal_at(rest, text)
            }
            Segment::Words(_, words) => rest.starts_with(&**words).then_some(words.len()),
            Segment::Value(Point::Value(_), Value::String(text)) if !joints.has_quotes => {
                rest.starts_with(&**text).then_some(text.len())
            }
            Segment::Value(_, value) => value_at(rest, value),
            Segment::Id => Some(rest.len() - rest.trim_start_matches(is_id).len()),
        };
        let Some(read) = read else { return refuse(missed(&segment, rest)) };
        rest = &rest[read..];
    }
    if rest.is_empty() { Ok(used) } else { refuse(format!("the turn goes on with {:?}", head(rest))) }
}

fn is_id(char: char) -> bool {
    char.is_ascii_alphanumeric() || ".:_-".contains(char)
}

/// Length of the text at the beginning of `rest`, with any digits for a counter.
fn literal_at(rest: &str, text: &str) -> Option<usize> {
    let mut at = 0;
    for (index, part) in text.split(COUNTER).enumerate() {
        if index > 0 {
            let digits =
                rest[at..].len() - rest[at..].trim_start_matches(|char: char| char.is_ascii_digit()).len();
            at += digits;
        }
        at += rest[at..].starts_with(part).then_some(part.len())?;
    }
    Some(at)
}

fn head(text: &str) -> String {
    text.chars().take(60).collect()
}

fn missed(segment: &Segment, rest: &str) -> String {
    let rest = head(rest);
    match segment {
        Segment::Literal(pair, text) => {
            format!("between {} and {} stands {rest:?}, not {text:?}", pair.from.name(), pair.to.name())
        }
        Segment::Words(point, _) | Segment::Value(point, _) => {
            format!("encoding by content: {} is written as {rest:?}", point.name())
        }
        Segment::Id => format!("a call's id is missing before {rest:?}"),
    }
}

/// What the format writes for a probe.
fn segments(joints: &Joints, probe: &Probe) -> Result<Vec<Segment>, Underivable> {
    let mut segments = Vec::new();
    let mut from = (Point::Start, 0);
    for (point, call, segment) in points(joints, probe) {
        let is_later = call > 0 || (point == Point::End && from.1 > 0);
        let Some((pair, joint)) = joints.get(from.0, point, is_later) else {
            let reason = format!("no probe shows {} behind {}", point.name(), from.0.name());
            return Err(Underivable::new(&probe.name, reason));
        };
        segments.push(Segment::Literal(pair, joint.text.clone()));
        segments.extend(segment);
        from = (point, call);
    }
    Ok(segments)
}

/// The places of a probe, in the order of the format's calls.
fn points(joints: &Joints, probe: &Probe) -> Vec<(Point, usize, Option<Segment>)> {
    let words = |point, text: &str| (point, 0, Some(Segment::Words(point, text.to_owned())));
    let mut points = Vec::new();
    points.extend(probe.reasoning.map(|text| words(Point::Reasoning, text)));
    points.extend(probe.text.map(|text| words(Point::Text, text)));
    let order = call_order(joints);
    for (call, (name, arguments)) in probe.calls.iter().enumerate() {
        for point in &order {
            match point {
                Point::Name => points.push((*point, call, Some(Segment::Words(*point, (*name).to_owned())))),
                Point::Id => points.push((*point, call, Some(Segment::Id))),
                Point::Arguments => {
                    points.push((*point, call, Some(Segment::Value(*point, arguments.clone()))));
                }
                _ => {}
            }
        }
        if !order.contains(&Point::Arguments) {
            for (key, value) in arguments.as_object().into_iter().flatten() {
                points.push((Point::Key, call, Some(Segment::Words(Point::Key, key.clone()))));
                let point = Point::Value(Type::of(value));
                points.push((point, call, Some(Segment::Value(point, value.clone()))));
            }
        }
    }
    points.push((Point::End, 0, None));
    points
}

/// The parts of a call in their order, without parameters.
pub(super) fn call_order(joints: &Joints) -> Vec<Point> {
    let follows = |point: Point| {
        let mut next = joints.all().filter(move |(pair, _)| {
            pair.from == point
                && !pair.is_later
                && matches!(pair.to, Point::Name | Point::Id | Point::Arguments)
        });
        next.next().map(|(pair, _)| pair.to)
    };
    let mut order = Vec::new();
    let mut next = [Point::Start, Point::Text, Point::Reasoning].into_iter().find_map(follows);
    while let Some(point) = next.filter(|point| !order.contains(point)) {
        order.push(point);
        next = follows(point);
    }
    order
}

/// Whether the template wrote a string of the probe in another way than as it is or as JSON.
pub(super) fn is_rewritten(probe: &Probe, turn: &ShownTurn) -> bool {
    let has_request = turn.cut.output.runs().any(|(origin, _)| origin != Origin::Template);
    has_request && !probe.strings().all(|string| crate::losses::is_shown(string, turn.cut.output.as_str()))
}
