//! From words to a tree.

use std::collections::BTreeSet;

use super::token::{Token, cut, wrong};
use crate::error::Result;
use crate::instant::Moment;
use crate::name::{check_row_name, name_id};
use crate::number::Number;
use crate::path::Path;
use crate::predicate::{Bounds, MAX_DEPTH, Predicate, Scalar, Test, Words};
use crate::text::tokens;

pub(super) fn parse(text: &str) -> Result<Predicate> {
    let mut parser = Parser {
        tokens: cut(text)?,
        at: 0,
        depth: 0,
    };
    let tree = parser.any_of()?;
    if *parser.peek() == Token::End {
        return Ok(tree);
    }
    Err(parser.wrong("the end, \"and\" or \"or\" is expected"))
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
    depth: usize,
}

/// A value of an expression.
#[derive(Clone)]
enum Literal {
    Scalar(Scalar),
    Number(Number),
    Moment(Moment),
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens
            .get(self.at)
            .map_or(&Token::End, |(_, token)| token)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn wrong(&self, what: impl Into<String>) -> crate::AttributeError {
        let place = self.tokens.get(self.at).or(self.tokens.last());
        wrong(place.map_or(1, |(column, _)| *column), what)
    }

    /// Takes a keyword, if that is next.
    fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Name(name) if name.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &'static str) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<()> {
        if self.sign(sign) {
            return Ok(());
        }
        Err(self.wrong(format!("{sign:?} is expected")))
    }

    fn any_of(&mut self) -> Result<Predicate> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.wrong(format!("more than {MAX_DEPTH} levels")));
        }
        let mut of = vec![self.all_of()?];
        while self.keyword("or") {
            of.push(self.all_of()?);
        }
        self.depth -= 1;
        Ok(Predicate::Or(of))
    }

    fn all_of(&mut self) -> Result<Predicate> {
        let mut of = vec![self.negation()?];
        while self.keyword("and") {
            of.push(self.negation()?);
        }
        Ok(Predicate::And(of))
    }

    fn negation(&mut self) -> Result<Predicate> {
        let mut negated = false;
        while self.keyword("not") {
            negated = !negated;
        }
        let own = if self.sign("(") {
            let inner = self.any_of()?;
            self.expect(")")?;
            inner
        } else {
            self.test()?
        };
        Ok(if negated { not(own) } else { own })
    }

    fn test(&mut self) -> Result<Predicate> {
        let is_call = matches!(self.tokens.get(self.at + 1), Some((_, Token::Sign("("))));
        if is_call {
            return self.call();
        }
        if self.keyword("true") {
            return Ok(Predicate::All);
        }
        let path = self.path()?;
        if self.keyword("is") {
            let negated = self.keyword("not");
            let test = if self.keyword("null") {
                Test::Null
            } else if self.keyword("empty") {
                Test::Empty
            } else {
                return Err(self.wrong("\"null\" or \"empty\" is expected"));
            };
            return Ok(field(&path, test, negated));
        }
        if self.keyword("contains") {
            let how = if self.keyword("any") {
                Words::Any
            } else if self.keyword("phrase") {
                Words::Phrase
            } else {
                Words::All
            };
            let text = self.text()?;
            return Ok(field(
                &path,
                Test::Words(how, tokens(&text).collect()),
                false,
            ));
        }
        if self.keyword("starts") {
            if !self.keyword("with") {
                return Err(self.wrong("\"with\" is expected"));
            }
            return Ok(field(&path, Test::Prefix(self.text()?), false));
        }
        let negated = self.keyword("not");
        if self.keyword("in") {
            return self.list(&path, negated);
        }
        if self.keyword("between") {
            let low = self.ordered()?;
            if !self.keyword("and") {
                return Err(self.wrong("\"and\" is expected"));
            }
            let high = self.ordered()?;
            let test = self.between((Some(low), true), (Some(high), true))?;
            return Ok(field(&path, test, negated));
        }
        if negated {
            return Err(self.wrong("\"in\" or \"between\" is expected"));
        }
        self.comparison(&path)
    }

    /// `exists(path)`, `any(path, tree)`, `has_id(1, 2)`.
    fn call(&mut self) -> Result<Predicate> {
        if self.keyword("exists") {
            self.expect("(")?;
            let path = self.path()?;
            self.expect(")")?;
            return Ok(field(&path, Test::Empty, true));
        }
        if self.keyword("any") {
            self.expect("(")?;
            let path = self.path()?;
            self.expect(",")?;
            let of = Box::new(self.any_of()?);
            self.expect(")")?;
            return Ok(Predicate::Nested { path, of });
        }
        if self.keyword("has_id") {
            self.expect("(")?;
            let mut ids = BTreeSet::new();
            loop {
                let id = match self.peek() {
                    Token::Int(id) => u64::try_from(*id).ok(),
                    Token::Large(id) => Some(*id),
                    Token::Text(name) => {
                        let checked = check_row_name(name);
                        checked.map_err(|error| self.wrong(error.to_string()))?;
                        Some(name_id(name))
                    }
                    Token::Name(_)
                    | Token::Date(_)
                    | Token::Float(_)
                    | Token::Sign(_)
                    | Token::End => None,
                };
                let what = "an id is a whole number from 0 on, or the name of a row in quotes";
                ids.insert(id.ok_or_else(|| self.wrong(what))?);
                self.at += 1;
                if !self.sign(",") {
                    break;
                }
            }
            self.expect(")")?;
            return Ok(Predicate::HasId(ids));
        }
        Err(self.wrong("unknown function; known are exists, any, has_id"))
    }

    fn path(&mut self) -> Result<Path> {
        let Token::Name(name) = self.peek().clone() else {
            return Err(self.wrong("a path is expected"));
        };
        let path = Path::parse(&name).map_err(|error| self.wrong(error.to_string()))?;
        self.at += 1;
        Ok(path)
    }

    fn text(&mut self) -> Result<String> {
        let Token::Text(text) = self.peek().clone() else {
            return Err(self.wrong("a text in single quotes is expected"));
        };
        self.at += 1;
        Ok(text)
    }

    fn literal(&mut self) -> Result<Literal> {
        let literal = match self.peek() {
            Token::Int(int) => Literal::Number(Number::Int(*int)),
            Token::Large(large) => Literal::Number(Number::Large(*large)),
            Token::Float(float) => Literal::Number(Number::Float(*float)),
            Token::Text(text) => Literal::Scalar(Scalar::Text(text.clone())),
            Token::Date(text) => {
                let moment = Moment::parse(text);
                Literal::Moment(moment.ok_or_else(|| self.wrong(no_date(text)))?)
            }
            Token::Name(name) if name.eq_ignore_ascii_case("true") => {
                Literal::Scalar(Scalar::Bool(true))
            }
            Token::Name(name) if name.eq_ignore_ascii_case("false") => {
                Literal::Scalar(Scalar::Bool(false))
            }
            Token::Name(_) | Token::Sign(_) | Token::End => {
                let what = "a number, a text in single quotes, true, false or a date is expected";
                return Err(self.wrong(what));
            }
        };
        self.at += 1;
        Ok(literal)
    }

    /// A number or a date; a text that names a moment is one, as no text has an order.
    fn ordered(&mut self) -> Result<Literal> {
        let at = self.at;
        let what = match self.literal()? {
            own @ (Literal::Number(_) | Literal::Moment(_)) => return Ok(own),
            Literal::Scalar(Scalar::Text(text)) => match Moment::parse(&text) {
                Some(moment) => return Ok(Literal::Moment(moment)),
                None => no_date(&text),
            },
            Literal::Scalar(_) => "true and false are neither".to_owned(),
        };
        self.at = at;
        Err(self.wrong(format!("only numbers and dates have an order: {what}")))
    }

    fn list(&mut self, path: &Path, negated: bool) -> Result<Predicate> {
        let close = if self.sign("(") {
            ")"
        } else {
            self.expect("[")?;
            "]"
        };
        let (mut scalars, mut of) = (BTreeSet::new(), Vec::new());
        while *self.peek() != Token::Sign(close) {
            match self.literal()? {
                Literal::Scalar(scalar) => _ = scalars.insert(scalar),
                other @ (Literal::Number(_) | Literal::Moment(_)) => {
                    of.push(field(path, self.equal(other)?, false));
                }
            }
            if !self.sign(",") {
                break;
            }
        }
        self.expect(close)?;
        if !scalars.is_empty() {
            of.push(field(path, Test::In(scalars), false));
        }
        let any = Predicate::Or(of);
        Ok(if negated { not(any) } else { any })
    }

    fn comparison(&mut self, path: &Path) -> Result<Predicate> {
        let Token::Sign(sign) = self.take() else {
            self.at -= 1;
            return Err(self.wrong(
                "an operator is expected: = != < <= > >= in, between, is, contains, starts with",
            ));
        };
        let value = match sign {
            "<" | "<=" | ">" | ">=" => self.ordered()?,
            _ => self.literal()?,
        };
        let test = match sign {
            "=" | "!=" => self.equal(value)?,
            "<" => self.between((None, true), (Some(value), false))?,
            "<=" => self.between((None, true), (Some(value), true))?,
            ">" => self.between((Some(value), false), (None, true))?,
            ">=" => self.between((Some(value), true), (None, true))?,
            _ => return Err(self.wrong("an operator is expected: = != < <= > >=")),
        };
        Ok(field(path, test, sign == "!="))
    }

    fn equal(&self, value: Literal) -> Result<Test> {
        match value {
            Literal::Scalar(scalar) => Ok(Test::In([scalar].into())),
            other @ (Literal::Number(_) | Literal::Moment(_)) => {
                self.between((Some(other.clone()), true), (Some(other), true))
            }
        }
    }

    /// Between two values, each with or without itself.
    fn between(&self, low: (Option<Literal>, bool), high: (Option<Literal>, bool)) -> Result<Test> {
        let number = |value: &Option<Literal>| match value {
            Some(Literal::Number(number)) => Some(*number),
            _ => None,
        };
        let moment = |value: &Option<Literal>| match value {
            Some(Literal::Moment(moment)) => Some(*moment),
            _ => None,
        };
        let given = usize::from(low.0.is_some()) + usize::from(high.0.is_some());
        let numbers = (number(&low.0), number(&high.0));
        if numbers.0.iter().chain(&numbers.1).count() == given {
            return Ok(Test::Range(bounds((numbers.0, low.1), (numbers.1, high.1))));
        }
        let moments = (moment(&low.0), moment(&high.0));
        if moments.0.iter().chain(&moments.1).count() == given {
            return Ok(Test::Time(bounds((moments.0, low.1), (moments.1, high.1))));
        }
        Err(self.wrong("a number and a date have no order: give two of one kind"))
    }
}

fn no_date(text: &str) -> String {
    format!("'{text}' is no date: write date'2026-01-31' or date'2026-01-31T12:00:00Z'")
}

fn bounds<T>(low: (Option<T>, bool), high: (Option<T>, bool)) -> Bounds<T> {
    let split = |(value, inclusive): (Option<T>, bool)| {
        if inclusive {
            (None, value)
        } else {
            (value, None)
        }
    };
    let ((gt, gte), (lt, lte)) = (split(low), split(high));
    Bounds { gt, gte, lt, lte }
}

fn field(path: &Path, test: Test, negated: bool) -> Predicate {
    let path = path.clone();
    let own = Predicate::Field { path, test };
    if negated { not(own) } else { own }
}

fn not(of: Predicate) -> Predicate {
    Predicate::Not(Box::new(of))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn both(expression: &str, filter: serde_json::Value) {
        let own = Predicate::from_expression(expression).unwrap();
        assert_eq!(
            own,
            Predicate::from_qdrant(&filter).unwrap(),
            "{expression}"
        );
    }

    #[test]
    fn expressions_say_what_filters_say() {
        both(
            "lex = 'noun.food'",
            json!({"must": {"key": "lex", "match": {"value": "noun.food"}}}),
        );
        both(
            "not (a in ['x', true] or b < 3) and \"c d\".e >= 1.5",
            json!({"must": [{"key": "\"c d\".e", "range": {"gte": 1.5}}],
                   "must_not": [{"key": "a", "match": {"any": ["x", true]}},
                                {"key": "b", "range": {"lt": 3}}]}),
        );
        both(
            "a[].b between date'2026-01-01' and date'2026-02-01T00:00:00Z'",
            json!({"must": {"key": "a[].b", "range":
                   {"gte": "2026-01-01T00:00:00Z", "lte": "2026-02-01"}}}),
        );
        both(
            "day < '2026-02-01'",
            json!({"must": {"key": "day", "range": {"lt": "2026-02-01"}}}),
        );
        both(
            "n = 3",
            json!({"must": {"key": "n", "range": {"gte": 3, "lte": 3}}}),
        );
        both("exists(a)", json!({"must_not": {"is_empty": {"key": "a"}}}));
        both(
            "a is not null",
            json!({"must": {"key": "a", "is_null": false}}),
        );
        both(
            "any(kids, age > 3 and name = 'it''s')",
            json!({"must": {"nested": {"key": "kids", "filter": {"must": [
                {"key": "name", "match": {"value": "it's"}},
                {"key": "age", "range": {"gt": 3}}]}}}}),
        );
        both(
            "t contains phrase 'New York'",
            json!({"must": {"key": "t", "match": {"phrase": "new york"}}}),
        );
        both(
            "t starts with 'ab'",
            json!({"must": {"key": "t", "match": {"prefix": "ab"}}}),
        );
        both("has_id(3, 1)", json!({"must": {"has_id": [1, 3]}}));
        let last = u64::MAX - 1;
        both(
            &format!("has_id({last})"),
            json!({"must": {"has_id": [last]}}),
        );
        both("has_id('a', 1)", json!({"must": {"has_id": [1, "a"]}}));
        both("true", json!({}));
        let not_x = json!({"must_not": {"key": "a", "match": {"value": "x"}}});
        both("a <> 'x'", not_x);
        both(
            "a in ('x', 'y')",
            json!({"must": {"key": "a", "match": {"any": ["x", "y"]}}}),
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_column() {
        let cases = [
            ("", "column 1: a path"),
            ("a =", "column 4: a number"),
            ("a = 'x", "column 5: a quote"),
            ("a ~ 3", "column 3: this character"),
            (
                "a < 'x'",
                "column 5: only numbers and dates have an order: 'x' is no date",
            ),
            ("day > '2020-99-01'", "column 7: only numbers and dates"),
            ("a between true and 3", "true and false are neither"),
            ("a = 3 b", "column 7: the end"),
            ("(a = 3", "column 7: \")\""),
            ("a between 1 and date'2026-01-01'", "of one kind"),
            ("a = date'2026-13-01'", "column 5: '2026-13-01' is no date"),
            ("frob(a)", "unknown function"),
            ("has_id('')", "column 8: name: is empty"),
            ("a = 12x", "no number"),
            ("a[ = 3", "column 4"),
            ("a not = 3", "\"in\" or"),
            ("a in ('x']", "column 10: \")\" is expected"),
            ("größe = 'ü' or", "column 15: a path"),
        ];
        for (text, words) in cases {
            let error = Predicate::from_expression(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        let deep = format!("{}a = 1{}", "(".repeat(40), ")".repeat(40));
        assert!(Predicate::from_expression(&deep).is_err());
    }
}
