//! One gateway in this process, over real sockets, in front of scripted providers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests over real sockets read the real clock")]

mod collector;
mod hedge;
mod input;
mod keys;
mod lanes;
mod learning;
mod money;
mod proxy;
mod reload;
mod retry;
mod stand;
mod traces;
mod truncation;
