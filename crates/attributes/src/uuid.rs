//! UUIDs: sixteen bytes, written in several ways and shown in one.

use std::fmt;

/// Bytes before which the usual way of writing has a hyphen.
const HYPHENS: [usize; 4] = [4, 6, 8, 10];

/// A UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Uuid(
    /// Its bytes, the first that is written first.
    pub [u8; 16],
);

impl Uuid {
    /// The UUID that a text names: 32 digits in base 16, with hyphens between the usual ones or
    /// none, in braces or not, after `urn:uuid:` or not.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("urn:uuid:").unwrap_or(text);
        let inner = match text.strip_prefix('{') {
            Some(inner) => inner.strip_suffix('}')?,
            None => text,
        };
        let has_hyphens = inner.len() == 36;
        let mut rest = inner.bytes();
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            if has_hyphens && HYPHENS.contains(&at) && rest.next() != Some(b'-') {
                return None;
            }
            let mut digit = || char::from(rest.next()?).to_digit(16);
            *byte = (digit()? << 4 | digit()?) as u8;
        }
        rest.next().is_none().then_some(Self(bytes))
    }
}

/// In lower case, with hyphens.
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let hyphen = if HYPHENS.contains(&at) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_is_read_and_one_is_written() {
        let text = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
        let own = Uuid::parse(text).unwrap();
        assert_eq!(own.to_string(), text);
        for way in [
            text.to_uppercase(),
            text.replace('-', ""),
            format!("{{{text}}}"),
            format!("urn:uuid:{text}"),
        ] {
            assert_eq!(Uuid::parse(&way), Some(own), "{way}");
        }
        let short = text.get(1..).unwrap();
        let spaced = text.replace('-', " ");
        let long = format!("{text}0");
        let open = format!("{{{text}");
        for wrong in [
            "",
            "1",
            short,
            &spaced,
            &long,
            &open,
            &text.replace('f', "g"),
        ] {
            assert_eq!(Uuid::parse(wrong), None, "{wrong}");
        }
    }
}
