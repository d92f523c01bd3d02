//! A route's query (`?order=asc&limit=5`), and the pages that lists are asked for by.

use store::{Order, Page};

use super::error::ApiError;
use super::fields::{Row, Shape};
use super::json::{Field, JsonObject, List, OneOf};
use net::printable::printable;

/// Most elements of a page, and how many it has unless the query says otherwise.
const MOST: u16 = 100;
const DEFAULT: u16 = 20;

/// Fields of a page's query.
pub(crate) const AFTER: Field<&str> =
    Field::new("after", "id of the last element of the page before, as `last_id` has it");
pub(crate) const LIMIT: Field<u32> =
    Field::new("limit", "20 unless given; a page that would be too large has fewer, and `has_more`")
        .of(Shape::Integer(1, MOST as i64));
pub(crate) const ORDER: Field<OneOf> =
    Field::new("order", "`desc` (newest first) unless given").of(Shape::OneOf(&["asc", "desc"]));

/// Field of the query for a trace, on the address for operators.
const AFTER_LINE: Field<i64> = Field::new("after", "only lines behind the one with this number");

/// Names and values of a query, decoded.
#[derive(Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// The query with this text. What isn't UTF-8 once decoded has replacement characters.
    pub fn new(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The query of a request whose endpoint has these fields. Names that it doesn't have say nothing.
    ///
    /// # Errors
    /// 400 where a name that it has is spelt in a way that says something else or nothing
    /// (`metadata=x`, `limit[]=5`), or a list has a word that it can't have.
    pub(crate) fn checked(rows: &[Row], text: &str) -> Result<Self, ApiError> {
        let query = Self::new(text);
        for (key, value) in &query.0 {
            let end = key.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(key.len());
            let (name, rest) = key.split_at(end);
            if let Some(row) = rows.iter().find(|row| row.name == name) {
                check(row, rest, value)?;
            }
        }
        Ok(query)
    }

    /// The text of a field; of several the last one.
    pub(crate) fn get<T: Copy>(&self, field: Field<T>) -> Option<&str> {
        self.0.iter().rfind(|(key, _)| *key == field.row().name).map(|(_, value)| value.as_str())
    }

    /// The entries of a map, which are written as `NAME[KEY]=VALUE`.
    pub(crate) fn map(&self, field: Field<JsonObject<'_>>) -> impl Iterator<Item = (&str, &str)> {
        let name = field.row().name;
        self.0.iter().filter_map(move |(key, value)| {
            Some((key.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?, value.as_str()))
        })
    }

    /// The value of a flag.
    ///
    /// # Errors
    /// 400 where it is neither true nor false.
    pub(crate) fn flag(&self, field: Field<bool>) -> Result<Option<bool>, ApiError> {
        match self.get(field) {
            None => Ok(None),
            Some("true" | "True" | "1") => Ok(Some(true)),
            Some("false" | "False" | "0") => Ok(Some(false)),
            Some(_) => Err(wrong(field, "expected true or false")),
        }
    }

    /// The value of a number.
    ///
    /// # Errors
    /// 400 where it is no number from 0 to 2⁶³ - 1.
    pub(crate) fn number(&self, field: Field<i64>) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.get(field) else { return Ok(None) };
        let number = text.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok());
        number.map(Some).ok_or_else(|| wrong(field, "expected an integer that isn't negative"))
    }

    /// How many elements a page may have.
    ///
    /// # Errors
    /// 400 where it is no number from 1 to `most`.
    pub(crate) fn limit(&self, field: Field<u32>, most: u16) -> Result<Option<u16>, ApiError> {
        let Some(text) = self.get(field) else { return Ok(None) };
        let number = text.parse().ok().filter(|limit| (1..=most).contains(limit));
        number.map(Some).ok_or_else(|| {
            let shown: String = printable(text).chars().take(40).collect();
            wrong(field, &format!("expected an integer from 1 to {most}, got {shown}"))
        })
    }

    /// The words of a list, which is written as `NAME=A,B`, `NAME[]=A&NAME[]=B` or with numbers in the
    /// brackets.
    pub(crate) fn words(&self, field: Field<List<'_>>) -> impl Iterator<Item = &str> {
        let name = field.row().name;
        let is_of = move |key: &str| {
            key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
        };
        self.0.iter().filter(move |(key, _)| is_of(key)).flat_map(|(_, value)| value.split(','))
    }

    /// The number of the line of a trace that the client has last.
    ///
    /// # Errors
    /// 400 where it is no number.
    pub fn after_line(&self) -> Result<Option<u64>, ApiError> {
        self.number(AFTER_LINE)
    }

    /// The page that `order`, `limit` and `after` ask for, of at most `bytes`; in `order` unless
    /// they say.
    ///
    /// # Errors
    /// 400 where `limit` is no number from 1 to 100, or `order` unknown.
    pub fn page(&self, order: Order, bytes: usize) -> Result<Page, ApiError> {
        let order = match self.get(ORDER) {
            None => order,
            Some("asc") => Order::Ascending,
            Some("desc") => Order::Descending,
            Some(_) => return Err(wrong(ORDER, "expected asc or desc")),
        };
        let limit = self.limit(LIMIT, MOST)?.unwrap_or(DEFAULT);
        let after = self.get(AFTER).map(str::to_owned);
        Ok(Page { order, limit: limit.into(), bytes: bytes as u64, after })
    }
}

/// Checks an entry of the query: `rest` is what stands behind the name.
fn check(row: &Row, rest: &str, value: &str) -> Result<(), ApiError> {
    let name = row.name;
    let index = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match row.shape {
        Shape::Map(_) if index.is_none() => Err(refused(name, &format!("expected {name}[KEY]=VALUE"))),
        Shape::Map(_) => Ok(()),
        Shape::List(of) => {
            let is_index = |index: &str| index.bytes().all(|byte| byte.is_ascii_digit());
            if !rest.is_empty() && !index.is_some_and(is_index) {
                return Err(refused(name, &format!("expected {name}[]=VALUE")));
            }
            let Shape::OneOf(words) = of else { return Ok(()) };
            if value.split(',').all(|word| words.contains(&word)) {
                return Ok(());
            }
            Err(refused(name, &format!("expected one of {}", words.join(", "))))
        }
        _ if rest.is_empty() => Ok(()),
        _ => Err(refused(name, &format!("expected {name}=VALUE"))),
    }
}

/// 400 for the value of a field.
pub(crate) fn wrong<T: Copy>(field: Field<T>, what: &str) -> ApiError {
    refused(field.row().name, what)
}

fn refused(name: &str, what: &str) -> ApiError {
    ApiError::invalid(name.to_owned(), format!("{name}: {what}")).with_code("invalid_value")
}

#[cfg(test)]
mod tests {
    use store::Order;

    use super::Query;
    use crate::openapi;

    #[test]
    fn a_page_is_as_the_query_says() {
        let page = Query::new("limit=5&order=asc&after=msg%5F1&limit=7").page(Order::Descending, 9).unwrap();
        assert_eq!(
            (page.limit, page.order, page.bytes, page.after.as_deref()),
            (7, Order::Ascending, 9, Some("msg_1"))
        );
        let page = Query::new("").page(Order::Descending, 9).unwrap();
        assert_eq!((page.limit, page.order, page.after), (20, Order::Descending, None));
    }

    #[test]
    fn a_known_name_that_is_spelt_otherwise_is_refused() {
        let list = |query| openapi::query("GET", "/v1/chat/completions", query);
        for query in [
            "metadata=x",
            "metadata.a=1",
            "metadata[a=1",
            "metadata]a[=1",
            "metadata%5Ba=1",
            "metadata",
            "metadata[a]b=1",
            "model[]=x",
            "limit[0]=1",
        ] {
            let error = list(query).unwrap_err();
            let name = query.split(|c: char| !c.is_ascii_alphabetic()).next();
            assert_eq!((error.status, error.param.as_deref()), (400, name), "{query}");
        }
        for query in
            ["metadata[a]=1", "metadata%5Ba%5D=1", "metadata[]=1", "metadata[a[b]]=1", "api-version=2"]
        {
            list(query).unwrap();
        }
        let read = |query| openapi::query("GET", "/v1/responses/{id}", query);
        for query in ["include[]=nosuch", "include=nosuch", "include[x]=web_search_call.results", "include"] {
            assert_eq!(read(query).unwrap_err().param.as_deref(), Some("include"), "{query}");
        }
        read("include[]=reasoning.encrypted_content&include[1]=web_search_call.results").unwrap();
    }

    #[test]
    fn what_no_page_can_be_is_refused_by_its_name() {
        for (query, name) in [
            ("limit=0", "limit"),
            ("limit=101", "limit"),
            ("limit=-1", "limit"),
            ("limit=1e1", "limit"),
            ("limit=", "limit"),
            ("limit=99999999999999999999", "limit"),
            ("order=ASC", "order"),
            ("order=", "order"),
        ] {
            let error = Query::new(query).page(Order::Descending, 9).unwrap_err();
            assert_eq!((error.status, error.param.as_deref()), (400, Some(name)), "{query}");
        }
    }
}
