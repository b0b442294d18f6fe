//! A delta against a list of rows that is looked through.

use std::sync::atomic::{AtomicBool, Ordering};

use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Metric, VectorShape};
use proptest::prelude::*;

use super::*;

fn form(dimension: u32) -> RowForm {
    let shape = VectorShape {
        dimension,
        element: ElementType::U8,
    };
    RowForm::new(KernelSet::detect().unwrap(), shape, Metric::L2)
}

fn new<'r>(ids: &'r [u64], vectors: &'r [u8]) -> NewRows<'r> {
    NewRows {
        ids,
        vectors,
        documents: &[],
    }
}

#[test]
fn rows_keep_their_attributes_when_chunks_are_merged() {
    let delta = Delta::new(form(1));
    for row in 0..40u64 {
        let document: RowDocument = row
            .is_multiple_of(3)
            .then(|| row.to_string().into_bytes().into());
        delta.append(NewRows {
            ids: &[row],
            vectors: &[row as u8],
            documents: &[document],
        });
    }
    let view = delta.view();
    for row in 0..40u32 {
        let expected = row.is_multiple_of(3).then(|| row.to_string().into_bytes());
        assert_eq!(view.document(row), expected.as_deref());
        assert_eq!(view.vector(row), Some(&[row as u8][..]));
    }
    assert_eq!(view.document(40), None);
}

proptest! {
    #[test]
    fn a_view_is_what_was_there_at_its_moment(
        steps in prop::collection::vec((1usize..9, any::<u8>(), 0u32..200), 1..60),
        query in any::<u8>(),
        most in 1usize..12,
    ) {
        let delta = Delta::new(form(2));
        let mut model: Vec<(u64, u8, bool)> = Vec::new();
        let mut earlier = None;
        for (step, (count, value, victim)) in steps.iter().enumerate() {
            let first = model.len() as u64;
            let ids: Vec<u64> = (first..first + *count as u64).map(|id| id * 7).collect();
            let values: Vec<u8> = (0..*count).map(|at| value.wrapping_add(at as u8 * 31)).collect();
            let rows: Vec<u8> = values.iter().flat_map(|value| [*value, 3]).collect();
            delta.append(new(&ids, &rows));
            model.extend(ids.iter().zip(&values).map(|(id, value)| (*id, *value, true)));
            let known = model.get(*victim as usize).map(|row| row.2);
            prop_assert_eq!(delta.kill(*victim), known == Some(true));
            if let Some(row) = model.get_mut(*victim as usize) {
                row.2 = false;
            }
            if step == steps.len() / 2 {
                let living = model.iter().filter(|row| row.2).count();
                earlier = Some((delta.view(), model.len(), living));
            }
        }
        let living = model.iter().filter(|row| row.2).count();
        prop_assert_eq!(delta.living() as usize, living);
        let mut expected: Vec<(u32, u64)> = model.iter().filter(|row| row.2)
            .map(|row| (u32::from(row.1.abs_diff(query)).pow(2), row.0)).collect();
        expected.sort_unstable();
        expected.truncate(most);
        let row = [query, 3];
        let asked = DeltaQuery::new(&row, form(2));
        let limits = (most, f32::INFINITY);
        let (found, scored) = delta.view().nearest((&asked, None), limits, |_, _| true);
        prop_assert_eq!(scored, living as u64);
        let found: Vec<_> = found.iter().map(|hit| (hit.distance as u32, hit.id)).collect();
        prop_assert_eq!(found, expected);
        // A view keeps the rows that died after it.
        if let Some((view, rows, living)) = earlier {
            prop_assert_eq!(view.len() as usize, rows);
            let mut shown = 0;
            view.each_living(|_, _, _| shown += 1);
            prop_assert_eq!(shown, living);
        }
    }
}

#[test]
fn a_row_that_is_replaced_is_seen_once_while_others_look() {
    let delta = Delta::new(form(1));
    delta.append(new(&[5], &[0]));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let mut seen = 0;
                    delta
                        .view()
                        .each_living(|_, id, _| seen += usize::from(id == 5));
                    assert_eq!(seen, 1);
                }
            });
        }
        for row in 1..4000u32 {
            delta.replace([row - 1], new(&[5], &[row as u8]));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!((delta.len(), delta.living()), (4000, 1));
}

#[test]
fn a_chain_leads_to_what_came_later() {
    let (first, second) = (Delta::new(form(1)), Arc::new(Delta::new(form(1))));
    assert!(first.next().is_none());
    first.close(Arc::clone(&second));
    assert!(Arc::ptr_eq(first.next().unwrap(), &second));
}

#[test]
fn a_row_that_moves_to_the_next_delta_is_in_one_view_of_both() {
    let old = Arc::new(Delta::new(form(1)));
    old.append(new(&[5, 6], &[1, 2]));
    let next = Arc::new(old.following());
    old.close(Arc::clone(&next));
    let chain = [old, next];
    let living =
        |views: &[DeltaView]| -> usize { views.iter().map(|view| view.living().count()).sum() };
    let before = Delta::views(&chain);
    chain[1].append(new(&[5], &[3]));
    let between = Delta::views(&chain);
    assert!(chain[0].kill(0) && !chain[0].kill(0));
    // Where the row was, where it was and is, and where it is.
    assert_eq!([living(&before), living(&between)], [2, 2]);
    assert_eq!(living(&Delta::views(&chain)), 2);
    assert!(before[0].living().eq([0, 1]) && chain[0].view().living().eq([1]));
}

#[test]
fn a_view_of_the_last_delta_that_is_closed_meanwhile_loses_nothing() {
    let old = Arc::new(Delta::new(form(1)));
    old.append(new(&[5], &[1]));
    let chain = [Arc::clone(&old)];
    let next = Arc::new(old.following());
    old.close(Arc::clone(&next));
    next.append(new(&[5], &[3]));
    old.kill(0);
    assert!(Delta::views(&chain)[0].living().eq([0]));
}
