//! The operator and its tools.
//!
//! `domain`, `render` and `status` are pure: values in, values out. `scrape` and `standalone` do I/O and decide
//! nothing. `lint`, `init` and `demo` are tools of the same binary.

pub mod cli;
pub mod demo;
pub mod domain;
pub mod init;
pub mod lint;
pub mod render;
pub mod scrape;
pub mod standalone;
pub mod status;
