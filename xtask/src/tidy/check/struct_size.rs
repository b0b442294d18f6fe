//! No struct knows everything: 12 fields at most.

use crate::tidy::finding::Findings;
use crate::tidy::function::{group_end, top_level};
use crate::tidy::source::SourceFile;
use crate::tidy::word;

const FIELDS: usize = 12;

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    let code = file.code();
    for (start, _) in code.match_indices("struct ") {
        let line = file.line_at(start);
        let Some((name, count)) = fields(code.get(start..).unwrap_or("")) else {
            continue;
        };
        if count > FIELDS && file.is_production(line) {
            findings.fail(
                line,
                format!("struct {name} has {count} fields, the limit is {FIELDS}"),
            );
        }
    }
}

/// Name and number of named fields of the struct that `text` starts with.
fn fields(text: &str) -> Option<(&str, usize)> {
    let open = text
        .find(['{', ';', '('])
        .filter(|&at| text.as_bytes().get(at) == Some(&b'{'))?;
    let close = group_end(text, open)?;
    let name = word::words(text).nth(1)?;
    Some((name, top_level(text.get(open + 1..close)?).len()))
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    fn found(fields: usize) -> usize {
        let text = format!(
            "struct A<T> where T: B {{ {} }}",
            "#[x(y)] pub(crate) a: M<K, V>, ".repeat(fields)
        );
        messages(super::check, "a.rs", &text).len()
    }

    #[test]
    fn the_thirteenth_field_fails() {
        assert_eq!((found(12), found(13)), (0, 1));
    }

    #[test]
    fn tuple_and_unit_structs_pass() {
        assert!(messages(super::check, "a.rs", "struct A; struct B(u8); fn c() { d }").is_empty());
    }
}
