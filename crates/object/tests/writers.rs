//! Writers of one log that are paused and go on as if nothing had been, over a store that throttles
//! or loses acknowledgements: there is one history, and all that was acknowledged is in it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    unreachable_pub,
    dead_code,
    reason = "a test may fail"
)]

mod faulty;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use faulty::{Fault, Faulty};
use object_store::ObjectStore;
use object_store::path::Path;
use pageway_object::{Appended, Lease, Objects, Patience, SharedLog, SharedRecord};

const TRIALS: u64 = 1000;
const WRITERS: u64 = 3;
const ROUNDS: u64 = 4;
const TERM: Duration = Duration::from_millis(100);

fn objects(store: &Arc<Faulty>) -> Objects {
    let inner: Arc<dyn ObjectStore> = Arc::<Faulty>::clone(store);
    let objects = Objects::new(inner, Path::from("texts"), "memory://texts").unwrap();
    objects.with_patience(Patience {
        whole: Duration::from_millis(500),
        attempt: Duration::from_millis(100),
        pause: Duration::from_micros(50),
    })
}

/// Numbers by chance, of a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// What trials came to.
#[derive(Default)]
struct Seen {
    acknowledged: AtomicU64,
    fenced: AtomicU64,
    led: AtomicU64,
    failed: AtomicU64,
}

struct Trial {
    objects: Objects,
    /// Milliseconds, which writers move on as they like.
    clock: AtomicU64,
    acknowledged: Mutex<BTreeMap<u64, Vec<u8>>>,
}

impl Trial {
    /// Time goes on for everybody while one writer rests: at times for longer than a lease.
    fn rest(&self, chance: &mut Chance) {
        let pause = if chance.below(4) == 0 { 300 } else { 20 };
        self.clock.fetch_add(chance.below(pause), Ordering::SeqCst);
        for _ in 0..chance.below(8) {
            std::thread::yield_now();
        }
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.clock.load(Ordering::SeqCst))
    }

    /// Leads when it can, and appends, also after its lease has ended.
    fn write(&self, writer: u64, chance: &mut Chance, seen: &Seen) {
        let holder = format!("w{writer}");
        for round in 0..ROUNDS {
            self.rest(chance);
            let lease = Lease::take(&self.objects, &holder, (self.now(), TERM));
            let Ok(Some(mut lease)) = lease else { continue };
            self.rest(chance);
            let led = SharedLog::lead(&self.objects, (lease.epoch(), 0), &mut |_| Ok(()));
            let Ok(Some(mut log)) = led else { continue };
            seen.led.fetch_add(1, Ordering::Relaxed);
            for number in 0..=chance.below(4) {
                self.rest(chance);
                let record = format!("{writer}-{round}-{number}").into_bytes();
                match log.append(&self.objects, &record) {
                    Ok(Appended::At(place)) => {
                        seen.acknowledged.fetch_add(1, Ordering::Relaxed);
                        let before = self.acknowledged.lock().unwrap().insert(place, record);
                        assert_eq!(before, None, "two records at {place}");
                    }
                    Ok(Appended::Fenced) => {
                        seen.fenced.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    Err(_) => {
                        seen.failed.fetch_add(1, Ordering::Relaxed);
                        assert!(log.append(&self.objects, b"x").is_err());
                        break;
                    }
                }
                if chance.below(3) == 0 {
                    let _ = lease.renew(&self.objects, (self.now(), TERM));
                }
            }
        }
    }
}

fn history(objects: &Objects) -> Vec<SharedRecord> {
    let mut records = Vec::new();
    let last = SharedLog::read(objects, 0, &mut |record| {
        records.push(record);
        Ok(())
    });
    assert_eq!(last.unwrap(), records.len() as u64);
    records
}

#[test]
fn writers_that_were_paused_never_make_a_second_history() {
    let seen = Seen::default();
    for seed in 0..TRIALS {
        let store = Faulty::new();
        store.set(match seed % 4 {
            0 => Fault::LostAcknowledgement,
            1 => Fault::Throttled,
            _ => Fault::None,
        });
        let trial = Trial {
            objects: objects(&store),
            clock: AtomicU64::new(1),
            acknowledged: Mutex::default(),
        };
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (trial, seen) = (&trial, &seen);
                let mut chance = Chance(seed * WRITERS + writer + 1);
                scope.spawn(move || trial.write(writer, &mut chance, seen));
            }
        });
        store.set(Fault::None);
        let records = history(&trial.objects);
        assert!(
            records.is_sorted_by_key(|record| record.epoch),
            "seed {seed}"
        );
        for (place, record) in trial.acknowledged.lock().unwrap().iter() {
            assert_eq!(&records[*place as usize - 1].bytes, record, "seed {seed}");
        }
        let begun = records.iter().filter(|record| record.bytes.is_empty());
        let mut epochs: Vec<u64> = begun.map(|record| record.epoch).collect();
        let count = epochs.len();
        epochs.dedup();
        assert_eq!(epochs.len(), count, "a writer for each epoch, seed {seed}");
    }
    let sum = |own: &AtomicU64| own.load(Ordering::Relaxed);
    // What is tried for has happened.
    assert!(sum(&seen.acknowledged) > TRIALS && sum(&seen.fenced) > TRIALS / 20);
    assert!(sum(&seen.led) > TRIALS);
}

#[test]
fn a_writer_that_comes_back_is_fenced_and_a_lease_has_one_holder() {
    let store = Faulty::new();
    let objects = objects(&store);
    let at = Duration::from_millis;
    let first = Lease::take(&objects, "a", (at(0), TERM)).unwrap().unwrap();
    assert!(
        Lease::take(&objects, "b", (at(99), TERM))
            .unwrap()
            .is_none()
    );
    let lead = |epoch, after, found: &mut Vec<u64>| {
        let mut visit = |record: SharedRecord| {
            found.push(record.number);
            Ok(())
        };
        SharedLog::lead(&objects, (epoch, after), &mut visit).unwrap()
    };
    let mut old = lead(first.epoch(), 0, &mut Vec::new()).unwrap();
    assert_eq!(old.append(&objects, b"one").unwrap(), Appended::At(2));
    let mut first = first;
    assert!(first.renew(&objects, (at(90), TERM)).unwrap());
    assert!(
        Lease::take(&objects, "b", (at(189), TERM))
            .unwrap()
            .is_none()
    );
    let second = Lease::take(&objects, "b", (at(190), TERM))
        .unwrap()
        .unwrap();
    assert_eq!((first.epoch(), second.epoch()), (1, 2));
    assert!(!first.renew(&objects, (at(191), TERM)).unwrap());
    let mut found = Vec::new();
    let mut new = lead(second.epoch(), 1, &mut found).unwrap();
    assert_eq!(found, [2]);
    assert_eq!(old.append(&objects, b"two").unwrap(), Appended::Fenced);
    assert_eq!(new.append(&objects, b"two").unwrap(), Appended::At(4));
    assert_eq!(old.append(&objects, b"three").unwrap(), Appended::Fenced);
    // Who begins with an epoch of before, or the same, does not.
    assert!(lead(first.epoch(), 4, &mut found).is_none());
    assert!(lead(second.epoch(), 4, &mut found).is_none());
    let texts: Vec<Vec<u8>> = history(&objects).into_iter().map(|own| own.bytes).collect();
    assert_eq!(texts, [&b""[..], b"one", b"", b"two"]);
    // What nobody knows of is not acknowledged.
    store.set(Fault::Down);
    assert!(new.append(&objects, b"five").is_err());
    store.set(Fault::None);
    assert!(new.append(&objects, b"six").is_err());
    let third = Lease::take(&objects, "b", (at(191), TERM))
        .unwrap()
        .unwrap();
    let mut again = lead(third.epoch(), 4, &mut found).unwrap();
    assert_eq!(again.append(&objects, b"six").unwrap(), Appended::At(6));
}
