//! Writers of one log that are paused and go on as if nothing had been, over a store that throttles
//! or loses acknowledgements: there is one history, and all that was acknowledged is in it, however
//! much of the log is cut.

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
use pageway_object::{
    Appended, Lease, LogLead, LogNext, LogSnapshot, NewSnapshot, Objects, Patience, SharedLog,
    SharedRecord, place_of,
};

const TRIALS: u64 = 400;
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
    snapshots: AtomicU64,
    cut: AtomicU64,
}

/// Records as the bytes of a snapshot.
fn packed(records: &[SharedRecord]) -> Vec<u8> {
    let text = |own: &SharedRecord| {
        let bytes = String::from_utf8(own.bytes.clone()).unwrap();
        format!("{} {} {bytes}\n", own.number, own.epoch)
    };
    records.iter().map(text).collect::<String>().into_bytes()
}

fn unpacked(bytes: &[u8]) -> Vec<SharedRecord> {
    let record = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next().unwrap().parse().unwrap();
        let (number, epoch) = (number(), number());
        let bytes = words.next().unwrap().as_bytes().to_vec();
        SharedRecord {
            number,
            epoch,
            bytes,
        }
    };
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(record).collect()
}

/// What a snapshot holds.
fn fetched(objects: &Objects, snapshot: &LogSnapshot) -> std::io::Result<Vec<SharedRecord>> {
    let mut bytes = Vec::new();
    snapshot.fetch(objects, &mut |part| {
        bytes.extend(part);
        Ok(())
    })?;
    Ok(unpacked(&bytes))
}

/// Makes records the snapshot, as the writer of an epoch.
fn publish(objects: &Objects, leader: u64, records: &[SharedRecord]) -> std::io::Result<bool> {
    let bytes = packed(records);
    let last = records.last().unwrap();
    let new = NewSnapshot {
        place: (last.number, last.epoch),
        leader,
        bytes: bytes.len() as u64,
        sha256: String::new(),
    };
    LogSnapshot::publish(objects, &new, Duration::ZERO, &mut |at, length| {
        Ok(bytes[at as usize..(at + length) as usize].to_vec())
    })
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
            let Some((mut log, mut own)) = self.lead(lease.epoch()) else {
                continue;
            };
            seen.led.fetch_add(1, Ordering::Relaxed);
            for number in 0..=chance.below(4) {
                self.rest(chance);
                let record = format!("{writer}-{round}-{number}").into_bytes();
                match log.append(&self.objects, &record) {
                    Ok(Appended::At(place)) => {
                        seen.acknowledged.fetch_add(1, Ordering::Relaxed);
                        own.push(SharedRecord {
                            number: place,
                            epoch: log.epoch(),
                            bytes: record.clone(),
                        });
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
                if chance.below(3) == 0 {
                    self.rest(chance);
                    let made = publish(&self.objects, log.epoch(), &own);
                    let made = u64::from(matches!(made, Ok(true)));
                    seen.snapshots.fetch_add(made, Ordering::Relaxed);
                    self.rest(chance);
                    let at = (Duration::from_secs(1), Duration::ZERO);
                    let cut = LogSnapshot::cut(&self.objects, log.epoch(), at);
                    seen.cut
                        .fetch_add(cut.unwrap_or(0) as u64, Ordering::Relaxed);
                }
            }
        }
    }

    /// Leads, with all that the log and its snapshot say.
    fn lead(&self, epoch: u64) -> Option<(SharedLog, Vec<SharedRecord>)> {
        let mut own = Vec::new();
        if let Some(snapshot) = LogSnapshot::current(&self.objects).ok()? {
            own = fetched(&self.objects, &snapshot).ok()?;
        }
        let after = own.last().map_or(0, |last: &SharedRecord| last.number);
        let led = SharedLog::lead(&self.objects, (epoch, after), &mut |record| {
            own.push(record);
            Ok(())
        });
        let Ok(LogLead::Writes(log)) = led else {
            return None;
        };
        own.push(SharedRecord {
            number: log.last(),
            epoch,
            bytes: Vec::new(),
        });
        Some((log, own))
    }
}

/// All records, out of the snapshot and the log behind it.
fn history(objects: &Objects) -> Vec<SharedRecord> {
    let snapshot = LogSnapshot::current(objects).unwrap();
    let mut records = snapshot.map_or(Vec::new(), |own| fetched(objects, &own).unwrap());
    let after = records.len() as u64;
    let last = SharedLog::read(objects, after, &mut |record| {
        records.push(record);
        Ok(())
    });
    assert_eq!(last.unwrap(), records.len() as u64);
    let numbers = records.iter().map(|own| own.number);
    assert!(numbers.eq(1..=records.len() as u64));
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
    assert!(sum(&seen.snapshots) > TRIALS / 2 && sum(&seen.cut) > TRIALS);
}

#[test]
fn a_log_that_was_cut_goes_on_and_what_comes_before_the_cut_counts_for_nothing() {
    let store = Faulty::new();
    let objects = objects(&store);
    let at = Duration::from_secs;
    let writes = |led| match led {
        LogLead::Writes(log) => log,
        other => panic!("{other:?}"),
    };
    let lead = |epoch, after| SharedLog::lead(&objects, (epoch, after), &mut |_| Ok(()));
    let mut old = writes(lead(1, 0).unwrap());
    assert_eq!(old.append(&objects, b"a").unwrap(), Appended::At(2));
    let before = history(&objects);
    let mut new = writes(lead(2, 2).unwrap());
    for (number, text) in [(4, b"b"), (5, b"c"), (6, b"d")] {
        assert_eq!(new.append(&objects, text).unwrap(), Appended::At(number));
    }
    let all = history(&objects);
    assert!(publish(&objects, 2, &all[..5]).unwrap());
    // No older lease, and nothing that holds less.
    assert!(!publish(&objects, 1, &all).unwrap());
    assert!(!publish(&objects, 2, &before).unwrap());
    // Within the grace all is there still.
    let cut = |now| LogSnapshot::cut(&objects, 2, (at(now), at(60))).unwrap();
    assert_eq!(cut(59), 0);
    assert!(matches!(
        SharedLog::next(&objects, (2, 1)).unwrap(),
        LogNext::Record(_)
    ));
    assert_eq!(cut(60), 5);
    assert_eq!(cut(61), 0);
    // The writer of before finds its number free. What it puts there is of no account.
    let error = old.append(&objects, b"lost").unwrap_err().to_string();
    assert!(error.contains("cut behind it"), "{error}");
    let snapshot = LogSnapshot::current(&objects).unwrap().unwrap();
    assert_eq!((snapshot.place(), snapshot.cut_place()), ((5, 2), (5, 2)));
    let next = |place| SharedLog::next(&objects, place).unwrap();
    assert_eq!(next((2, 1)), LogNext::Cut(snapshot.clone()));
    assert_eq!(next((0, 0)), LogNext::Cut(snapshot.clone()));
    assert!(matches!(next((5, 2)), LogNext::Record(own) if own.number == 6));
    assert_eq!(next((6, 2)), LogNext::End);
    assert_eq!(place_of(&objects, 2).unwrap(), Err(snapshot.clone()));
    assert_eq!(place_of(&objects, 5).unwrap(), Ok((5, 2)));
    assert!(matches!(lead(3, 2).unwrap(), LogLead::Cut(own) if own == snapshot));
    assert!(SharedLog::read(&objects, 0, &mut |_| Ok(())).is_err());
    assert!(matches!(lead(2, 5).unwrap(), LogLead::Taken));
    let mut third = writes(lead(3, 5).unwrap());
    assert_eq!(third.append(&objects, b"e").unwrap(), Appended::At(8));
    assert_eq!(history(&objects).len(), 8);
    // What the writer of before has put there goes with the next cut.
    assert!(publish(&objects, 3, &history(&objects)[..6]).unwrap());
    assert_eq!(LogSnapshot::cut(&objects, 3, (at(60), at(60))).unwrap(), 2);
    assert_eq!(history(&objects)[5].bytes, b"d");
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
        match SharedLog::lead(&objects, (epoch, after), &mut visit).unwrap() {
            LogLead::Writes(log) => Some(log),
            _ => None,
        }
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
