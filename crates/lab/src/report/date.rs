//! Dates as people read them, in UTC.

const DAY_SECONDS: u64 = 86_400;
/// Days of 400 years, after which the calendar repeats.
const CYCLE_DAYS: u64 = 146_097;

/// `2026-11-21 17:05 UTC` of seconds since 1970.
pub(crate) fn utc(unix: u64) -> String {
    let (days, seconds) = (unix / DAY_SECONDS, unix % DAY_SECONDS);
    let (year, month, day) = civil(days);
    let (hour, minute) = (seconds / 3600, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Year, month and day of a day since 1970.
fn civil(days: u64) -> (u64, u64, u64) {
    let mut year = 1970 + days / CYCLE_DAYS * 400;
    let mut left = days % CYCLE_DAYS;
    while left >= year_days(year) {
        left -= year_days(year);
        year += 1;
    }
    let mut month = 1;
    while left >= month_days(year, month) {
        left -= month_days(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn year_days(year: u64) -> u64 {
    365 + u64::from(is_leap(year))
}

fn month_days(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar() {
        for (unix, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_709_208_000, "2024-02-29 12:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
            (1_735_689_600, "2025-01-01 00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
            (13_574_563_200, "2400-02-29 00:00 UTC"),
        ] {
            assert_eq!(utc(unix), text);
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = civil(0);
        for day in 1..50_000 {
            let today = civil(day);
            let next = (before.0, before.1, before.2 + 1);
            let follows = today == next
                || (today == (before.0, before.1 + 1, 1))
                || (today == (before.0 + 1, 1, 1) && before.1 == 12 && before.2 == 31);
            assert!(follows, "{before:?} {today:?}");
            before = today;
        }
        assert!(!utc(u64::MAX).is_empty());
    }
}
