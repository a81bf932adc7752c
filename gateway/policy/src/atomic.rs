//! The one atomic number of this crate.
//!
//! Why a name of its own: with the feature `interleavings` it is loom's, which lets `tests/interleavings` play every order
//! in which threads can see each other's steps. In every build that runs it is the machine's.

#[cfg(feature = "interleavings")]
pub(crate) use loom::sync::atomic::AtomicU64;
#[cfg(not(feature = "interleavings"))]
pub(crate) use std::sync::atomic::AtomicU64;
