//! Instruction sets, and which of them this CPU and the user allow.

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

/// An instruction set that has a [`crate::KernelSet`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Isa {
    /// Portable Rust; the specification of all others.
    Scalar,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, VL and VNNI.
    Avx512,
    /// AArch64 with Advanced SIMD, which every such CPU has.
    Neon,
}

/// Why an instruction set cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IsaError {
    /// The name is none of ours.
    #[error("unknown instruction set '{name}': use scalar, avx2, avx512 or neon")]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// The CPU, or the build for its architecture, lacks it.
    #[error("this CPU does not support the instruction set '{isa}'")]
    Unsupported {
        /// The set that was asked for.
        isa: Isa,
    },
}

impl Isa {
    /// All instruction sets, best last among those of one architecture.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512];

    /// Environment variable that forces an instruction set.
    pub const VARIABLE: &'static str = "PAGEWAY_ISA";

    /// Name as written in `PAGEWAY_ISA` and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// True when this CPU can run it.
    pub(crate) fn is_supported(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Avx2 => has_avx2(),
            Self::Avx512 => has_avx512(),
            Self::Neon => cfg!(target_arch = "aarch64"),
        }
    }

    /// The best set that `is_supported` accepts, or the forced one.
    ///
    /// An empty variable counts as not set, as scripts often write `PAGEWAY_ISA= command`.
    pub(crate) fn choose(
        forced: Option<&OsStr>,
        is_supported: impl Fn(Self) -> bool,
    ) -> Result<Self, IsaError> {
        let Some(name) = forced.filter(|name| !name.is_empty()) else {
            let best = Self::ALL.into_iter().rev().find(|&isa| is_supported(isa));
            return Ok(best.unwrap_or(Self::Scalar));
        };
        let isa = name.to_string_lossy().parse::<Self>()?;
        if is_supported(isa) {
            Ok(isa)
        } else {
            Err(IsaError::Unsupported { isa })
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Isa {
    type Err = IsaError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|isa| isa.name() == text);
        known.ok_or_else(|| IsaError::Unknown {
            name: text.to_owned(),
        })
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only_avx2(isa: Isa) -> bool {
        matches!(isa, Isa::Scalar | Isa::Avx2)
    }

    #[test]
    fn names_parse_back() {
        for isa in Isa::ALL {
            assert_eq!(isa.to_string().parse(), Ok(isa));
        }
        assert_eq!(
            "AVX2".parse::<Isa>(),
            Err(IsaError::Unknown {
                name: "AVX2".into()
            })
        );
    }

    #[test]
    fn the_best_supported_set_is_chosen_when_none_is_forced() {
        assert_eq!(Isa::choose(None, only_avx2), Ok(Isa::Avx2));
        assert_eq!(Isa::choose(Some(OsStr::new("")), only_avx2), Ok(Isa::Avx2));
        assert_eq!(Isa::choose(None, |_| true), Ok(Isa::Avx512));
        assert_eq!(Isa::choose(None, |isa| isa == Isa::Scalar), Ok(Isa::Scalar));
    }

    #[test]
    fn a_forced_set_is_taken_or_refused() {
        let force = |name: &str| Isa::choose(Some(OsStr::new(name)), only_avx2);
        assert_eq!(force("scalar"), Ok(Isa::Scalar));
        assert_eq!(
            force("avx512"),
            Err(IsaError::Unsupported { isa: Isa::Avx512 })
        );
        assert_eq!(
            force("sse9"),
            Err(IsaError::Unknown {
                name: "sse9".into()
            })
        );
    }
}
