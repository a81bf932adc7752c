//! The operator and its tools.
//!
//! `domain`, `fleet`, `render` and `status` are pure: values in, values out. `cluster`, `scrape`, `standalone` and `runtime`
//! do I/O and decide nothing; `controller` joins them in a cluster. `lint`, `init` and `demo` are tools of the same binary.

pub mod cli;
pub mod cluster;
pub mod controller;
pub mod demo;
pub mod domain;
pub mod fleet;
pub mod init;
pub mod lint;
pub mod render;
pub mod runtime;
pub mod scrape;
pub mod standalone;
pub mod status;
