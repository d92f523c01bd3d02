//! How a line begins: marks of headings, items, quotes and fences.

/// A fence that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

/// How a line begins. Lengths are in bytes, from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// More of the line is needed.
    Unknown,
    /// With text behind blanks.
    Text(usize),
    Heading {
        level: usize,
        marks: usize,
    },
    Item {
        indent: usize,
        marks: usize,
    },
    Quote {
        indent: usize,
        marks: usize,
    },
    /// The line is a fence or a rule, behind which this fence is open.
    Whole {
        fence: Option<Fence>,
    },
    /// With code.
    Code,
}

/// How `line` begins. It is `whole`, or more may come. `open` is the fence that it stands in.
pub(super) fn begin(line: &str, whole: bool, open: Option<&Fence>) -> Begin {
    let text = line.trim_start_matches([' ', '\t']);
    let indent = line.len() - text.len();
    let Some(mark) = text.chars().next() else {
        return if whole { Begin::Text(indent) } else { Begin::Unknown };
    };
    let rest = text.trim_start_matches(mark);
    let (length, is_run) = ((text.len() - rest.len()) / mark.len_utf8(), rest.is_empty() && !whole);
    if let Some(open) = open {
        return in_code(open, Fence { mark, length }, rest, whole);
    }
    let is_blank = rest.starts_with([' ', '\t']);
    match mark {
        '`' | '~' | '#' | '-' | '*' | '+' | '_' if is_run && length <= 6 => Begin::Unknown,
        // Behind a fence of backticks, others begin code in the line.
        '`' | '~' if length >= 3 && !(mark == '`' && rest.contains('`')) => {
            if whole {
                Begin::Whole { fence: Some(Fence { mark, length }) }
            } else {
                Begin::Unknown
            }
        }
        '#' if length <= 6 && is_blank => {
            let marks = line.len() - rest.trim_start_matches([' ', '\t']).len();
            Begin::Heading { level: length, marks }
        }
        '-' | '*' | '_' if length >= 3 && rest.trim().is_empty() => {
            if whole {
                Begin::Whole { fence: None }
            } else {
                Begin::Unknown
            }
        }
        '-' | '*' | '+' if length == 1 && is_blank => Begin::Item { indent, marks: indent + 2 },
        '>' if text == ">" && !whole => Begin::Unknown,
        '>' if length == 1 && (is_blank || rest.trim().is_empty()) => {
            Begin::Quote { indent, marks: indent + 1 + usize::from(is_blank) }
        }
        _ => Begin::Text(indent),
    }
}

/// A line in a block of code: its end, or code.
fn in_code(open: &Fence, run: Fence, rest: &str, whole: bool) -> Begin {
    let may_close = run.mark == open.mark && rest.trim().is_empty();
    match (may_close, whole) {
        (true, false) => Begin::Unknown,
        (true, true) if run.length >= open.length => Begin::Whole { fence: None },
        _ => Begin::Code,
    }
}
