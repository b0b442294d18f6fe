//! Crash images.

use std::sync::Arc;

use super::SimVfs;
use super::contents::Contents;
use super::names::Names;
use super::state::State;
use crate::SplitMix64;

/// A moment between two operations, at which the machine may lose power.
#[derive(Clone, Debug)]
pub struct Boundary {
    /// Changing operations done before.
    pub operations: u64,
    /// The last of them, for messages.
    pub last: String,
    pub(super) state: Arc<State>,
}

impl Boundary {
    /// `count` file systems as they may look after a crash here, everything in them durable.
    ///
    /// The first keeps nothing that was pending, the second all of it; the others each keep a
    /// subset, drawn with chances from one to seven eighths. The same seed gives the same images.
    pub fn images(&self, count: u64, seed: u64) -> impl Iterator<Item = SimVfs> + '_ {
        (0..count).map(move |number| {
            let mut random = SplitMix64::new(seed ^ (self.operations << 20) ^ number);
            random.next_u64();
            let (names, bytes) = match number {
                0 => (0, 0),
                1 => (8, 8),
                _ => (1 + random.below(7), 1 + random.below(7)),
            };
            self.image(&mut random, names, bytes)
        })
    }

    /// The file system as it is here when the process ends and the machine lives on: what is
    /// pending can be read, and is not durable.
    pub fn kill(&self) -> SimVfs {
        SimVfs::from_state(self.state.as_ref().clone())
    }

    fn image(&self, random: &mut SplitMix64, name_eighths: u64, byte_eighths: u64) -> SimVfs {
        let names = Names::durable(self.state.names.crash(random, name_eighths));
        let files = self.state.files.iter();
        let files = files.map(|file| Contents::durable(file.crash(random, byte_eighths)));
        SimVfs::from_state(State {
            names,
            files: files.collect(),
        })
    }
}
