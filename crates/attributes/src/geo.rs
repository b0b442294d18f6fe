//! Places on the Earth and areas that hold them.

use serde_json::Value;

/// Mean radius of the Earth in metres.
const EARTH_METRES: f64 = 6_371_000.0;

/// A place, in degrees.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lon: f64,
}

/// An area.
#[derive(Clone, PartialEq, Debug)]
pub enum Area {
    /// Between two meridians and two parallels, across the date line where the first meridian is
    /// the greater one; borders excluded.
    Box {
        /// The north-western corner.
        top_left: Place,
        /// The south-eastern corner.
        bottom_right: Place,
    },
    /// Nearer than so many metres.
    Radius {
        /// From here.
        center: Place,
        /// Metres.
        metres: f64,
    },
    /// Inside a ring and outside of others; their borders excluded.
    Polygon {
        /// The ring.
        exterior: Vec<Place>,
        /// Holes.
        interiors: Vec<Vec<Place>>,
    },
}

impl Place {
    /// The place that an object with `lat` and `lon` is.
    pub fn of(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let degrees = |name| object.get(name).and_then(Value::as_f64);
        Some(Self {
            lat: degrees("lat")?,
            lon: degrees("lon")?,
        })
    }

    /// Whether there is such a latitude and such a longitude.
    pub(crate) fn is_on_earth(self) -> bool {
        self.lat.abs() <= 90.0 && self.lon.abs() <= 180.0
    }

    /// Metres on the surface between two places.
    pub fn metres_to(self, other: Self) -> f64 {
        let (a, b) = (self.lat.to_radians(), other.lat.to_radians());
        let half = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin().powi(2);
        let chord = half(self.lat, other.lat) + a.cos() * b.cos() * half(self.lon, other.lon);
        2.0 * EARTH_METRES * chord.sqrt().min(1.0).asin()
    }
}

impl Area {
    /// Whether a place lies inside.
    pub fn contains(&self, place: Place) -> bool {
        match self {
            Self::Box {
                top_left,
                bottom_right,
            } => {
                let (west, east) = (top_left.lon, bottom_right.lon);
                let between = if west > east {
                    place.lon > west || place.lon < east
                } else {
                    west < place.lon && place.lon < east
                };
                between && top_left.lat > place.lat && place.lat > bottom_right.lat
            }
            Self::Radius { center, metres } => place.metres_to(*center) < *metres,
            Self::Polygon {
                exterior,
                interiors,
            } => {
                let mut borders = interiors.iter().chain([exterior]);
                let in_hole = || interiors.iter().any(|hole| inside(hole, place));
                inside(exterior, place) && !in_hole() && !borders.any(|ring| on(ring, place))
            }
        }
    }

    /// Parallels between which it lies, with a margin.
    pub(crate) fn latitudes(&self) -> (f64, f64) {
        let (south, north) = match self {
            Self::Box {
                top_left,
                bottom_right,
            } => (bottom_right.lat, top_left.lat),
            Self::Radius { center, metres } => {
                let degrees = (metres / EARTH_METRES).to_degrees();
                (center.lat - degrees, center.lat + degrees)
            }
            Self::Polygon { exterior, .. } => {
                let lats = || exterior.iter().map(|place| place.lat);
                (
                    lats().fold(f64::MAX, f64::min),
                    lats().fold(f64::MIN, f64::max),
                )
            }
        };
        (south - MARGIN_DEGREES, north + MARGIN_DEGREES)
    }
}

/// What rounding may move a border by.
const MARGIN_DEGREES: f64 = 1e-6;

/// Whether a place lies on a ring.
fn on(ring: &[Place], place: Place) -> bool {
    let next = ring.iter().cycle().skip(1);
    ring.iter().zip(next).any(|(from, to)| {
        let (north, east) = (to.lat - from.lat, to.lon - from.lon);
        let aside = north * (place.lon - from.lon) - east * (place.lat - from.lat);
        let between = |own: f64, one: f64, other: f64| (one - own) * (other - own) <= 0.0;
        aside == 0.0 && between(place.lat, from.lat, to.lat) && between(place.lon, from.lon, to.lon)
    })
}

/// The even-odd rule: whether a line to the east crosses the ring an odd number of times.
fn inside(ring: &[Place], place: Place) -> bool {
    let next = ring.iter().cycle().skip(1);
    let crossed = ring.iter().zip(next).filter(|(from, to)| {
        (from.lat > place.lat) != (to.lat > place.lat) && {
            let share = (place.lat - from.lat) / (to.lat - from.lat);
            place.lon < from.lon + share * (to.lon - from.lon)
        }
    });
    crossed.count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(lat: f64, lon: f64) -> Place {
        Place { lat, lon }
    }

    #[test]
    fn areas_hold_what_lies_in_them() {
        let pacific = Area::Box {
            top_left: at(10.0, 170.0),
            bottom_right: at(-10.0, -170.0),
        };
        assert!(pacific.contains(at(0.0, 175.0)) && pacific.contains(at(0.0, -175.0)));
        assert!(!pacific.contains(at(0.0, 0.0)) && !pacific.contains(at(10.0, 175.0)));
        let berlin = at(52.5200, 13.4050);
        let munich = at(48.1351, 11.5820);
        assert!((berlin.metres_to(munich) - 504_000.0).abs() < 1000.0);
        let near = |metres| Area::Radius {
            center: berlin,
            metres,
        };
        assert!(near(510_000.0).contains(munich) && !near(490_000.0).contains(munich));
        let (south, north) = near(510_000.0).latitudes();
        assert!(south < munich.lat && north > berlin.lat);
        let square = |half: f64| {
            vec![
                at(-half, -half),
                at(-half, half),
                at(half, half),
                at(half, -half),
            ]
        };
        let ring = Area::Polygon {
            exterior: square(2.0),
            interiors: vec![square(1.0)],
        };
        assert!(ring.contains(at(1.5, 0.0)));
        assert!(!ring.contains(at(0.5, 0.0)) && !ring.contains(at(0.0, 3.0)));
        let borders = [at(0.0, -2.0), at(2.0, 1.0), at(2.0, 2.0), at(-1.0, 0.5)];
        assert!(borders.iter().all(|place| !ring.contains(*place)));
    }
}
