//! Objects of users -> what the operator writes: the compiled configuration and the Kubernetes objects of each fleet.
//!
//! Pure: values in, values out. [`children`] is what the operator applies, [`Mounts`] and [`Reach`] are what pods mount
//! and connect to, and [`text()`] is all of it for people and for `diff`.

pub mod children;
mod mounts;
mod reach;
mod text;

pub use mounts::Mounts;
pub use reach::Reach;
pub use text::{Part, Presumed, RenderError, text};
