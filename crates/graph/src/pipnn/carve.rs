//! Randomised ball carving: all nodes, divided into small overlapping groups.
//!
//! ```text
//! level 0   all nodes      -> each to the nearest `fanout` of some random leaders
//! level 1   their groups   -> each member to the nearest two of leaders of the group
//! level 2.. what is still too large -> each member to the nearest leader
//! ```
//! A group is carved by one task, unless it is so large that all threads share it. Members come out
//! in the order in which they went in.

use pageway_types::{Cancelled, NodeId, Progress, SplitMix64};
use rayon::prelude::*;

use super::groups::{Groups, Member};
use super::leaders::{BLOCK_ROWS, Comparison, Leaders};
use super::sizes::LeafSizes;
use super::split::{NONE, Split};
use crate::error::{GraphError, try_filled};
use crate::linking::Workers;
use crate::vectors::VectorSet;

/// Groups with more members are shared by all threads.
const WIDE: usize = 1 << 14;

/// Levels after which groups are cut without a look at distances. Data that need more are copies
/// of few vectors.
const MAX_LEVELS: usize = 12;

/// A division of all nodes of `vectors`, in the pool of the caller.
pub(super) struct Carving<'c> {
    pub(super) vectors: &'c VectorSet<'c>,
    pub(super) sizes: &'c LeafSizes,
    pub(super) seed: u64,
    pub(super) progress: &'c dyn Progress,
}

/// A group, and the nearest leaders of each member to be found.
struct Task<'t> {
    level: usize,
    number: u64,
    members: &'t [Member],
    choices: &'t mut [u16],
}

impl Carving<'_> {
    /// Overlapping groups of at most `sizes.leaf` members: of all nodes but `guests`.
    pub(super) fn leaves(&self, guests: &[NodeId]) -> Result<Groups, GraphError> {
        let (count, leaf) = (self.vectors.count() as usize, self.sizes.leaf);
        let mut active = Groups::whole(self.vectors.count(), guests)?;
        if count <= leaf {
            return Ok(active);
        }
        let workers = Workers::new(|| CarveScratch::new(self.sizes))?;
        let mut leaves = Groups::new(count * self.sizes.copies())?;
        for level in 0..MAX_LEVELS {
            if active.members().is_empty() {
                return Ok(leaves);
            }
            active = self.carve(&active, level, &workers, &mut leaves)?;
        }
        for group in active.iter() {
            let first = leaves.grow(group.len(), leaf);
            for (at, &member) in (first..).zip(group) {
                leaves.put(at, member);
            }
        }
        Ok(leaves)
    }

    /// Bytes that `leaves` holds at its peak.
    pub(super) fn bytes(count: u64, sizes: &LeafSizes, threads: usize) -> u64 {
        let copies = count.saturating_mul(sizes.copies() as u64);
        let choices = copies.saturating_mul(size_of::<u16>() as u64);
        let scratch = Leaders::bytes(sizes) + Comparison::bytes(sizes);
        (Groups::bytes(copies).saturating_mul(3))
            .saturating_add(choices)
            .saturating_add(Workers::<CarveScratch>::bytes(
                threads.saturating_add(1),
                scratch,
            ))
    }

    /// Bytes that the leaves take.
    pub(super) fn leaf_bytes(count: u64, sizes: &LeafSizes) -> u64 {
        Groups::bytes(count.saturating_mul(sizes.copies() as u64))
    }

    /// Carves all groups of one level; returns those that are still too large.
    fn carve(
        &self,
        groups: &Groups,
        level: usize,
        workers: &Workers<CarveScratch>,
        leaves: &mut Groups,
    ) -> Result<Groups, GraphError> {
        let members = groups.members().len() * self.sizes.fanout(level);
        let mut choices = try_filled(members, NONE, "choices")?;
        self.progress
            .stage("carve groups", groups.members().len() as u64);
        self.choose(groups, level, &mut choices, workers)?;
        let mut next = Groups::new(members)?;
        let mut rest = choices.as_slice();
        for group in groups.iter() {
            let (choices, behind) = rest.split_at(group.len() * self.sizes.fanout(level));
            rest = behind;
            let split = Split {
                group,
                choices,
                sizes: self.sizes,
            };
            split.divide(self.sizes.leaders(group.len(), level), &mut next, leaves);
        }
        Ok(next)
    }

    /// Finds the nearest leaders of every member of every group.
    fn choose(
        &self,
        groups: &Groups,
        level: usize,
        choices: &mut [u16],
        workers: &Workers<CarveScratch>,
    ) -> Result<(), GraphError> {
        let (mut wide, mut narrow, mut rest) = (Vec::new(), Vec::new(), choices);
        for (number, members) in (0..).zip(groups.iter()) {
            let (choices, behind) = rest.split_at_mut(members.len() * self.sizes.fanout(level));
            rest = behind;
            let to = if members.len() > WIDE {
                &mut wide
            } else {
                &mut narrow
            };
            to.push(Task {
                level,
                number,
                members,
                choices,
            });
        }
        for task in wide {
            self.choose_together(task, workers)?;
        }
        narrow
            .into_par_iter()
            .try_for_each(|task| self.choose_alone(task, workers))?;
        Ok(())
    }

    /// One group by one thread.
    fn choose_alone(
        &self,
        task: Task<'_>,
        workers: &Workers<CarveScratch>,
    ) -> Result<(), Cancelled> {
        workers.with(
            |CarveScratch {
                 leaders,
                 comparison,
             }| {
                self.draw(leaders, &task);
                let fanout = task.choices.len() / task.members.len();
                let blocks = task.members.chunks(BLOCK_ROWS);
                blocks
                    .zip(task.choices.chunks_mut(BLOCK_ROWS * fanout))
                    .try_for_each(|block| self.choose_block(leaders, comparison, block))
            },
        )
    }

    /// One group by all threads.
    fn choose_together(
        &self,
        task: Task<'_>,
        workers: &Workers<CarveScratch>,
    ) -> Result<(), GraphError> {
        let mut leaders = Leaders::new(self.sizes)?;
        self.draw(&mut leaders, &task);
        let fanout = task.choices.len() / task.members.len();
        let blocks = task.members.par_chunks(BLOCK_ROWS);
        blocks
            .zip(task.choices.par_chunks_mut(BLOCK_ROWS * fanout))
            .try_for_each(|block| {
                workers.with(|CarveScratch { comparison, .. }| {
                    self.choose_block(&leaders, comparison, block)
                })
            })?;
        Ok(())
    }

    fn choose_block(
        &self,
        leaders: &Leaders,
        comparison: &mut Comparison,
        (members, choices): (&[Member], &mut [u16]),
    ) -> Result<(), Cancelled> {
        self.progress.check()?;
        comparison.choose(self.vectors, leaders, members, choices);
        self.progress.advance(members.len() as u64);
        Ok(())
    }

    fn draw(&self, leaders: &mut Leaders, task: &Task<'_>) {
        let count = self.sizes.leaders(task.members.len(), task.level);
        let random = SplitMix64::stream(self.seed, (task.level as u64) << 32 | task.number);
        leaders.draw(self.vectors, task.members, count, random);
    }
}

/// What one thread needs to carve.
struct CarveScratch {
    leaders: Leaders,
    comparison: Comparison,
}

impl CarveScratch {
    fn new(sizes: &LeafSizes) -> Result<Self, GraphError> {
        Ok(Self {
            leaders: Leaders::new(sizes)?,
            comparison: Comparison::new(sizes)?,
        })
    }
}
