//! What a stream was fed, piece by piece, so that it can be read again: the same pieces leave a
//! parser in the same state.

use reader::Form;

/// Pieces of one form.
#[derive(Debug, Clone)]
pub(crate) enum Fed {
    /// Text, and where each piece ends in it.
    Text(String, Vec<usize>),
    /// Token ids, and where each piece ends in them.
    Tokens(Vec<u32>, Vec<usize>),
}

/// A piece.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Tokens(&'a [u32]),
}

impl Piece<'_> {
    pub(crate) fn is_empty(self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Tokens(ids) => ids.is_empty(),
        }
    }

    pub(crate) fn form(self) -> Form {
        match self {
            Self::Text(_) => Form::Text,
            Self::Tokens(_) => Form::Tokens,
        }
    }
}

impl Fed {
    pub(crate) fn new(form: Form) -> Self {
        match form {
            Form::Text => Self::Text(String::new(), Vec::new()),
            Form::Tokens => Self::Tokens(Vec::new(), Vec::new()),
        }
    }

    /// Takes a piece, if it has the form of the others.
    pub(crate) fn push(&mut self, piece: Piece<'_>) -> bool {
        match (self, piece) {
            (Self::Text(all, ends), Piece::Text(text)) => {
                all.push_str(text);
                ends.push(all.len());
            }
            (Self::Tokens(all, ends), Piece::Tokens(ids)) => {
                all.extend_from_slice(ids);
                ends.push(all.len());
            }
            _ => return false,
        }
        true
    }

    /// Whether its pieces have this form.
    pub(crate) fn has(&self, form: Form) -> bool {
        matches!((self, form), (Self::Text(..), Form::Text) | (Self::Tokens(..), Form::Tokens))
    }

    pub(crate) fn is_empty(&self) -> bool {
        let (Self::Text(_, ends) | Self::Tokens(_, ends)) = self;
        ends.is_empty()
    }

    /// The pieces, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let (Self::Text(_, ends) | Self::Tokens(_, ends)) = self;
        let begins = [0].into_iter().chain(ends.iter().copied());
        begins.zip(ends).map(|(begin, end)| match self {
            Self::Text(all, _) => Piece::Text(&all[begin..*end]),
            Self::Tokens(all, _) => Piece::Tokens(&all[begin..*end]),
        })
    }
}
