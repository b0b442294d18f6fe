//! Names of rows, a text each, and the ids and documents that rows with names have.

use pageway_attributes::{check_keys, check_row_name, is_name_id, name_id, with_row_name};

use super::ids::IdRead;
use super::texts::TextRead;
use crate::error::{Error, Result};

/// Names that are looked up at a time.
const NAMES_AT_ONCE: u64 = 4096;
/// Digits of the id of a name.
const ID_DIGITS: usize = 19;

/// Shows the names of `count` rows from `first` on, in order.
///
/// # Errors
/// As reading is; `InvalidInput` for what is no text; what `visit` gives.
pub fn visit_names(
    names: &dyn TextRead,
    (first, count): (u64, u64),
    visit: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    let mut row = names.first() + first;
    names.visit(first, count, &mut |bytes| {
        let name = std::str::from_utf8(bytes).map_err(|_| {
            let place = format!("{}, row {row}", names.name());
            Error::invalid(format!("{place}: a name that is no UTF-8"))
        })?;
        row += 1;
        visit(name)
    })
}

/// Ids and documents of rows that have names: documents keep them.
pub(crate) struct NamedRows<'n> {
    pub(crate) names: &'n dyn TextRead,
    pub(crate) attributes: Option<&'n dyn TextRead>,
}

impl NamedRows<'_> {
    /// An error that may tell of the id of a name, with the name in its place. Costs a pass over
    /// the names.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let text = error.context();
        let digits = text.split(|one: char| !one.is_ascii_digit());
        let mut numbers = digits.filter(|number| number.len() >= ID_DIGITS);
        let id = numbers.find_map(|number| number.parse().ok().filter(|id| is_name_id(*id)));
        let Some(id) = id else {
            return error;
        };
        let mut found = None;
        let looked = visit_names(self.names, (0, self.names.count()), &mut |name| {
            if found.is_none() && name_id(name) == id {
                found = Some(name.to_owned());
            }
            Ok(())
        });
        match (looked, found) {
            (Ok(()), Some(name)) => {
                let words = text.replace(&format!("id {id}"), &format!("name {name:?}"));
                Error::new(
                    error.kind(),
                    words.replace(&id.to_string(), &format!("{name:?}")),
                )
            }
            _ => error,
        }
    }
}

impl IdRead for NamedRows<'_> {
    fn name(&self) -> &str {
        self.names.name()
    }

    fn count(&self) -> u64 {
        self.names.count()
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<()> {
        let (count, mut row) = (out.len() as u64, self.names.first() + first);
        let mut out = out.iter_mut();
        visit_names(self.names, (first, count), &mut |name| {
            let place = || format!("{}, row {row}", self.names.name());
            check_row_name(name).map_err(|error| Error::from(error).within(place()))?;
            row += 1;
            if let Some(id) = out.next() {
                *id = name_id(name);
            }
            Ok(())
        })
    }
}

impl TextRead for NamedRows<'_> {
    fn name(&self) -> &str {
        let attributes = self.attributes.map(TextRead::name);
        attributes.unwrap_or_else(|| self.names.name())
    }

    fn count(&self) -> u64 {
        let attributes = self.attributes.map(TextRead::count);
        attributes.unwrap_or_else(|| self.names.count())
    }

    fn first(&self) -> u64 {
        let attributes = self.attributes.map(TextRead::first);
        attributes.unwrap_or_else(|| self.names.first())
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut names = Vec::new();
        let mut at = first;
        while at < first + count {
            let here = NAMES_AT_ONCE.min(first + count - at);
            names.clear();
            visit_names(self.names, (at, here), &mut |name| {
                names.push(name.to_owned());
                Ok(())
            })?;
            let mut own = names.iter();
            let mut show = |json: &[u8]| {
                check_keys(json)?;
                own.next()
                    .map_or(Ok(()), |name| visit(&with_row_name(json, name)))
            };
            match self.attributes {
                Some(attributes) => attributes.visit(at, here, &mut show)?,
                None => (0..here).try_for_each(|_| show(b"{}"))?,
            }
            at += here;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::TextSlice;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn rows_with_names_have_ids_and_documents() {
        let (names, documents) = (texts(&["a", "b", "c"]), texts(&["{}", "{\"x\": 1}", "{}"]));
        let rows = NamedRows {
            names: &TextSlice::names(&names),
            attributes: Some(&TextSlice::attributes(&documents)),
        };
        let mut ids = [0; 2];
        rows.read(1, &mut ids).unwrap();
        assert_eq!(ids, [name_id("b"), name_id("c")]);
        let mut found = Vec::new();
        rows.visit(1, 2, &mut |json| {
            found.push(String::from_utf8(json.to_vec()).unwrap());
            Ok(())
        })
        .unwrap();
        assert_eq!(found, [r#"{"\u0000":"b","x": 1}"#, r#"{"\u0000":"c"}"#]);
        let error = Error::invalid(format!("rows 1 and 2 have the id {}", ids[0]));
        assert_eq!(
            rows.explain(error).context(),
            "rows 1 and 2 have the name \"b\""
        );
    }

    #[test]
    fn names_have_limits() {
        for bad in ["", &"n".repeat(257)] {
            let names = texts(&["a", bad]);
            let rows = NamedRows {
                names: &TextSlice::names(&names),
                attributes: None,
            };
            let error = rows.read(0, &mut [0; 2]).unwrap_err();
            assert!(error.to_string().contains("row 1"), "{error}");
        }
    }
}
