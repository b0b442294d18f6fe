//! Many callers at once, through group commit, and crashes at every moment.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pageway_store::{
    Durability, GroupCommit, LOG_EXTENSION, LogWriter, Lsn, OnDamage, Records, Room, Sequence,
    StoreError, replay_log,
};
use pageway_testkit::SimVfs;

use crate::explore::SEED;
use crate::story::{empty, place};

const CALLERS: u8 = 4;
const BATCHES: u8 = 12;
/// Records of a batch.
const RECORDS: u8 = 3;
const IMAGES: u64 = 6;

/// What is published: how many batches of each caller.
struct Counts([u8; CALLERS as usize]);

impl Sequence for Counts {
    type Batch = (u8, u8);
    type Outcome = ();

    fn resolve(
        &mut self,
        (caller, number): &mut (u8, u8),
        records: &mut Records<'_>,
    ) -> Result<(), StoreError> {
        records.reserve(u64::from(RECORDS), 300 * u64::from(RECORDS))?;
        for record in 0..RECORDS {
            let mut bytes = [7; 300];
            bytes[..3].copy_from_slice(&[*caller, *number, record]);
            records.push(&bytes)?;
        }
        Ok(())
    }

    fn publish(&mut self, (caller, number): (u8, u8), _last: Lsn) {
        let count = &mut self.0[usize::from(caller)];
        assert_eq!(*count, number, "published in order");
        *count += 1;
    }

    fn abandon(&mut self, _batch: (u8, u8)) {}
}

/// Whole batches of each caller that an image holds, in order and without a gap.
fn recovered(image: &SimVfs) -> Result<[u8; CALLERS as usize], StoreError> {
    let mut counts = [0; CALLERS as usize];
    let place = place(Arc::new(image.clone()));
    let files = place.vfs.list(&place.dir).unwrap();
    if !files.iter().any(|name| name.ends_with(LOG_EXTENSION)) {
        return Ok(counts);
    }
    let mut within = 0;
    replay_log(&place, Lsn::NONE, OnDamage::Refuse, |_, bytes| {
        let count = &mut counts[usize::from(bytes[0])];
        if bytes[1] != *count || bytes[2] != within {
            return Err(StoreError::invalid("records out of order"));
        }
        within = (within + 1) % RECORDS;
        *count += u8::from(within == 0);
        Ok(())
    })?;
    Ok(counts)
}

#[test]
fn what_many_callers_were_told_survives_any_crash() {
    let sim = empty();
    sim.record();
    let writer = LogWriter::create(&place(Arc::new(sim.clone())), Lsn::NONE).unwrap();
    let log = GroupCommit::new(Counts([0; CALLERS as usize]), writer, 4000);
    // Moments from which on a number of batches of a caller must be found.
    let told = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (sim, log, told) = (&sim, &log, &told);
            scope.spawn(move || {
                for number in 0..BATCHES {
                    let durability = match number % 3 {
                        0 => Durability::Batched(Duration::from_secs(3600)),
                        1 => Durability::Deferred,
                        _ => Durability::Synced,
                    };
                    let done = log
                        .submit((caller, number), 900, durability, Room::Ordinary)
                        .unwrap();
                    assert!(done.durable || number % 3 < 2);
                    if done.durable {
                        let moment = sim.operations();
                        told.lock().unwrap().push((moment, caller, number + 1));
                    }
                }
            });
        }
    });
    let (counts, last) = log.close().unwrap();
    let all = u64::from(CALLERS) * u64::from(BATCHES) * u64::from(RECORDS);
    assert_eq!((counts.0, last), ([BATCHES; CALLERS as usize], Lsn(all)));
    let told = told.into_inner().unwrap();
    let mut images = 0;
    for boundary in sim.take_boundaries() {
        for image in boundary.images(IMAGES, SEED) {
            images += 1;
            let found = recovered(&image).unwrap();
            for (moment, caller, number) in &told {
                assert!(
                    *moment > boundary.operations || found[usize::from(*caller)] >= *number,
                    "after operation {}: {found:?}",
                    boundary.operations
                );
            }
        }
    }
    println!("{images} images");
}
