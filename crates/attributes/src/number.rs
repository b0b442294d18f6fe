//! Numbers of documents and predicates, compared without rounding.

use std::cmp::Ordering;

use serde_json::Value;

/// An integer or a finite float.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// An integer of 2^63 and above.
    Large(u64),
    /// A float.
    Float(f64),
}

impl Number {
    /// The number that a value is: booleans are none.
    pub fn of(value: &Value) -> Option<Self> {
        let number = value.as_number()?;
        let float = || number.as_f64().map(Self::Float);
        let large = || number.as_u64().map(Self::Large).or_else(float);
        number.as_i64().map(Self::Int).or_else(large)
    }

    /// Which of two is greater. Integers and floats are compared by their values, not by what one
    /// would be rounded to.
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(own), Self::Int(other)) => own.cmp(&other),
            (Self::Large(own), Self::Large(other)) => own.cmp(&other),
            (Self::Int(_), Self::Large(_)) => Ordering::Less,
            (Self::Large(_), Self::Int(_)) => Ordering::Greater,
            (Self::Large(own), Self::Float(other)) => compare_large(own, other),
            (Self::Float(own), Self::Large(other)) => compare_large(other, own).reverse(),
            (Self::Float(own), Self::Float(other)) => (own + 0.0).total_cmp(&(other + 0.0)),
            (Self::Int(own), Self::Float(other)) => compare_mixed(own, other),
            (Self::Float(own), Self::Int(other)) => compare_mixed(other, own).reverse(),
        }
    }
}

fn compare_mixed(int: i64, float: f64) -> Ordering {
    // 2^63, the first float beyond the integers.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if float >= END {
        return Ordering::Less;
    }
    if float < -END {
        return Ordering::Greater;
    }
    let whole = float.trunc();
    int.cmp(&(whole as i64))
        .then_with(|| 0.0f64.total_cmp(&(float - whole + 0.0)))
}

/// Floats of that size have no fraction.
fn compare_large(large: u64, float: f64) -> Ordering {
    const BEGIN: f64 = 9_223_372_036_854_775_808.0;
    if float >= 2.0 * BEGIN {
        return Ordering::Less;
    }
    if float < BEGIN {
        return Ordering::Greater;
    }
    large.cmp(&(float as u64))
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other).is_eq()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_read_to_the_last_bit() {
        for at in 1..5000u32 {
            let float = f64::from(at).sqrt().fract();
            let read = serde_json::from_str(&format!("{float:?}")).unwrap();
            assert_eq!(Number::of(&read), Some(Number::Float(float)));
        }
    }

    #[test]
    fn integers_and_floats_compare_exactly() {
        let big = (1i64 << 53) + 1;
        let order = |int, float| Number::Int(int).compare(Number::Float(float));
        let large = |large, float| Number::Large(large).compare(Number::Float(float));
        assert_eq!(large(1 << 63, 9_223_372_036_854_775_808.0), Ordering::Equal);
        assert_eq!(large((1 << 63) + 1, (1u64 << 63) as f64), Ordering::Greater);
        assert_eq!(
            large(u64::MAX, 18_446_744_073_709_551_616.0),
            Ordering::Less
        );
        assert_eq!(
            large(u64::MAX, 18_446_744_073_709_549_568.0),
            Ordering::Greater
        );
        assert_eq!(large(1 << 63, -1.0), Ordering::Greater);
        assert!(
            Number::Int(i64::MAX)
                .compare(Number::Large(1 << 63))
                .is_lt()
        );
        assert_eq!(order(big, big as f64), Ordering::Greater);
        assert_eq!(order(2, 2.0), Ordering::Equal);
        assert_eq!(order(2, 2.5), Ordering::Less);
        assert_eq!(order(-2, -2.5), Ordering::Greater);
        assert_eq!(order(0, -0.0), Ordering::Equal);
        assert_eq!(order(i64::MAX, 9_223_372_036_854_775_808.0), Ordering::Less);
        assert_eq!(
            order(i64::MIN, -9_223_372_036_854_775_808.0),
            Ordering::Equal
        );
        assert_eq!(order(i64::MIN, -1e300), Ordering::Greater);
        assert!(Number::of(&Value::Bool(true)).is_none());
        let huge = serde_json::from_str("18446744073709551615").unwrap();
        assert!(matches!(Number::of(&huge), Some(Number::Large(_))));
    }
}
