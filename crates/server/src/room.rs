//! Memory of requests: of bodies until they are done, and of answers until they are sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::{Failure, Outcome};

/// Bytes that a place stands for.
const PLACE_BYTES: u64 = 1 << 10;

/// Memory that requests share.
#[derive(Clone)]
pub(crate) struct RequestMemory {
    places: Arc<Semaphore>,
    bytes: u64,
}

impl RequestMemory {
    /// So many bytes for all requests together.
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            places: Arc::new(Semaphore::new((bytes / PLACE_BYTES) as usize)),
            bytes,
        }
    }

    /// All of it.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Waits for room for so many bytes, of all that there is at most.
    pub(crate) async fn acquire(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.places).acquire_many_owned(self.places_of(bytes));
        room.await.ok()
    }

    /// Places that so many bytes take, of all that there are at most.
    pub(crate) fn places_of(&self, bytes: u64) -> u32 {
        (bytes.min(self.bytes) / PLACE_BYTES) as u32
    }
}

/// What the answer of a request takes, until this is dropped.
pub(crate) struct AnswerRoom {
    memory: RequestMemory,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    bytes: u64,
    places: Option<OwnedSemaphorePermit>,
}

impl AnswerRoom {
    /// Nothing taken yet.
    pub(crate) fn new(memory: &RequestMemory) -> Self {
        Self {
            memory: memory.clone(),
            taken: Mutex::default(),
        }
    }

    /// Takes bytes for a part of the answer.
    ///
    /// # Errors
    /// 507 where the answer takes more than there is for all requests, 429 where others have it.
    pub(crate) fn take(&self, bytes: u64) -> Outcome<()> {
        let mut taken = self.lock();
        let sum = taken.bytes + bytes;
        if sum > self.memory.bytes {
            return Err(Failure::answer_too_large(self.memory.bytes));
        }
        let held = taken.places.as_ref();
        let held = held.map_or(0, OwnedSemaphorePermit::num_permits) as u64;
        let more = sum.div_ceil(PLACE_BYTES).saturating_sub(held) as u32;
        if more > 0 {
            let places = Arc::clone(&self.memory.places);
            let more = places.try_acquire_many_owned(more);
            let more = more.map_err(|_| Failure::busy())?;
            match &mut taken.places {
                Some(places) => places.merge(more),
                none @ None => *none = Some(more),
            }
        }
        taken.bytes = sum;
        Ok(())
    }

    /// Bytes that the answer may still take.
    pub(crate) fn left(&self) -> u64 {
        self.memory.bytes - self.taken()
    }

    /// Bytes that the answer has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.lock().bytes
    }

    /// Gives back what was taken beyond so many bytes, for parts that were dropped.
    pub(crate) fn return_to(&self, bytes: u64) {
        let mut taken = self.lock();
        taken.bytes = taken.bytes.min(bytes);
        let kept = taken.bytes.div_ceil(PLACE_BYTES) as usize;
        if let Some(places) = &mut taken.places {
            let beyond = places.num_permits().saturating_sub(kept);
            drop(places.split(beyond));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_share_what_there_is() {
        let memory = RequestMemory::new(10 << 10);
        let (one, other) = (AnswerRoom::new(&memory), AnswerRoom::new(&memory));
        for _ in 0..5 {
            one.take(1000).unwrap();
        }
        assert_eq!(memory.places.available_permits(), 5);
        other.take(5 << 10).unwrap();
        assert_eq!(one.take(1000).unwrap_err().status, 429);
        drop(other);
        one.take(5 << 10).unwrap();
        assert_eq!(one.take(1000).unwrap_err().status, 507);
        assert_eq!(one.left(), (10 << 10) - 5000 - (5 << 10));
        one.return_to(3000);
        assert_eq!((one.taken(), memory.places.available_permits()), (3000, 7));
        drop(one);
        assert_eq!(memory.places.available_permits(), 10);
    }
}
