//! Predicates as people write them: `lang in ['de', 'en'] and year >= 2020 and not tag = 'x'`.
//!
//! ```text
//! or        = and { "or" and }
//! and       = not { "and" not }
//! not       = "not" not | "(" or ")" | "true" | test
//! test      = "exists" "(" path ")" | "any" "(" path "," or ")"
//!           | "has_id" "(" id { "," id } ")"
//!           | path ( "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) value
//!           | path [ "not" ] ( "in" list | "between" value "and" value )
//!           | path "is" [ "not" ] ( "null" | "empty" )
//!           | path "contains" [ "any" | "phrase" ] text | path "starts" "with" text
//! list      = "[" [ value { "," value } ] "]" | "(" [ value { "," value } ] ")"
//! value     = number | text in '' | "true" | "false" | date'2026-01-31'
//! id        = number | text, the name of a row
//! path      = names and brackets: a.b[].c, a[0], "a name".b
//! ```
//!
//! Numbers are compared as numbers, so 1 and 1.0 are equal. A test holds where one value at its
//! path meets it, and `!=`, `not in` and `not between` where none does: also where there is none.

mod parser;
mod token;

use crate::error::Result;
use crate::predicate::Predicate;

impl Predicate {
    /// The predicate, in canonical form, that an expression stands for.
    ///
    /// # Errors
    /// Names the column in the text, and what is wrong there.
    pub fn from_expression(text: &str) -> Result<Self> {
        parser::parse(text)?.canonical()
    }
}
