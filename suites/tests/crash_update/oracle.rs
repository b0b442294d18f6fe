//! What an index must hold, exactly.

use std::path::Path;
use std::sync::Arc;

use pageway::{
    Effort, Error, ErrorKind, Filter, Index, NoProgress, OpenOptions, Queries, RowParts, Rows,
    SearchOptions, UpdateOptions, Vfs, Writer, verify_on,
};
use pageway_store::MANIFEST_FILE;

use crate::story::{COPY, DIR, Held, SHAPE, open};

fn text(error: pageway::Error) -> String {
    error.to_string()
}

fn wrong(words: String) -> Error {
    Error::new(ErrorKind::Corrupt, words)
}

/// What an index holds: its rows, which searches and counts agree with.
pub(crate) fn hold(index: &Index) -> pageway::Result<Held> {
    let parts = RowParts {
        vectors: true,
        attributes: true,
    };
    let page = index.scroll(None, (0, 1 << 20), parts)?;
    let whole = |row: pageway::StoredRow| {
        let json = row.attributes.unwrap_or_default().into_bytes();
        (row.id, [row.vector, json].concat())
    };
    let held: Held = page.rows.into_iter().map(whole).collect();
    if index.len() != held.len() as u64 {
        let words = format!("{} rows, and {} come", index.len(), held.len());
        return Err(wrong(words));
    }
    search(index, &held)?;
    count(index, &held)?;
    Ok(held)
}

/// Which of some states that is, the last that fits: the same ids and rows, and no others.
pub(crate) fn fit(held: &Held, allowed: &[Held]) -> Result<usize, String> {
    allowed
        .iter()
        .rposition(|state| held == state)
        .ok_or_else(|| {
            let counts: Vec<usize> = allowed.iter().map(Held::len).collect();
            let differs = |(id, row): &(&u64, &Vec<u8>)| held.get(id) != Some(row);
            let last = allowed.last().and_then(|state| state.iter().find(differs));
            let own = last.and_then(|(id, _)| held.get(id));
            let rows = held.len();
            format!("{rows} rows, none of states of {counts:?}; {last:?} is {own:?}")
        })
}

/// Which of some states an index holds.
pub(crate) fn find(index: &Index, allowed: &[Held]) -> pageway::Result<usize> {
    fit(&hold(index)?, allowed).map_err(wrong)
}

fn is_refusal(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidInput | ErrorKind::Unsupported)
}

/// As many rows have attributes as should.
fn count(index: &Index, state: &Held) -> pageway::Result<()> {
    let filter = r#"{"must_not": [{"is_empty": {"key": "edited"}}]}"#;
    let filter = Filter::qdrant(filter)?;
    let is_edited = |row: &&Vec<u8>| row.windows(8).any(|part| part == b"\"edited\"");
    let expected = state.values().filter(is_edited).count() as u64;
    match index.count(&filter) {
        Ok(count) if count == expected => Ok(()),
        Ok(count) => Err(wrong(format!(
            "{expected} rows were edited, and {count} are"
        ))),
        // Nobody has such a field, or any.
        Err(error) if expected == 0 && is_refusal(error.kind()) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Answers live, come once, and have the distances that they should.
fn search(index: &Index, state: &Held) -> pageway::Result<()> {
    let query = [90; 12];
    let queries = Queries::new(&query, SHAPE);
    let options = SearchOptions::nearest(9).with_effort(Effort::ListSize(200));
    let answers = index.search(&queries, &options)?;
    let mut seen = std::collections::BTreeSet::new();
    for (id, distance) in answers.ids.iter().zip(&answers.distances) {
        if *id == u64::MAX {
            break;
        }
        let row = state
            .get(id)
            .ok_or_else(|| wrong(format!("id {id} came back")))?;
        let apart = |(a, b): (&u8, &u8)| (f32::from(*a) - f32::from(*b)).powi(2);
        let expected: f32 = row.iter().zip(&query).map(apart).sum();
        if *distance != expected || !seen.insert(*id) {
            return Err(wrong(format!(
                "id {id} at {distance}, not {expected}, or twice"
            )));
        }
    }
    if seen.len() < state.len().min(9) {
        let words = format!("{} answers of {} rows", seen.len(), state.len());
        return Err(wrong(words));
    }
    Ok(())
}

/// Opens what a crash left, to be changed: what it holds, which `verify` agrees with.
pub(crate) fn open_sound(vfs: &Arc<dyn Vfs>) -> Result<(Writer, Held), String> {
    check_sound(vfs, Path::new(DIR))?;
    let writer = open(vfs).map_err(text)?;
    let held = hold(writer.index()).map_err(text)?;
    Ok((writer, held))
}

/// The same, which must be one of some states.
pub(crate) fn recover(vfs: &Arc<dyn Vfs>, allowed: &[Held]) -> Result<(Writer, usize), String> {
    let (writer, held) = open_sound(vfs)?;
    let found = fit(&held, allowed)?;
    Ok((writer, found))
}

fn check_sound(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<(), String> {
    let report = verify_on(vfs, dir, &NoProgress).map_err(text)?;
    match report.problems.first() {
        Some(problem) => Err(format!("verify: {problem}")),
        None => Ok(()),
    }
}

/// Life after a crash: rows come, one with an id that the index gives, one goes; they are flushed
/// and merged and there when it is opened again.
pub(crate) fn go_on(vfs: &Arc<dyn Vfs>, writer: Writer, state: &Held) -> Result<(), String> {
    let mut state = state.clone();
    let more = [[3; 12], [251; 12]];
    let run = |writer: &Writer, state: &mut Held| -> pageway::Result<()> {
        let given = writer
            .insert(&Rows::new(&more[0], SHAPE))?
            .first_id
            .unwrap();
        if state.insert(given, more[0].to_vec()).is_some() {
            return Err(pageway::Error::new(
                pageway::ErrorKind::Internal,
                format!("id {given} was given again"),
            ));
        }
        let ids = [9_999_999];
        writer.insert(&Rows::new(&more[1], SHAPE).with_ids(&ids[..]))?;
        state.insert(ids[0], more[1].to_vec());
        writer.flush(&NoProgress)?;
        let first = *state.keys().next().unwrap();
        writer.delete(&[first], pageway::Durability::Synced)?;
        state.remove(&first);
        writer.merge(true, &NoProgress).map(drop)
    };
    run(&writer, &mut state).map_err(text)?;
    find(writer.index(), std::slice::from_ref(&state)).map_err(text)?;
    drop(writer);
    recover(vfs, &[state]).map(drop)
}

/// What a snapshot holds; it is whole where it has a manifest.
pub(crate) fn open_copy(vfs: &Arc<dyn Vfs>) -> Result<Option<Held>, String> {
    let dir = Path::new(COPY);
    if !vfs.exists(&dir.join(MANIFEST_FILE)).unwrap() {
        return Ok(None);
    }
    check_sound(vfs, dir)?;
    let index = Index::open_on(vfs, dir, &OpenOptions::default()).map_err(text)?;
    let held = hold(&index).map_err(|error| format!("snapshot: {error}"))?;
    drop(index);
    let update = UpdateOptions::default();
    let writer = Writer::open_on(vfs, dir, &OpenOptions::default(), &update).map_err(text)?;
    find(writer.index(), std::slice::from_ref(&held)).map_err(text)?;
    Ok(Some(held))
}

/// Whether a snapshot is that of a state, and there once that was said.
pub(crate) fn fit_copy(copy: Option<&Held>, state: &Held, is_told: bool) -> Result<(), String> {
    match copy {
        Some(copy) if copy == state => Ok(()),
        Some(copy) => Err(format!(
            "a snapshot of {} rows, not of these {}",
            copy.len(),
            state.len()
        )),
        None if is_told => Err("the snapshot is gone".to_owned()),
        None => Ok(()),
    }
}
