//! The forms of the API: what goes over the wire, and nothing else. Each is made from the types of the other rooms by a
//! `From` next to the handler that needs it. The dashboard's types are generated from these.

mod approval;
mod incident;
mod object;
mod people;
mod problem;
mod session;
mod site;
mod whole;
mod words;

pub use approval::*;
pub use incident::*;
pub(crate) use object::Object;
pub use people::*;
pub use problem::*;
pub use session::*;
pub use site::*;
pub use words::*;
