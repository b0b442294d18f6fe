//! A plan as text: the best candidates in a table, the tree beside them, and, if asked for, every
//! candidate with its reason.

use std::fmt;

use pageway::format_bytes;

use crate::plan::{Entry, Plan, TreeVerdict};

/// Candidates in the table where nobody asks for all.
const SHOWN: usize = 12;

const HEADS: [&str; 13] = [
    "design", "page", "R", "code B", "W", "pages", "rounds", "KiB", "CPU us", "us", "QPS",
    "memory", "disk",
];

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "For {} vectors, {} of memory and recall@10 {}, by {}:\n",
            self.rows,
            format_bytes(self.memory_bytes),
            self.recall,
            self.goal
        )?;
        f.write_str(&table(self.entries.iter().take(SHOWN)))?;
        writeln!(
            f,
            "\n  * guessed, not tried. {} designs were compared in {:.0} s; {} cannot be.",
            self.entries.len(),
            self.seconds,
            self.refused.len()
        )?;
        for entry in self.entries.iter().filter(|entry| entry.has_failed()) {
            writeln!(f, "  {} ({}) {}.", entry.name, entry.sizes(), entry.verdict)?;
        }
        for entry in self.entries.iter().take(2) {
            writeln!(f, "\n{}: {}.", entry.name, entry.verdict)?;
        }
        write!(f, "\n{}", self.tree)?;
        match &self.updates {
            Some(updates) => writeln!(f, "\n{updates}"),
            None => Ok(()),
        }?;
        match &self.fleet {
            Some(fleet) => writeln!(f, "\n{fleet}"),
            None => Ok(()),
        }
    }
}

impl Plan {
    /// Every candidate, and every design that cannot be, with the reason.
    pub fn explained(&self) -> String {
        let mut lines = vec![table(self.entries.iter())];
        lines.extend(
            self.entries
                .iter()
                .map(|entry| format!("  {} ({}): {}", entry.name, entry.sizes(), entry.verdict)),
        );
        lines.extend(self.refused.iter().map(|refusal| {
            let sizes = format!("{} KiB, R {}", refusal.page_bytes / 1024, refusal.degree);
            format!("  {} ({sizes}): cannot be: {}", refusal.name, refusal.why)
        }));
        lines.join("\n")
    }
}

impl fmt::Display for TreeVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "The decision tree of the experimental evaluation says:")?;
        for step in &self.advice.steps {
            let limit = if step.limit.is_finite() {
                format!("{:.2} against {:.2}", step.value, step.limit)
            } else {
                "always".to_owned()
            };
            writeln!(f, "  {} ({}: {limit})", step.answer, step.compared)?;
        }
        if !self.differences.is_empty() {
            writeln!(f, "It differs: {}.", self.differences.join("; "))?;
        }
        writeln!(f, "Who is right: {}.", self.verdict)
    }
}

fn table<'e>(entries: impl Iterator<Item = &'e Entry>) -> String {
    let heads = HEADS.map(str::to_owned);
    let rows: Vec<[String; 13]> = std::iter::once(heads).chain(entries.map(cells)).collect();
    let mut widths = [0; 13];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let cell = if at == 0 {
                format!("  {cell:<width$}")
            } else {
                format!("  {cell:>width$}")
            };
            text.push_str(&cell);
        }
        text.push('\n');
    }
    text
}

fn cells(entry: &Entry) -> [String; 13] {
    let mark = if entry.tried.is_empty() { " *" } else { "" };
    let of_cost = |value: fn(&crate::Cost) -> f64| {
        let cost = entry.cost.as_ref();
        cost.map_or_else(|| "-".to_owned(), |cost| figure(value(cost)))
    };
    [
        format!("{}{mark}", entry.name),
        format!("{}K", entry.page_bytes / 1024),
        entry.degree.to_string(),
        entry.code_bytes.to_string(),
        entry.beam.to_string(),
        of_cost(|cost| cost.counts.pages),
        of_cost(|cost| cost.counts.rounds),
        of_cost(|cost| cost.counts.bytes / 1024.0),
        of_cost(|cost| cost.counts.compute_us + cost.counts.read_us),
        of_cost(|cost| cost.latency_us),
        of_cost(|cost| cost.queries_per_second),
        format_bytes(entry.least_memory_bytes),
        format_bytes(entry.disk_bytes),
    ]
}

/// Three digits that matter.
fn figure(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(
            [0.0, 1.234, 12.34, 1234.5].map(figure),
            ["0.00", "1.23", "12.3", "1234"]
        );
    }

    #[test]
    fn a_table_without_rows_has_its_heads() {
        let text = table(std::iter::empty());
        assert_eq!(text.lines().count(), 1);
        assert!(HEADS.iter().all(|head| text.contains(head)), "{text}");
    }
}
