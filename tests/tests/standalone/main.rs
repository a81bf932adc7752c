//! `hedgerow standalone` with real gateway processes and scripted providers: files in, answers out, decisions in between.

mod bench;
mod decisions;
mod files;
mod ports;
