//! Axis 4: how a query walks.

use pageway::IndexSpec;
use pageway::choices::typed;
use pageway::spec::{CompletionSpec, EntrySpec, HarvestSpec, RefineSpec, ScheduleSpec, StopSpec};

use super::{Sentence, Words, percent};

pub(super) fn sentences(spec: &IndexSpec) -> Vec<Sentence> {
    const AXIS: &str = "Execution";
    let walk = &spec.execution;
    let mut all = vec![
        Sentence::new(AXIS, "--entry", typed(&walk.entry), entry(walk.entry)),
        Sentence::new(
            AXIS,
            "--schedule",
            typed(&walk.schedule),
            schedule(walk.schedule),
        ),
        Sentence::new(
            AXIS,
            "--harvest",
            typed(&walk.harvest),
            harvest(walk.harvest),
        ),
        Sentence::new(AXIS, "--refine", typed(&walk.refine), refine(walk.refine)),
        Sentence::new(AXIS, "--stop", typed(&walk.stop), stop(walk.stop)),
    ];
    if walk.slack > 0.0 {
        let words = slack(walk.slack);
        all.push(Sentence::new(
            AXIS,
            "--slack",
            walk.slack.to_string(),
            words,
        ));
    }
    all
}

fn entry(entry: EntrySpec) -> Words {
    match entry {
        EntrySpec::Medoid => (
            "Each walk starts at the vector nearest to the mean of all.".to_owned(),
            "No memory; the first hops only bring the walk near.".to_owned(),
        ),
        EntrySpec::Fixed { count } => (
            format!("Each walk starts at the best of {count} nodes, each the middle of a cluster."),
            format!("The codes of {count} nodes in memory."),
        ),
        EntrySpec::Navigation {
            one_in,
            max_degree,
            list_size,
        } => (
            format!(
                "A small graph over one node in {one_in} is searched in memory first; the \
                 {list_size} best nodes found there start the walk."
            ),
            format!(
                "Memory for the vectors of the sample and up to {max_degree} neighbours of each, \
                 and some exact distances per query."
            ),
        ),
        EntrySpec::UpperLayers { list_size } => (
            format!(
                "The upper layers of the HNSW graph are searched in memory first; the {list_size} \
                 best nodes found there start the walk."
            ),
            "Memory for the vectors and lists of their nodes, and some exact distances per query."
                .to_owned(),
        ),
        EntrySpec::Clusters => (
            "Each search starts with all nodes of the nearest clusters.".to_owned(),
            "A code per cluster in memory, and some thousand distances from codes per query."
                .to_owned(),
        ),
        EntrySpec::Hash {
            one_in,
            radius,
            limit,
        } => hash(one_in, radius, limit),
    }
}

fn hash(one_in: u32, radius: u32, limit: u32) -> Words {
    (
        format!(
            "One node in {one_in} is in a hash table by random hyperplanes. Those whose hash \
             differs from that of the query in at most {radius} bits, {limit} of them at most, are \
             ranked by their codes and start the walk."
        ),
        "Memory for the table, and up to that many distances from codes per query.".to_owned(),
    )
}

fn schedule(schedule: ScheduleSpec) -> Words {
    match schedule {
        ScheduleSpec::Lockstep { beam } => (
            format!("Rounds: the best {beam} candidates are read together and waited for."),
            "A round takes as long as its slowest read.".to_owned(),
        ),
        ScheduleSpec::Overlapped { beam } => (
            format!(
                "Rounds of {beam} reads; what a page holds beside what it was read for is worked \
                 on while the next round is in flight."
            ),
            "The walk learns of those nodes one round late.".to_owned(),
        ),
        ScheduleSpec::Prefetch { beam } => (
            format!(
                "Rounds of {beam} reads begin while candidates whose lists are in memory still \
                 wait; those are expanded while the reads are in flight."
            ),
            "Some reads go to candidates that better ones would have pushed out.".to_owned(),
        ),
        ScheduleSpec::Pipelined {
            least,
            most,
            completion,
        } => {
            let (order, cost) = completed(completion);
            (
                format!(
                    "No rounds: a read starts whenever fewer than a width are in flight, and the \
                     width grows from {least} to {most} once the walk converges. {order}"
                ),
                cost.to_owned(),
            )
        }
    }
}

const fn completed(completion: CompletionSpec) -> (&'static str, &'static str) {
    match completion {
        CompletionSpec::InOrder => (
            "Pages are worked on in the order they were asked for.",
            "Some reads turn out needless, and a slow read holds up others.",
        ),
        CompletionSpec::AsTheyCome => (
            "Pages are worked on as they arrive.",
            "Some reads turn out needless, and an answer may depend on which read was faster.",
        ),
    }
}

fn harvest(harvest: HarvestSpec) -> Words {
    match harvest {
        HarvestSpec::Target => (
            "Of a page, the walk uses the records it was read for.".to_owned(),
            "The other bytes of the page were moved for nothing.".to_owned(),
        ),
        HarvestSpec::Near { share } => (
            format!(
                "All vectors of a page are scored exactly, and the nearest {} of those it was not \
                 read for are expanded too.",
                percent(share)
            ),
            "An exact distance for each vector of a page.".to_owned(),
        ),
        HarvestSpec::All => (
            "All vectors of a page are scored exactly and expanded.".to_owned(),
            "An exact distance for each vector of a page, and all neighbours are ranked."
                .to_owned(),
        ),
        HarvestSpec::Held => (
            "A query keeps the pages it has read: when the turn of another node on them comes, it \
             needs no read."
                .to_owned(),
            "Memory for some pages per query in flight.".to_owned(),
        ),
    }
}

fn refine(refine: RefineSpec) -> Words {
    match refine {
        RefineSpec::Inline => (
            "Each vector is scored exactly when its page passes; answers come from those."
                .to_owned(),
            "No reads of its own.".to_owned(),
        ),
        RefineSpec::Deferred { share } => (
            format!(
                "At the end, the best {} of the candidate list that were not scored exactly yet \
                 are read and scored, in one batch.",
                percent(share)
            ),
            "Up to that many reads at the end, together.".to_owned(),
        ),
        RefineSpec::Cascade { scored, read } => (
            format!(
                "At the end, the best {} of the candidate list are ranked again by both codes; the \
                 best {} of the list are then read and scored exactly, in one batch.",
                percent(scored),
                percent(read)
            ),
            "Up to that many reads at the end, together, and a second distance from codes for \
             each."
                .to_owned(),
        ),
        RefineSpec::Bounded { deviations } => (
            format!(
                "At the end, candidates that codes leave undecided are read and scored, in one \
                 batch: those whose distance, give or take {deviations} x sqrt(L / 10 k) standard \
                 deviations of the error of their code, may be on either side of the last \
                 answer's."
            ),
            "As few reads as the codes are good, together; none where they decide everything."
                .to_owned(),
        ),
    }
}

fn slack(slack: f32) -> Words {
    (
        format!(
            "A candidate whose list is in memory for good comes before one that needs a read, if \
             its distance by codes is at most {} farther.",
            percent(slack)
        ),
        "Some hops that a nearer candidate would have made needless; answers depend a little on \
         what memory holds."
            .to_owned(),
    )
}

fn stop(stop: StopSpec) -> Words {
    match stop {
        StopSpec::Exhausted => (
            "A walk ends when every candidate of its list was expanded.".to_owned(),
            "As many hops for an easy query as for a hard one.".to_owned(),
        ),
        StopSpec::Horizon { growth } => (
            format!(
                "A walk ends when the candidates within a horizon were expanded: (L / p)^(1 / \
                 {growth}) times the distance of the p-th best, p twice the results asked for, at \
                 least 20."
            ),
            "Easy queries end early; for the same recall the list is a little longer.".to_owned(),
        ),
    }
}
