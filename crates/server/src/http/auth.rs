//! Keys: one that may do everything, one that may read.

use axum::http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::operation::Access;

/// Bytes of a key at most.
const MAX_KEY_BYTES: usize = 4096;

/// Hashes of keys; no key is kept, or shown.
#[derive(Clone, Default)]
pub struct Keys {
    all: Option<[u8; 32]>,
    read: Option<[u8; 32]>,
}

impl Keys {
    /// The key that may do everything, and the one that may read. Everybody may do everything
    /// where there is neither.
    pub fn new(all: Option<&str>, read: Option<&str>) -> Self {
        let hash = |key: &str| Sha256::digest(key.as_bytes()).into();
        Self {
            all: all.map(hash),
            read: read.map(hash),
        }
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.all.is_none() && self.read.is_none()
    }

    /// Refuses who may not do something, with a status and a text.
    pub(crate) fn check(
        &self,
        headers: &HeaderMap,
        access: Access,
    ) -> Result<(), (u16, &'static str)> {
        if self.is_empty() || access == Access::Open {
            return Ok(());
        }
        let Some(given) = given(headers) else {
            return Err((
                401,
                "Must provide an API key or an Authorization bearer token",
            ));
        };
        let given: [u8; 32] = Sha256::digest(given).into();
        let is = |key: &Option<[u8; 32]>| {
            let key = key.as_ref();
            key.is_some_and(|key| bool::from(key.as_slice().ct_eq(given.as_slice())))
        };
        match (is(&self.all), is(&self.read)) {
            (true, _) => Ok(()),
            (false, true) if access != Access::Write => Ok(()),
            (false, true) => Err((403, "Forbidden: this key may read and not write")),
            (false, false) => Err((401, "Invalid API key or JWT")),
        }
    }
}

/// The key of a request: one, however it is given.
fn given(headers: &HeaderMap) -> Option<&[u8]> {
    let own = headers.get_all("api-key").iter().map(HeaderValue::as_bytes);
    let bearer = headers.get_all("authorization").iter();
    let bearer = bearer.filter_map(|value| token(value.as_bytes()));
    let mut all = own.chain(bearer);
    let first = all.next()?;
    let is_one = all.all(|other| other == first);
    (is_one && first.len() <= MAX_KEY_BYTES).then_some(first)
}

/// What follows the name of the scheme, in letters of either case.
fn token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn keys_open_what_they_are_for() {
        let keys = Keys::new(Some("all"), Some("read"));
        let check = |pairs: &[(&'static str, &str)], access| {
            keys.check(&headers(pairs), access)
                .map_err(|(status, _)| status)
        };
        assert_eq!(check(&[], Access::Open), Ok(()));
        assert_eq!(check(&[], Access::Read), Err(401));
        assert_eq!(check(&[("api-key", "all")], Access::Write), Ok(()));
        assert_eq!(
            check(&[("authorization", "Bearer all")], Access::Write),
            Ok(())
        );
        assert_eq!(
            check(&[("authorization", "bearer all")], Access::Write),
            Ok(())
        );
        assert_eq!(check(&[("authorization", "all")], Access::Read), Err(401));
        assert_eq!(check(&[("api-key", "read")], Access::Read), Ok(()));
        assert_eq!(check(&[("api-key", "read")], Access::Write), Err(403));
        assert_eq!(check(&[("api-key", "ALL")], Access::Known), Err(401));
        assert_eq!(check(&[("api-key", "")], Access::Known), Err(401));
        let two = [("api-key", "all"), ("authorization", "Bearer other")];
        assert_eq!(check(&two, Access::Known), Err(401));
        assert!(
            Keys::default()
                .check(&HeaderMap::new(), Access::Write)
                .is_ok()
        );
    }
}
