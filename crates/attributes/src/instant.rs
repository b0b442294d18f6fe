//! Moments in time, as RFC 3339 writes them and a little more freely: the date may stand alone, the
//! time without seconds or zone (then UTC), a blank for the `T`.

/// A moment: microseconds since 1970 in UTC, and nanoseconds beyond them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Moment {
    /// Microseconds since 1970.
    pub micros: i64,
    /// Nanoseconds beyond them, below 1000.
    pub nanos: u16,
}

impl Moment {
    /// The moment that a text names, of the years 1 to 9999.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text.as_bytes();
        let year = digits(&mut rest, 4)?;
        literal(&mut rest, b"-")?;
        let month = digits(&mut rest, 2)?;
        literal(&mut rest, b"-")?;
        let day = digits(&mut rest, 2)?;
        if !(1..=12).contains(&month) || year < 1 || !(1..=days_of(year, month)).contains(&day) {
            return None;
        }
        let mut seconds = days_before(year, month, day) * 86_400;
        let mut nanos = 0;
        if !rest.is_empty() {
            literal(&mut rest, b"Tt ")?;
            let (clock, fraction, zone) = time(&mut rest)?;
            seconds += clock - zone;
            nanos = fraction;
        }
        if !rest.is_empty() {
            return None;
        }
        Some(Self {
            micros: seconds * 1_000_000 + nanos / 1000,
            nanos: (nanos % 1000) as u16,
        })
    }
}

impl Moment {
    /// The moment as RFC 3339 writes it, in UTC: `2026-01-31T12:00:00Z`, with a fraction where it
    /// has one. None outside of the years 1 to 9999.
    pub fn text(self) -> Option<String> {
        let seconds = self.micros.div_euclid(1_000_000);
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = date_of(days)?;
        let nanos = self.micros.rem_euclid(1_000_000) * 1000 + i64::from(self.nanos);
        let fraction = format!(".{nanos:09}");
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        Some(format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"
        ))
    }
}

/// Seconds of the day, nanoseconds, and seconds that the zone is ahead.
fn time(rest: &mut &[u8]) -> Option<(i64, i64, i64)> {
    let hour = digits(rest, 2)?;
    literal(rest, b":")?;
    let minute = digits(rest, 2)?;
    let (mut second, mut nanos) = (0, 0);
    if literal(rest, b":").is_some() {
        second = digits(rest, 2)?;
        if literal(rest, b".").is_some() {
            nanos = fraction(rest)?;
        }
    }
    let zone = match literal(rest, b"Zz+-") {
        None | Some(b'Z' | b'z') => 0,
        Some(sign) => {
            let hours = digits(rest, 2)?;
            literal(rest, b":");
            let minutes = if rest.is_empty() { 0 } else { digits(rest, 2)? };
            let ahead = hours * 3600 + minutes * 60;
            if hours > 23 || minutes > 59 {
                return None;
            }
            if sign == b'-' { -ahead } else { ahead }
        }
    };
    let fits = hour < 24 && minute < 60 && second < 60;
    fits.then_some((hour * 3600 + minute * 60 + second, nanos, zone))
}

fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (now, later) = rest.split_at_checked(count)?;
    let mut number = 0;
    for byte in now {
        number = number * 10 + i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    *rest = later;
    Some(number)
}

fn literal(rest: &mut &[u8], of: &[u8]) -> Option<u8> {
    let (first, later) = rest.split_first()?;
    let found = of.contains(first).then_some(*first);
    if found.is_some() {
        *rest = later;
    }
    found
}

/// Nanoseconds of the digits behind the point; those beyond the ninth are dropped.
fn fraction(rest: &mut &[u8]) -> Option<i64> {
    let (mut nanos, mut unit) = (0, 100_000_000);
    let first = digits(rest, 1)?;
    nanos += first * unit;
    while let Some(digit) = digits(rest, 1) {
        unit /= 10;
        nanos += digit * unit;
    }
    Some(nanos)
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let years = year - 1;
    let leaps = years / 4 - years / 100 + years / 400;
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    years * 365 + leaps + months + day - 1 - 719_162
}

/// Year, month and day, so many days from 1970-01-01; of the years 1 to 9999.
fn date_of(days: i64) -> Option<(i64, i64, i64)> {
    // A year too late at most, by years of their mean length.
    let guess = (days + 719_162).div_euclid(365) * 146_000 / 146_097 + 2;
    let years = (guess - 3..=guess).rev();
    let year = years
        .into_iter()
        .find(|year| days_before(*year, 1, 1) <= days)?;
    let months = (1..=12).rev();
    let month = months
        .into_iter()
        .find(|month| days_before(year, *month, 1) <= days)?;
    let found = (year, month, days - days_before(year, month, 1) + 1);
    (1..=9999).contains(&year).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_they_are_read() {
        let first = days_before(1, 1, 1);
        for at in (0..3_652_059).step_by(13).chain(0..2000).chain([3_652_058]) {
            let micros = (first + at) * 86_400_000_000 + at * 7_777_777 % 86_400_000_000;
            let own = Moment {
                micros,
                nanos: (at % 3) as u16,
            };
            let text = own.text().unwrap();
            assert_eq!(Moment::parse(&text), Some(own), "{text}");
        }
        let micros = |micros| Moment { micros, nanos: 0 }.text();
        assert_eq!(micros(0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(micros(-1).as_deref(), Some("1969-12-31T23:59:59.999999Z"));
        assert_eq!(micros(first * 86_400_000_000 - 1), None);
        assert_eq!(micros((first + 3_652_059) * 86_400_000_000), None);
        assert_eq!(micros(i64::MAX), None);
    }

    #[test]
    fn moments_are_read() {
        let micros = |text| Moment::parse(text).map(|moment| moment.micros);
        assert_eq!(micros("1970-01-01"), Some(0));
        assert_eq!(micros("1970-01-01T00:00:01Z"), Some(1_000_000));
        assert_eq!(micros("2000-02-29 12:30"), Some(951_827_400_000_000));
        assert_eq!(
            micros("2026-01-31T23:59:59.25+02:00"),
            Some(1_769_896_799_250_000)
        );
        assert_eq!(micros("1969-12-31T23:00:00-0100"), Some(0));
        assert_eq!(micros("0001-01-01"), Some(-62_135_596_800_000_000));
        let fine = Moment::parse("1970-01-01T00:00:00.123456789123Z").unwrap();
        assert_eq!((fine.micros, fine.nanos), (123_456, 789));
        let wrong = [
            "",
            "1970",
            "1970-13-01",
            "1970-02-30",
            "0000-01-01",
            "1970-01-01T",
            "1970-01-01T24:00",
            "1970-01-01T00:00:00.",
            "1970-01-01T00:00:00X",
            "noun.food",
            "1970-01-01T00:00+25:00",
        ];
        for text in wrong {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
