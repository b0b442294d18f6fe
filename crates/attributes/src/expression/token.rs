//! What an expression is made of.

use crate::error::{Result, invalid};

/// A word of an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A path or a keyword.
    Name(String),
    /// A text between single quotes; two of them inside stand for one.
    Text(String),
    /// A date: `date'…'`.
    Date(String),
    Int(i64),
    /// 2^63 and above.
    Large(u64),
    Float(f64),
    /// Operators and brackets.
    Sign(&'static str),
    End,
}

/// Signs, longer ones first.
const SIGNS: [&str; 13] = [
    "!=", "<>", "<=", ">=", "==", "=", "<", ">", "(", ")", "[", "]", ",",
];

/// Cuts a text into tokens, each with the column it begins at, counted from 1.
pub(super) fn cut(text: &str) -> Result<Vec<(usize, Token)>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let before = text.get(..text.len() - rest.len()).unwrap_or_default();
        let column = before.chars().count() + 1;
        let (token, behind) = next(rest).map_err(|what| wrong(column, what))?;
        let ends = token == Token::End;
        tokens.push((column, token));
        if ends {
            return Ok(tokens);
        }
        rest = behind;
    }
}

/// An error at a column.
pub(super) fn wrong(column: usize, what: impl Into<String>) -> crate::AttributeError {
    invalid(format!("filter, column {column}"), what)
}

fn next(rest: &str) -> std::result::Result<(Token, &str), &'static str> {
    let Some(first) = rest.chars().next() else {
        return Ok((Token::End, rest));
    };
    if first == '\'' {
        let (text, behind) = quoted(rest)?;
        return Ok((Token::Text(text), behind));
    }
    if first.is_ascii_digit() || (first == '-' && rest.len() > 1) {
        return number(rest);
    }
    if first.is_alphabetic() || first == '_' || first == '"' {
        let (name, behind) = path(rest)?;
        if name.eq_ignore_ascii_case("date") && behind.starts_with('\'') {
            let (text, behind) = quoted(behind)?;
            return Ok((Token::Date(text), behind));
        }
        return Ok((Token::Name(name.to_owned()), behind));
    }
    let found = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    let sign = found.ok_or("this character has no meaning here")?;
    let own = match *sign {
        "==" => "=",
        "<>" => "!=",
        other => other,
    };
    Ok((Token::Sign(own), rest.get(sign.len()..).unwrap_or_default()))
}

fn quoted(rest: &str) -> std::result::Result<(String, &str), &'static str> {
    let mut text = String::new();
    let mut inner = rest.get(1..).unwrap_or_default();
    loop {
        let (now, behind) = inner.split_once('\'').ok_or("a quote is not closed")?;
        text.push_str(now);
        match behind.strip_prefix('\'') {
            Some(more) => {
                text.push('\'');
                inner = more;
            }
            None => return Ok((text, behind)),
        }
    }
}

fn number(rest: &str) -> std::result::Result<(Token, &str), &'static str> {
    let mut before = ' ';
    let end = rest.find(|c: char| {
        let exponent = matches!(before, 'e' | 'E') && matches!(c, '+' | '-');
        let first = before == ' ' && c == '-';
        before = c;
        !(c.is_ascii_alphanumeric() || c == '.' || exponent || first)
    });
    let (own, behind) = rest.split_at(end.unwrap_or(rest.len()));
    if let Ok(int) = own.parse() {
        return Ok((Token::Int(int), behind));
    }
    if let Ok(large) = own.parse() {
        return Ok((Token::Large(large), behind));
    }
    let float: f64 = own.parse().map_err(|_| "this is no number")?;
    if !float.is_finite() || own.contains(|c: char| c.is_ascii_alphabetic() && !"eE".contains(c)) {
        return Err("this is no number");
    }
    Ok((Token::Float(float), behind))
}

/// A path: names, quoted or not, dots, and brackets around a number or nothing.
fn path(rest: &str) -> std::result::Result<(&str, &str), &'static str> {
    let mut end = 0;
    loop {
        let behind = rest.get(end..).unwrap_or_default();
        let step = match behind.chars().next() {
            Some('"') => {
                let quoted = behind.get(1..).and_then(|inner| inner.find('"'));
                quoted.ok_or("a quoted name is not closed")? + 2
            }
            Some('[') => {
                let inner = behind.get(1..).unwrap_or_default();
                let number = inner.trim_start_matches(|c: char| c.is_ascii_digit());
                if number.starts_with(']') {
                    inner.len() - number.len() + 2
                } else {
                    0
                }
            }
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '.') => c.len_utf8(),
            _ => 0,
        };
        if step == 0 {
            return Ok(rest.split_at(end));
        }
        end += step;
    }
}
