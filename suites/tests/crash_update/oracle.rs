//! What an index must hold, exactly.

use std::path::Path;
use std::sync::Arc;

use pageway::{
    Effort, Index, NoProgress, OpenOptions, Queries, Rows, SearchOptions, UpdateOptions, Vfs,
    Writer, verify_on,
};
use pageway_store::MANIFEST_FILE;

use crate::story::{COPY, DIR, Held, SHAPE, open};

fn text(error: pageway::Error) -> String {
    error.to_string()
}

/// Which of some states an index holds, the last that fits: the same ids with the same rows, and
/// no others.
pub(crate) fn find(index: &Index, allowed: &[Held]) -> Result<usize, String> {
    let holds = |state: &Held| {
        let ids: Vec<u64> = state.keys().copied().collect();
        let rows = index.vectors(&ids);
        index.len() == ids.len() as u64
            && rows.is_ok_and(|rows| rows == state.values().flatten().copied().collect::<Vec<u8>>())
    };
    let found = allowed.iter().rposition(holds).ok_or_else(|| {
        let counts: Vec<usize> = allowed.iter().map(Held::len).collect();
        format!("{} rows, none of states of {counts:?}", index.len())
    })?;
    search(index, &allowed[found])?;
    Ok(found)
}

/// Answers live, come once, and have the distances that they should.
fn search(index: &Index, state: &Held) -> Result<(), String> {
    let query = [90; 12];
    let queries = Queries::new(&query, SHAPE);
    let options = SearchOptions::nearest(9).with_effort(Effort::ListSize(200));
    let answers = index.search(&queries, &options).map_err(text)?;
    let mut seen = std::collections::BTreeSet::new();
    for (id, distance) in answers.ids.iter().zip(&answers.distances) {
        if *id == u64::MAX {
            break;
        }
        let row = state.get(id).ok_or_else(|| format!("id {id} came back"))?;
        let apart = |(a, b): (&u8, &u8)| (f32::from(*a) - f32::from(*b)).powi(2);
        let expected: f32 = row.iter().zip(&query).map(apart).sum();
        if *distance != expected || !seen.insert(*id) {
            return Err(format!("id {id} at {distance}, not {expected}, or twice"));
        }
    }
    if seen.len() < state.len().min(9) {
        return Err(format!("{} answers of {} rows", seen.len(), state.len()));
    }
    Ok(())
}

/// Opens what a crash left, to be changed: the state that it holds, which `verify` agrees with.
pub(crate) fn recover(vfs: &Arc<dyn Vfs>, allowed: &[Held]) -> Result<(Writer, usize), String> {
    check_sound(vfs, Path::new(DIR))?;
    let writer = open(vfs).map_err(text)?;
    let found = find(writer.index(), allowed)?;
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
    find(writer.index(), std::slice::from_ref(&state))?;
    drop(writer);
    recover(vfs, &[state]).map(drop)
}

/// A snapshot is whole where it has a manifest, and it has one once that was said.
pub(crate) fn check_copy(vfs: &Arc<dyn Vfs>, state: &Held, is_told: bool) -> Result<(), String> {
    let dir = Path::new(COPY);
    if !vfs.exists(&dir.join(MANIFEST_FILE)).unwrap() {
        return if is_told {
            Err("the snapshot is gone".to_owned())
        } else {
            Ok(())
        };
    }
    check_sound(vfs, dir)?;
    let index = Index::open_on(vfs, dir, &OpenOptions::default()).map_err(text)?;
    find(&index, std::slice::from_ref(state)).map_err(|error| format!("snapshot: {error}"))?;
    drop(index);
    let update = UpdateOptions::default();
    let writer = Writer::open_on(vfs, dir, &OpenOptions::default(), &update).map_err(text)?;
    find(writer.index(), std::slice::from_ref(state)).map(drop)
}
