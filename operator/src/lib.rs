//! The operator and its tools.
//!
//! `domain`, `fleet`, `render` and `status` are pure: values in, values out. `cluster`, `scrape`, `standalone` and `runtime`
//! do I/O and decide nothing; `controller` joins them in a cluster. `lint`, `init`, `demo` and `replay` are tools of the same binary.

mod chart;
pub mod cli;
pub mod cluster;
pub mod controller;
pub mod demo;
pub mod domain;
pub mod fleet;
pub mod init;
pub mod lint;
pub mod render;
pub mod replay;
pub mod runtime;
pub mod scrape;
pub mod standalone;
pub mod status;
