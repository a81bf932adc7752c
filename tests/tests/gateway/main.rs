//! One gateway in this process, over real sockets, in front of scripted providers.

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
mod truncation;
