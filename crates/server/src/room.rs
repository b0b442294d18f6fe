//! Memory of requests: of bodies until they are done, and of answers until they are sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::{Failure, Outcome};

/// Bytes that a place stands for.
const PLACE_BYTES: u64 = 1 << 10;
/// Bytes of a small body, and of the beginning of an answer: these have memory of their own, so
/// that large ones keep nobody else out.
const SMALL_BYTES: u64 = 64 << 10;
/// Part of the memory that is theirs.
const SMALL_PART: u64 = 4;

/// Memory that requests share.
#[derive(Clone)]
pub(crate) struct RequestMemory {
    small: Pool,
    large: Pool,
}

/// Places of one kind.
#[derive(Clone)]
struct Pool {
    places: Arc<Semaphore>,
    bytes: u64,
}

impl Pool {
    fn new(bytes: u64) -> Self {
        Self {
            places: Arc::new(Semaphore::new((bytes / PLACE_BYTES) as usize)),
            bytes,
        }
    }

    /// Makes what is held so many bytes, all of them if it has fewer.
    fn hold(&self, held: &mut Option<OwnedSemaphorePermit>, bytes: u64) -> Outcome<()> {
        let places = bytes.min(self.bytes).div_ceil(PLACE_BYTES) as usize;
        let own = held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if places <= own {
            if let Some(held) = held {
                drop(held.split(own - places));
            }
            return Ok(());
        }
        let more = Arc::clone(&self.places).try_acquire_many_owned((places - own) as u32);
        let more = more.map_err(|_| Failure::busy())?;
        match held {
            Some(held) => held.merge(more),
            None => *held = Some(more),
        }
        Ok(())
    }
}

impl RequestMemory {
    /// So many bytes for all requests together.
    pub(crate) fn new(bytes: u64) -> Self {
        let small = bytes / SMALL_PART;
        Self {
            small: Pool::new(small),
            large: Pool::new(bytes - small),
        }
    }

    /// What one request may take at most.
    pub(crate) const fn bytes(&self) -> u64 {
        self.large.bytes
    }

    /// Waits for room for so many bytes, of all that there is at most.
    pub(crate) async fn acquire(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let pool = self.pool_of(bytes);
        let room = Arc::clone(&pool.places).acquire_many_owned(self.places_of(bytes));
        room.await.ok()
    }

    /// Places that so many bytes take, of all that there are at most.
    pub(crate) fn places_of(&self, bytes: u64) -> u32 {
        (bytes.min(self.pool_of(bytes).bytes) / PLACE_BYTES) as u32
    }

    const fn pool_of(&self, bytes: u64) -> &Pool {
        if bytes <= SMALL_BYTES {
            &self.small
        } else {
            &self.large
        }
    }
}

/// Bytes that a body holds.
pub(crate) fn held_bytes(room: &OwnedSemaphorePermit) -> u64 {
    room.num_permits() as u64 * PLACE_BYTES
}

/// What the answer of a request takes, until this is dropped.
pub(crate) struct AnswerRoom {
    memory: RequestMemory,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    bytes: u64,
    small: Option<OwnedSemaphorePermit>,
    large: Option<OwnedSemaphorePermit>,
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
        if sum > self.memory.bytes() {
            return Err(Failure::answer_too_large(self.memory.bytes()));
        }
        self.hold(&mut taken, sum)
    }

    fn hold(&self, taken: &mut Taken, bytes: u64) -> Outcome<()> {
        let beyond = bytes.saturating_sub(SMALL_BYTES);
        self.memory.small.hold(&mut taken.small, bytes - beyond)?;
        self.memory.large.hold(&mut taken.large, beyond)?;
        taken.bytes = bytes;
        Ok(())
    }

    /// Bytes that the answer may still take.
    pub(crate) fn left(&self) -> u64 {
        self.memory.bytes() - self.taken()
    }

    /// Bytes that the answer has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.lock().bytes
    }

    /// Gives back what was taken beyond so many bytes, for parts that were dropped.
    pub(crate) fn return_to(&self, bytes: u64) {
        let mut taken = self.lock();
        let kept = taken.bytes.min(bytes);
        // Less is always there.
        let _given = self.hold(&mut taken, kept);
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
        let memory = RequestMemory::new(1 << 20);
        let (one, other) = (AnswerRoom::new(&memory), AnswerRoom::new(&memory));
        let free = || {
            let pools = [&memory.small, &memory.large];
            pools.map(|pool| pool.places.available_permits())
        };
        for _ in 0..5 {
            one.take(100 << 10).unwrap();
        }
        assert_eq!(free(), [256 - 64, 768 - (500 - 64)]);
        other.take(300 << 10).unwrap();
        assert_eq!(other.take(200 << 10).unwrap_err().status, 429);
        drop(other);
        one.take(200 << 10).unwrap();
        assert_eq!(one.take(100 << 10).unwrap_err().status, 507);
        assert_eq!(one.left(), 68 << 10);
        one.return_to(3000);
        assert_eq!((one.taken(), free()), (3000, [253, 768]));
        drop(one);
        assert_eq!(free(), [256, 768]);
    }

    #[test]
    fn large_ones_leave_room_for_small_ones() {
        let memory = RequestMemory::new(1 << 20);
        let large = AnswerRoom::new(&memory);
        large.take(768 << 10).unwrap();
        let small = AnswerRoom::new(&memory);
        small.take(30 << 10).unwrap();
        assert_eq!(small.take(60 << 10).unwrap(), ());
        let body = Arc::clone(&memory.pool_of(1000).places);
        assert!(body.try_acquire_many_owned(memory.places_of(1000)).is_ok());
    }
}
