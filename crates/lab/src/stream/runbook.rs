//! Runbooks: what happens to an index, in the YAML of big-ann's streaming track.
//!
//! ```text
//! name-of-data:
//!   max_pts: 10000                    rows that live at once, at most
//!   1: { operation: insert | delete, start, end }     rows start .. end, whose ids they are
//!   2: { operation: search }
//!   3: { operation: replace, tags_start, tags_end, ids_start, ids_end }
//! ```
//!
//! Steps are numbered from 1 and end at the first number that is missing, as its readers do. Of
//! YAML nested mappings of plain or quoted scalars are read, which is what runbooks are made of.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use pageway::{Error, Result};

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Rows come in, each under its number.
    Insert(Range<u64>),
    /// Ids go.
    Delete(Range<u64>),
    /// Ids get other rows: the first id the first row.
    Replace {
        /// Ids.
        tags: Range<u64>,
        /// As many rows.
        rows: Range<u64>,
    },
    /// All queries are searched for.
    Search,
}

/// What happens to an index of a data set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Runbook {
    /// Name of the data set.
    pub name: String,
    /// Rows that live at once, at most.
    pub most_rows: u64,
    /// Step by step.
    pub steps: Vec<Step>,
}

/// A mapping of YAML, or a scalar.
enum Node {
    Mapping(BTreeMap<String, Node>),
    Scalar(String),
}

impl Runbook {
    /// Reads the runbook of a data set, or the only one of a file.
    ///
    /// # Errors
    /// `InvalidInput` for what is no runbook, or where several are and none is named.
    pub fn parse(text: &str, name: Option<&str>) -> Result<Self> {
        let lines = significant(text);
        let (top, _) = mapping(&lines, 0)?;
        let (name, node) = match name {
            Some(name) => (name.to_owned(), top.get(name)),
            None if top.len() == 1 => top
                .iter()
                .next()
                .map(|(name, node)| (name.clone(), Some(node)))
                .unwrap_or_default(),
            None => {
                let names: Vec<&str> = top.keys().map(String::as_str).collect();
                let names = names.join(", ");
                return Err(Error::invalid(format!("name the data set, one of {names}")));
            }
        };
        let Some(Node::Mapping(fields)) = node else {
            return Err(Error::invalid(format!("no runbook of '{name}'")));
        };
        let steps = (1u64..).map_while(|number| Some((number, fields.get(&number.to_string())?)));
        let steps = steps.map(|(number, node)| {
            step(node).map_err(|error| error.within(format!("step {number}")))
        });
        Ok(Self {
            most_rows: number(fields, "max_pts")?,
            steps: steps.collect::<Result<_>>()?,
            name,
        })
    }

    /// As YAML.
    pub fn to_yaml(&self) -> String {
        let mut text = format!("{}:\n  max_pts: {}\n", self.name, self.most_rows);
        for (number, step) in (1..).zip(&self.steps) {
            let (operation, fields) = match step {
                Step::Insert(rows) => ("insert", vec![("start", rows.start), ("end", rows.end)]),
                Step::Delete(ids) => ("delete", vec![("start", ids.start), ("end", ids.end)]),
                Step::Search => ("search", Vec::new()),
                Step::Replace { tags, rows } => (
                    "replace",
                    vec![
                        ("tags_start", tags.start),
                        ("tags_end", tags.end),
                        ("ids_start", rows.start),
                        ("ids_end", rows.end),
                    ],
                ),
            };
            let _ = writeln!(text, "  {number}:\n    operation: \"{operation}\"");
            for (field, value) in fields {
                let _ = writeln!(text, "    {field}: {value}");
            }
        }
        text
    }

    /// Rows of the data that it needs.
    pub fn rows(&self) -> u64 {
        let ends = self.steps.iter().map(|step| match step {
            Step::Insert(rows) | Step::Replace { rows, .. } => rows.end,
            Step::Delete(_) | Step::Search => 0,
        });
        ends.max().unwrap_or(0)
    }
}

/// Indentation and content of the lines that say something.
fn significant(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().map(|line| {
        let content = line.split(" #").next().unwrap_or_default().trim_end();
        let trimmed = content.trim_start();
        (content.len() - trimmed.len(), trimmed)
    });
    let speaks = |line: &str| !line.is_empty() && !line.starts_with('#') && line != "---";
    lines.filter(|(_, line)| speaks(line)).collect()
}

/// The mapping that begins with the first of some lines, and how many of them it takes.
fn mapping(lines: &[(usize, &str)], depth: usize) -> Result<(BTreeMap<String, Node>, usize)> {
    if depth > 4 {
        return Err(Error::invalid("mappings nested too deep for a runbook"));
    }
    let indent = lines.first().map_or(0, |(indent, _)| *indent);
    let (mut found, mut at) = (BTreeMap::new(), 0);
    while let Some((own, line)) = lines.get(at).filter(|(own, _)| *own >= indent) {
        let entry = line.split_once(':').filter(|_| *own == indent);
        let Some((key, value)) = entry else {
            return Err(Error::invalid(format!("'{line}' is no line of a runbook")));
        };
        at += 1;
        let rest = lines.get(at..).unwrap_or_default();
        let node = if value.trim().is_empty() && rest.first().is_some_and(|(deep, _)| deep > own) {
            let (inner, taken) = mapping(rest, depth + 1)?;
            at += taken;
            Node::Mapping(inner)
        } else {
            Node::Scalar(unquoted(value).to_owned())
        };
        found.insert(unquoted(key).to_owned(), node);
    }
    Ok((found, at))
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

fn step(node: &Node) -> Result<Step> {
    let Node::Mapping(fields) = node else {
        return Err(Error::invalid("no operation"));
    };
    let range = |start: &str, end: &str| -> Result<Range<u64>> {
        let range = number(fields, start)?..number(fields, end)?;
        if range.is_empty() {
            let words = format!("{start} {} to {end} {}: nothing", range.start, range.end);
            return Err(Error::invalid(words));
        }
        Ok(range)
    };
    let operation = match fields.get("operation") {
        Some(Node::Scalar(operation)) => operation.as_str(),
        _ => "",
    };
    match operation {
        "insert" => Ok(Step::Insert(range("start", "end")?)),
        "delete" => Ok(Step::Delete(range("start", "end")?)),
        "search" => Ok(Step::Search),
        "replace" => {
            let tags = range("tags_start", "tags_end")?;
            let rows = range("ids_start", "ids_end")?;
            if tags.end - tags.start != rows.end - rows.start {
                return Err(Error::invalid("as many ids as tags are needed"));
            }
            Ok(Step::Replace { tags, rows })
        }
        other => Err(Error::invalid(format!(
            "operation '{other}' is none of insert, delete, replace, search"
        ))),
    }
}

fn number(fields: &BTreeMap<String, Node>, name: &str) -> Result<u64> {
    let parsed = match fields.get(name) {
        Some(Node::Scalar(text)) => text.replace('_', "").parse().ok(),
        _ => None,
    };
    parsed.ok_or_else(|| Error::invalid(format!("{name} is no number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# as in the official files
random-xs:
  max_pts: 10_000
  1:
    operation: \"insert\"
    start: 0
    end: 6000
  2:
    operation: search
  3: # gone
    operation: 'delete'
    start: 10
    end: 20
  4:
    operation: replace
    tags_start: 0
    tags_end: 5
    ids_start: 6000
    ids_end: 6005
  6:
    operation: search
  gt_url: \"https://example.org/gt\"
other:
  max_pts: 3
  1:
    operation: search
";

    #[test]
    fn official_files_are_read_up_to_the_first_number_that_is_missing() {
        let runbook = Runbook::parse(TEXT, Some("random-xs")).unwrap();
        let replace = Step::Replace {
            tags: 0..5,
            rows: 6000..6005,
        };
        let steps = [
            Step::Insert(0..6000),
            Step::Search,
            Step::Delete(10..20),
            replace,
        ];
        assert_eq!((runbook.most_rows, runbook.rows()), (10_000, 6005));
        assert_eq!(runbook.steps, steps);
        assert_eq!(Runbook::parse(&runbook.to_yaml(), None).unwrap(), runbook);
        assert_eq!(Runbook::parse(TEXT, Some("other")).unwrap().steps.len(), 1);
    }

    #[test]
    fn what_is_no_runbook_is_refused_with_the_step() {
        let wrong = [
            (TEXT.to_owned(), None, "name the data set"),
            (TEXT.to_owned(), Some("none"), "no runbook of 'none'"),
            (
                TEXT.replace("end: 6000", "end: 0"),
                Some("random-xs"),
                "step 1",
            ),
            (
                TEXT.replace("replace", "rewrite"),
                Some("random-xs"),
                "step 4",
            ),
            (
                TEXT.replace("6005", "6006"),
                Some("random-xs"),
                "as many ids",
            ),
            ("a:\n  - b".to_owned(), None, "no line of a runbook"),
            (String::new(), None, "name the data set"),
        ];
        for (text, name, words) in wrong {
            let error = Runbook::parse(&text, name).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
