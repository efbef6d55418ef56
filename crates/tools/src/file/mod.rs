//! Files of this machine, read and written in this process: in bounds, and never Interlock's own.
//!
//! A path is opened first and judged then, by where the open file really is: a symbolic link, `..` or a race cannot lead
//! to something else. Devices, pipes and sockets are not opened at all.

mod find;
mod list;
mod open;
mod patch;
mod read;
mod write;

pub(crate) use find::{Search, find};
pub(crate) use list::list;
pub(crate) use open::Guard;
pub(crate) use patch::{MOST_BYTES, apply, edits};
pub(crate) use read::{Content, Keep, read};
pub(crate) use write::{append, delete, write};
