//! The reads of a thread, by buffer: which query waits for each.

use super::super::PageRequest;

/// Reads in flight for each that is waited for: with fewer a call into the kernel fetches more of
/// them, and queries wait longer for their first.
const WAITED_SHARE: usize = 6;

/// Reads that the buffers of a thread are for.
pub(super) struct Reads {
    free: Vec<u32>,
    asked: Vec<Option<Asked>>,
    /// Those that are not over.
    in_flight: usize,
    /// Pages that were asked for early and are not wanted yet.
    early: usize,
    /// Those that the kernel may not know of yet.
    pub(super) unsent: usize,
}

/// A page that was asked for.
#[derive(Clone, Copy)]
struct Asked {
    lane: usize,
    request: PageRequest,
    need: Need,
}

impl Asked {
    fn is_early(&self) -> bool {
        matches!(self.need, Need::Later | Need::LaterAndHere)
    }
}

/// Whether a page is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Now,
    /// Almost for certain, later.
    Later,
    /// The same, and it is there.
    LaterAndHere,
    /// No more.
    Never,
}

/// What became of a page that is wanted, and was asked for early.
pub(super) enum Claim {
    /// It is in this buffer, to be released.
    Here(u32),
    InFlight,
}

impl Reads {
    pub(super) fn new(buffers: usize) -> Self {
        Self {
            free: (0..buffers as u32).rev().collect(),
            asked: vec![None; buffers],
            in_flight: 0,
            early: 0,
            unsent: 0,
        }
    }

    /// Buffers there are.
    pub(super) fn buffers(&self) -> usize {
        self.asked.len()
    }

    /// Reads to wait for, of those in flight: each call into the kernel costs as much as some reads
    /// do.
    pub(super) fn worth_waking_for(&self) -> usize {
        self.in_flight.div_ceil(WAITED_SHARE)
    }

    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Whether none is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// A buffer for a read of a lane.
    pub(super) fn begin(&mut self, lane: usize, request: PageRequest) -> Option<u32> {
        self.begin_for(lane, request, Need::Now)
    }

    /// The same for a page that is wanted later; none where it was asked for, or where half of the
    /// buffers are taken, or it would be the last: those that are wanted now need some.
    pub(super) fn begin_early(&mut self, lane: usize, request: PageRequest) -> Option<u32> {
        let is_asked = self.early_of(lane, request).is_some();
        if is_asked || self.free.len() <= (self.asked.len() / 2).max(1) {
            return None;
        }
        let buffer = self.begin_for(lane, request, Need::Later)?;
        self.early += 1;
        Some(buffer)
    }

    fn begin_for(&mut self, lane: usize, request: PageRequest, need: Need) -> Option<u32> {
        let buffer = self.free.pop()?;
        self.in_flight += 1;
        self.unsent += 1;
        *self.asked.get_mut(buffer as usize)? = Some(Asked {
            lane,
            request,
            need,
        });
        Some(buffer)
    }

    /// Takes a page that is wanted now, where it was asked for early.
    pub(super) fn claim(&mut self, lane: usize, request: PageRequest) -> Option<Claim> {
        let at = self.early_of(lane, request)?;
        let own = self.asked.get_mut(at)?.as_mut()?;
        self.early -= 1;
        if own.need == Need::LaterAndHere {
            return Some(Claim::Here(at as u32));
        }
        own.need = Need::Now;
        Some(Claim::InFlight)
    }

    /// Where a page is that was asked for early and is not wanted yet.
    fn early_of(&self, lane: usize, request: PageRequest) -> Option<usize> {
        let is_own = |own: &Asked| own.is_early() && own.lane == lane && own.request == request;
        let mut asked = self.asked.iter();
        (self.early > 0).then(|| asked.position(|own| own.as_ref().is_some_and(is_own)))?
    }

    /// Drops what a lane asked for early and never wanted, and tells each.
    pub(super) fn drop_early(&mut self, lane: usize, mut unused: impl FnMut(PageRequest)) {
        for buffer in 0..self.asked.len() {
            let Some(own) = self.asked.get_mut(buffer).and_then(Option::as_mut) else {
                continue;
            };
            if self.early == 0 {
                return;
            }
            if own.lane != lane || !own.is_early() {
                continue;
            }
            self.early -= 1;
            unused(own.request);
            if std::mem::replace(&mut own.need, Need::Never) == Need::LaterAndHere {
                self.release(buffer as u32);
            }
        }
    }

    /// Notes that a read is over. Its buffer keeps the page until the next read.
    pub(super) fn end(&mut self, buffer: u32) -> Option<Arrival> {
        let own = self.asked.get_mut(buffer as usize)?.as_mut()?;
        self.in_flight = self.in_flight.checked_sub(1)?;
        let arrival = Arrival {
            lane: own.lane,
            request: own.request,
            is_wanted: own.need == Need::Now,
        };
        if own.need == Need::Later {
            own.need = Need::LaterAndHere;
        } else {
            self.release(buffer);
        }
        Some(arrival)
    }

    /// Makes a buffer free.
    pub(super) fn release(&mut self, buffer: u32) {
        if let Some(own) = self.asked.get_mut(buffer as usize) {
            *own = None;
        }
        self.free.push(buffer);
    }
}

/// A read that is over.
pub(super) struct Arrival {
    pub(super) lane: usize,
    pub(super) request: PageRequest,
    /// Whether the lane waits for the page.
    pub(super) is_wanted: bool,
}

#[cfg(test)]
mod tests {
    use pageway_types::PageId;

    use super::*;

    fn page(number: u32) -> PageRequest {
        PageRequest::refining(0, PageId(number))
    }

    fn waits(arrival: Option<Arrival>) -> bool {
        arrival.is_some_and(|own| own.is_wanted && own.lane == 0)
    }

    fn unused(reads: &mut Reads) -> Vec<u32> {
        let mut pages = Vec::new();
        reads.drop_early(0, |request| pages.push(request.page.0));
        pages.sort_unstable();
        pages
    }

    #[test]
    fn what_was_asked_for_early_is_waited_for_once_it_is_wanted() {
        let mut reads = Reads::new(8);
        let here = reads.begin_early(0, page(1)).unwrap();
        let late = reads.begin_early(0, page(2)).unwrap();
        assert!(reads.begin_early(0, page(2)).is_none(), "asked for");
        assert!(!waits(reads.end(here)));
        assert!(reads.claim(1, page(1)).is_none(), "of another query");
        assert!(reads.claim(0, page(3)).is_none());
        assert!(matches!(reads.claim(0, page(1)), Some(Claim::Here(own)) if own == here));
        reads.release(here);
        assert!(matches!(reads.claim(0, page(2)), Some(Claim::InFlight)));
        assert!(waits(reads.end(late)));
        assert!(unused(&mut reads).is_empty() && reads.is_idle());
        assert_eq!(reads.free.len(), 8);
    }

    #[test]
    fn what_nobody_wanted_frees_its_buffer_once_the_read_is_over() {
        let mut reads = Reads::new(8);
        let [here, late] = [1, 2].map(|n| reads.begin_early(0, page(n)).unwrap());
        assert!(!waits(reads.end(here)));
        assert_eq!(unused(&mut reads), [1, 2]);
        assert_eq!(reads.free.len(), 7);
        assert!(!reads.is_idle(), "the kernel has a buffer");
        assert!(reads.claim(0, page(2)).is_none());
        assert!(!waits(reads.end(late)) && reads.is_idle());
        assert_eq!(reads.free.len(), 8);
    }

    #[test]
    fn half_of_the_buffers_are_for_what_is_wanted_now() {
        let mut reads = Reads::new(8);
        let early = (0..8).filter_map(|n| reads.begin_early(0, page(n)));
        assert_eq!(early.count(), 4);
        let now = (8..16).filter_map(|n| reads.begin(0, page(n)));
        assert_eq!(now.count(), 4);
        assert!(reads.is_full());
    }
}
