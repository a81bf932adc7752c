//! What came of scenarios, for people and for programs.

mod html;
mod json;
pub mod page;
mod text;

pub use html::html;
pub use json::json;
pub use text::text;
