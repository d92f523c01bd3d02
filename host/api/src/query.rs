//! A route's query (`?order=asc&limit=5`), and the pages that lists are asked for by.

use store::{Order, Page};

use super::error::ApiError;
use super::fields::{Row, Shape};
use super::json::{Field, Object, OneOf};
use model::printable::printable;

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

/// What more of an item is asked for; there is nothing that would be left out without it.
pub(crate) const INCLUDE: Row =
    Row { shape: Shape::List(&Shape::Text), ..Row::ignored("include", "items always come whole") };

/// Names and values of a query, decoded.
#[derive(Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// The query with this text. What isn't UTF-8 once decoded has replacement characters.
    pub fn new(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The text of a field; of several the last one.
    pub(crate) fn get<T: Copy>(&self, field: Field<T>) -> Option<&str> {
        self.0.iter().rfind(|(key, _)| *key == field.row().name).map(|(_, value)| value.as_str())
    }

    /// The entries of a map, which are written as `NAME[KEY]=VALUE`.
    pub(crate) fn map(&self, field: Field<Object<'_>>) -> impl Iterator<Item = (&str, &str)> {
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
        let limit = self.get(LIMIT).map_or(Ok(DEFAULT), limit)?;
        let after = self.get(AFTER).map(str::to_owned);
        Ok(Page { order, limit: limit.into(), bytes: bytes as u64, after })
    }
}

fn limit(text: &str) -> Result<u16, ApiError> {
    let number = text.parse().ok().filter(|limit| (1..=MOST).contains(limit));
    number.ok_or_else(|| {
        let shown: String = printable(text).chars().take(40).collect();
        wrong(LIMIT, &format!("expected an integer from 1 to {MOST}, got {shown}"))
    })
}

fn wrong<T: Copy>(field: Field<T>, what: &str) -> ApiError {
    let name = field.row().name;
    ApiError::invalid(name.to_owned(), format!("{name}: {what}")).with_code("invalid_value")
}

#[cfg(test)]
mod tests {
    use store::Order;

    use super::Query;

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
