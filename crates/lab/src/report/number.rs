//! Numbers as people read them: three digits that count, units where they help.

/// A quantity: `12,345`, `123`, `12.3`, `1.23`, `0.012`.
pub(crate) fn plain(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "–".to_owned();
    }
    match size {
        _ if size >= 999.5 => thousands(value),
        _ if size >= 99.95 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.9995 => format!("{value:.2}"),
        _ if size == 0.0 => "0".to_owned(),
        _ => format!("{value:.3}"),
    }
}

/// A whole number with its thousands apart: `1,234,567`.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 {
        text.insert(0, '-');
    }
    text
}

/// A recall: `0.951`.
pub(crate) fn recall(value: f64) -> String {
    format!("{value:.3}")
}

/// A share: `12.3 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 && percent != 0.0 {
        format!("{percent:.2} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// How many times as much: `1.53x`.
pub(crate) fn times(ratio: f64) -> String {
    format!("{}x", plain(ratio))
}

/// Bytes: `12.8 MB`; less than none is `-1.2 MB`.
pub(crate) fn bytes(count: f64) -> String {
    let sign = if count < 0.0 { "-" } else { "" };
    format!(
        "{sign}{}",
        pageway::format_bytes(count.abs().round() as u64)
    )
}

/// A share with its sign: `+12.3 %`.
pub(crate) fn signed(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(share))
}

/// A number as people set it: no digits that they did not give.
pub(crate) fn as_set(value: f64) -> String {
    if value.abs() < 10_000.0 {
        value.to_string()
    } else {
        thousands(value)
    }
}

/// Words with a capital at their beginning.
pub(crate) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        for (value, text) in [
            (1_234_567.0, "1,234,567"),
            (-1234.4, "-1,234"),
            (999.6, "1,000"),
            (123.4, "123"),
            (12.34, "12.3"),
            (1.234, "1.23"),
            (0.0123, "0.012"),
            (0.0, "0"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(plain(value), text);
        }
    }

    #[test]
    fn units() {
        assert_eq!(recall(0.9512), "0.951");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(percent(0.01234), "1.23 %");
        assert_eq!(times(1.534), "1.53x");
        assert_eq!(bytes(12_800_000.0), "12.8 MB");
    }
}
