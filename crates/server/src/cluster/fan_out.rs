//! A request to all shards of a collection: whom to ask, when to ask another, when it is done.
//!
//! ```text
//! shard   waits -> asked -> answered | refused | missing
//! call    open -> ended: it answered, it failed, its node left rotation, nobody needs it
//!              -> late: another replica is asked, and this one may still answer
//! ```
//!
//! Invariants: in a round each replica of a shard is asked once; the first answer of a shard counts
//! and later ones do not; a call that ended has left the books of its node.

use std::time::Duration;

use super::pool::NodePool;
use crate::failure::Failure;

/// How a call ended.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum CallEnd<A> {
    Answered(A),
    /// The request is wrong, and would be anywhere.
    Refused(Failure),
    /// The node could not answer. What it was asked for may be done.
    Failed(String),
    /// The node could not be reached: nothing was sent.
    Unreached(String),
    /// The node is well, and does not have the shard as the map says.
    Behind(String),
}

/// How a shard ended.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ShardEnd<A> {
    Answered(A),
    Refused(Failure),
    Missing(String),
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Ask a node for a shard.
    Send {
        call: usize,
        shard: usize,
        node: String,
    },
    /// Nobody needs the answer of a call.
    Drop { call: usize },
}

/// The requests of one question.
#[derive(Debug)]
pub(crate) struct FanOut<A> {
    operation: &'static str,
    shards: Vec<ShardState<A>>,
    calls: Vec<NodeCall>,
    deadline: Duration,
    /// Steps that no event has taken yet.
    steps: Vec<Step>,
}

#[derive(Debug)]
struct ShardState<A> {
    replicas: Vec<String>,
    /// Those that were asked in this round.
    asked: Vec<bool>,
    round: u32,
    /// When the round begins.
    begins: Duration,
    hedged: bool,
    trouble: String,
    end: Option<ShardEnd<A>>,
}

#[derive(Debug)]
struct NodeCall {
    shard: usize,
    node: String,
    began: Duration,
    /// Whether its node was in rotation.
    was_in: bool,
    is_late: bool,
    is_open: bool,
}

impl<A> FanOut<A> {
    /// Asks nobody yet. `shards` are the nodes of each.
    pub(crate) fn new(
        operation: &'static str,
        shards: Vec<Vec<String>>,
        (now, deadline): (Duration, Duration),
    ) -> Self {
        let state = |replicas: Vec<String>| ShardState {
            asked: vec![false; replicas.len()],
            replicas,
            round: 1,
            begins: now,
            hedged: false,
            trouble: "no node has it".to_owned(),
            end: None,
        };
        Self {
            operation,
            shards: shards.into_iter().map(state).collect(),
            calls: Vec::new(),
            deadline,
            steps: Vec::new(),
        }
    }

    /// What is to be done now.
    pub(crate) fn poll(&mut self, now: Duration, pool: &mut NodePool) -> Vec<Step> {
        self.look_at_calls(now, pool);
        for number in 0..self.shards.len() {
            if now >= self.deadline {
                self.give_up(number, pool);
            } else {
                self.go_on(number, now, pool);
            }
        }
        std::mem::take(&mut self.steps)
    }

    /// A call ended. One that had ended before changes nothing.
    pub(crate) fn end(
        &mut self,
        (call, end): (usize, CallEnd<A>),
        now: Duration,
        pool: &mut NodePool,
    ) {
        let Some(own) = self.calls.get_mut(call).filter(|own| own.is_open) else {
            return;
        };
        own.is_open = false;
        let (number, node) = (own.shard, own.node.clone());
        let took = now.saturating_sub(own.began);
        let Some(shard) = self.shards.get_mut(number) else {
            return;
        };
        let end = match end {
            CallEnd::Failed(why) | CallEnd::Unreached(why) => {
                pool.fail(&node, &why);
                shard.trouble = format!("{node}: {why}");
                return;
            }
            CallEnd::Behind(why) => {
                pool.succeed(&node, now);
                shard.trouble = format!("{node}: {why}");
                return;
            }
            CallEnd::Refused(failure) => ShardEnd::Refused(failure),
            CallEnd::Answered(answer) => {
                pool.latencies.note(self.operation, took);
                ShardEnd::Answered(answer)
            }
        };
        pool.succeed(&node, now);
        shard.end = Some(end);
        self.close_calls(number, pool);
    }

    /// Whether every shard has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.shards.iter().all(|shard| shard.end.is_some())
    }

    /// When to look again, at the latest, unless a call ends before.
    pub(crate) fn wakes(&self, now: Duration, pool: &NodePool) -> Duration {
        let hedge = pool.latencies.usual(self.operation);
        let open = self.calls.iter().filter(|call| call.is_open);
        let calls = open.flat_map(|call| {
            let late = call.began + pool.patience.attempt;
            [Some(late), hedge.map(|hedge| call.began + hedge)]
        });
        let waiting = self.shards.iter().filter(|shard| shard.end.is_none());
        let rounds = waiting.map(|shard| Some(shard.begins));
        let next = calls.chain(rounds).flatten().filter(|at| *at > now).min();
        // Nodes may leave rotation meanwhile.
        let beat = now + pool.patience.heartbeat / 4;
        next.unwrap_or(beat).min(beat).min(self.deadline.max(now))
    }

    /// How each shard ended.
    pub(crate) fn finish(mut self, pool: &mut NodePool) -> Vec<ShardEnd<A>> {
        for number in 0..self.shards.len() {
            self.close_calls(number, pool);
        }
        let end = |shard: ShardState<A>| shard.end.unwrap_or(ShardEnd::Missing(shard.trouble));
        self.shards.into_iter().map(end).collect()
    }

    /// Ends calls of nodes that are gone, and notes which take long.
    fn look_at_calls(&mut self, now: Duration, pool: &mut NodePool) {
        let attempt = pool.patience.attempt;
        for (number, call) in self.calls.iter_mut().enumerate() {
            if !call.is_open {
                continue;
            }
            let takes_long = now >= call.began + attempt;
            let is_gone = if call.was_in {
                !pool.is_in(&call.node, now)
            } else {
                // It was asked although it was out: it has one attempt to show that it is not.
                takes_long && !pool.is_in(&call.node, now)
            };
            if is_gone {
                call.is_open = false;
                pool.fail(&call.node, "no sign of life");
                if let Some(shard) = self.shards.get_mut(call.shard) {
                    shard.trouble = format!("{}: no sign of life", call.node);
                }
                self.steps.push(Step::Drop { call: number });
            } else if takes_long {
                call.is_late = true;
            }
        }
    }

    fn go_on(&mut self, number: usize, now: Duration, pool: &mut NodePool) {
        let Some(shard) = self.shards.get(number) else {
            return;
        };
        if shard.end.is_some() || now < shard.begins {
            return;
        }
        let open = self.calls.iter();
        let mut open = open.filter(|call| call.is_open && call.shard == number);
        let (mut count, mut fresh, mut oldest) = (0, 0, now);
        for call in &mut open {
            count += 1;
            fresh += usize::from(!call.is_late);
            oldest = oldest.min(call.began);
        }
        if fresh > 0 {
            let usual = pool.latencies.usual(self.operation);
            let is_due = usual.is_some_and(|usual| now >= oldest + usual);
            if is_due && count == 1 && !shard.hedged {
                self.hedge(number, now, pool);
            }
            return;
        }
        if self.ask_next(number, now, pool) || count > 0 {
            return;
        }
        self.next_round(number, now, pool);
    }

    /// Asks one more replica that is in rotation, within the budget.
    fn hedge(&mut self, number: usize, now: Duration, pool: &mut NodePool) {
        let Some(shard) = self.shards.get_mut(number) else {
            return;
        };
        let is_left = |(node, asked): (&String, &bool)| !asked && pool.is_in(node, now);
        if shard.replicas.iter().zip(&shard.asked).any(is_left) && pool.may_hedge() {
            shard.hedged = true;
            self.ask_next(number, now, pool);
        }
    }

    /// Asks a replica that was not asked in this round; whether there is one.
    fn ask_next(&mut self, number: usize, now: Duration, pool: &mut NodePool) -> bool {
        let Some(shard) = self.shards.get_mut(number) else {
            return false;
        };
        let left = shard.replicas.iter().zip(&shard.asked);
        let left = left.filter(|(_, asked)| !**asked);
        let left: Vec<&str> = left.map(|(node, _)| node.as_str()).collect();
        let Some(node) = pool.choose(&left, now).map(str::to_owned) else {
            return false;
        };
        for (own, asked) in shard.replicas.iter().zip(&mut shard.asked) {
            *asked |= *own == node;
        }
        let was_in = pool.is_in(&node, now);
        pool.begin(&node);
        self.steps.push(Step::Send {
            call: self.calls.len(),
            shard: number,
            node: node.clone(),
        });
        self.calls.push(NodeCall {
            shard: number,
            node,
            began: now,
            was_in,
            is_late: false,
            is_open: true,
        });
        true
    }

    /// Lets all replicas be asked again after a pause, or gives the shard up.
    fn next_round(&mut self, number: usize, now: Duration, pool: &mut NodePool) {
        let patience = pool.patience;
        let Some(shard) = self.shards.get_mut(number) else {
            return;
        };
        if shard.round >= patience.rounds || !pool.may_repeat() {
            shard.end = Some(ShardEnd::Missing(shard.trouble.clone()));
            return;
        }
        shard.begins = now + patience.pause * 2_u32.pow(shard.round - 1);
        shard.round += 1;
        shard.asked.fill(false);
    }

    fn give_up(&mut self, number: usize, pool: &mut NodePool) {
        if let Some(shard) = self.shards.get_mut(number).filter(|own| own.end.is_none()) {
            let words = format!("no answer in time; last: {}", shard.trouble);
            shard.end = Some(ShardEnd::Missing(words));
            self.close_calls(number, pool);
        }
    }

    fn close_calls(&mut self, number: usize, pool: &mut NodePool) {
        let calls = self.calls.iter_mut().enumerate();
        for (at, call) in calls.filter(|(_, call)| call.is_open && call.shard == number) {
            call.is_open = false;
            pool.leave(&call.node);
            self.steps.push(Step::Drop { call: at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pool::Patience;
    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Nodes `a` and `b`, and one shard that both have.
    fn one_shard() -> (NodePool, FanOut<u32>) {
        let mut pool = NodePool::new(Patience::default(), 1);
        pool.set_nodes(["a", "b"].into_iter(), at(0));
        let replicas = vec![vec!["a".to_owned(), "b".to_owned()]];
        (pool, FanOut::new("q", replicas, (at(0), at(60_000))))
    }

    fn sent(steps: &[Step]) -> (usize, String) {
        match steps {
            [Step::Send { call, node, .. }] => (*call, node.clone()),
            other => panic!("one call is expected: {other:?}"),
        }
    }

    fn other(node: &str) -> &'static str {
        if node == "a" { "b" } else { "a" }
    }

    #[test]
    fn a_failure_has_the_other_replica_asked_and_the_first_answer_counts() {
        let (mut pool, mut fan) = one_shard();
        let (call, node) = sent(&fan.poll(at(0), &mut pool));
        assert!(fan.poll(at(1), &mut pool).is_empty());
        fan.end((call, CallEnd::Failed("x".to_owned())), at(2), &mut pool);
        let (next, second) = sent(&fan.poll(at(2), &mut pool));
        assert_eq!(second, other(&node));
        fan.end((next, CallEnd::Answered(7)), at(3), &mut pool);
        fan.end((next, CallEnd::Answered(8)), at(3), &mut pool);
        fan.end((call, CallEnd::Answered(9)), at(3), &mut pool);
        assert!(fan.is_done());
        assert_eq!(fan.finish(&mut pool), [ShardEnd::Answered(7)]);
        assert!(pool.states(at(3)).iter().all(|own| own.1.in_flight == 0));
    }

    #[test]
    fn a_node_that_falls_silent_is_left_before_its_call_ends() {
        let (mut pool, mut fan) = one_shard();
        let (call, node) = sent(&fan.poll(at(0), &mut pool));
        pool.hear(other(&node), at(1001));
        let steps = fan.poll(at(1001), &mut pool);
        assert_eq!(steps.first(), Some(&Step::Drop { call }));
        assert_eq!(sent(steps.get(1..).unwrap()).1, other(&node));
    }

    #[test]
    fn a_late_call_may_still_answer() {
        let (mut pool, mut fan) = one_shard();
        let (call, node) = sent(&fan.poll(at(0), &mut pool));
        pool.hear("a", at(2000));
        pool.hear("b", at(2000));
        let (second, later) = sent(&fan.poll(at(2000), &mut pool));
        assert_eq!(later, other(&node));
        fan.end((call, CallEnd::Answered(1)), at(2500), &mut pool);
        assert_eq!(fan.poll(at(2500), &mut pool), [Step::Drop { call: second }]);
        assert_eq!(fan.finish(&mut pool), [ShardEnd::Answered(1)]);
    }

    #[test]
    fn a_hedge_follows_when_most_calls_would_have_ended() {
        let (mut pool, mut fan) = one_shard();
        for _ in 0..40 {
            pool.latencies.note("q", at(10));
        }
        let (call, node) = sent(&fan.poll(at(0), &mut pool));
        assert!(fan.poll(at(9), &mut pool).is_empty());
        assert_eq!(fan.wakes(at(9), &pool), at(10));
        assert_eq!(sent(&fan.poll(at(10), &mut pool)).1, other(&node));
        assert!(fan.poll(at(30), &mut pool).is_empty(), "one hedge");
        fan.end((call, CallEnd::Answered(1)), at(31), &mut pool);
        assert!(fan.is_done());
        while pool.may_hedge() {}
        let replicas = vec![vec!["a".to_owned(), "b".to_owned()]];
        let mut poor: FanOut<u32> = FanOut::new("q", replicas, (at(0), at(60_000)));
        sent(&poor.poll(at(0), &mut pool));
        assert!(poor.poll(at(100), &mut pool).is_empty(), "nothing to spend");
    }

    #[test]
    fn replicas_that_all_fail_are_asked_again_and_then_given_up() {
        let (mut pool, mut fan) = one_shard();
        let (mut now, mut calls) = (0, 0);
        while !fan.is_done() {
            for step in fan.poll(at(now), &mut pool) {
                if let Step::Send { call, .. } = step {
                    calls += 1;
                    let end = CallEnd::Failed("busy".to_owned());
                    fan.end((call, end), at(now), &mut pool);
                }
            }
            now += 1;
        }
        assert_eq!((calls, now / 100), (6, 3));
        let ends = fan.finish(&mut pool);
        assert!(matches!(ends.as_slice(), [ShardEnd::Missing(why)] if why.contains("busy")));
    }

    #[test]
    fn a_wrong_request_is_wrong_once_and_time_ends() {
        let (mut pool, mut fan) = one_shard();
        let (call, _) = sent(&fan.poll(at(0), &mut pool));
        let wrong = Failure::wrong("x");
        fan.end((call, CallEnd::Refused(wrong.clone())), at(1), &mut pool);
        assert!(fan.is_done() && fan.poll(at(2), &mut pool).is_empty());
        assert_eq!(fan.finish(&mut pool), [ShardEnd::Refused(wrong)]);
        let (mut pool, mut fan) = one_shard();
        fan.deadline = at(50);
        sent(&fan.poll(at(0), &mut pool));
        assert_eq!(fan.wakes(at(0), &pool), at(50));
        fan.poll(at(50), &mut pool);
        let ends = fan.finish(&mut pool);
        assert!(matches!(ends.as_slice(), [ShardEnd::Missing(why)] if why.contains("in time")));
    }
}
