//! Sentences that a person can judge: each with its nearest definitions.

use pageway::{Answers, Effort, Index, Queries, Result, SearchOptions, VectorRead};
use serde::Serialize;

use super::library::Library;

/// Rows of the sentences that make good examples.
const ROWS: [u64; 5] = [294, 108, 120, 281, 233];
const NEIGHBOURS: u32 = 3;

/// A sentence and what the index found for it.
#[derive(Serialize)]
pub(super) struct Example {
    sentence: String,
    found: Vec<Definition>,
}

#[derive(Serialize)]
struct Definition {
    text: String,
    /// Cosine of the angle between sentence and definition.
    similarity: f32,
}

/// Searches for the examples.
pub(super) fn answer(index: &Index, library: &Library) -> Result<Vec<Example>> {
    let shape = library.sentences.vectors.shape();
    let mut rows = vec![0; ROWS.len() * shape.row_bytes()];
    for (place, row) in rows.chunks_exact_mut(shape.row_bytes()).zip(ROWS) {
        library.sentences.vectors.read(row, place)?;
    }
    let options = SearchOptions::nearest(NEIGHBOURS).with_effort(Effort::ListSize(100));
    let answers = index.search(&Queries::new(&rows, shape), &options)?;
    Ok(pair(&answers, library))
}

fn pair(answers: &Answers, library: &Library) -> Vec<Example> {
    let k = answers.k.max(1);
    let lists = answers.ids.chunks(k).zip(answers.distances.chunks(k));
    let examples = ROWS.into_iter().zip(lists).map(|(row, (ids, distances))| {
        let found = ids.iter().zip(distances).map(|(id, distance)| Definition {
            text: library.definitions.text(*id).to_owned(),
            similarity: 1.0 - distance,
        });
        Example {
            sentence: library.sentences.text(row).to_owned(),
            found: found.collect(),
        }
    });
    examples.collect()
}

/// The examples for people.
pub(super) fn describe(examples: &[Example]) -> String {
    let mut text = String::new();
    for Example { sentence, found } in examples {
        text.push_str(&format!("  \"{sentence}\"\n"));
        for Definition {
            text: definition,
            similarity,
        } in found
        {
            text.push_str(&format!("    {similarity:.2}  {}\n", shorten(definition)));
        }
        text.push('\n');
    }
    text
}

/// Fits a line of a terminal.
fn shorten(text: &str) -> String {
    const WIDTH: usize = 84;
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    let head: String = text.chars().take(WIDTH - 3).collect();
    format!("{}...", head.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_definitions_are_cut() {
        assert_eq!(shorten("short"), "short");
        let long = shorten(&"word ".repeat(40));
        assert!(long.ends_with("word...") || long.ends_with("..."), "{long}");
        assert!(long.chars().count() <= 84);
    }
}
