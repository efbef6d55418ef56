//! One strict `interlock.yaml`: read, checked, explained.
//!
//! This room finds the file, reads it, puts in what comes from the environment, compares it with the types of the other
//! rooms and checks what the parts say about each other. It must never guess: an unknown key, a wrong type, a key
//! written twice, a name that leads nowhere and a variable that is not set are errors, each with its place and what to do,
//! as many at once as can be found. It must never show a value that came from the environment or a secret file.
//!
//! Data walks: bytes become a [`tree`] of values with places (`tree`), values from outside go into its texts, never into its
//! structure (`interpolate`), secrets that are written out are refused (`literal`), the tree is compared with the schema that the types yield (`shape`), typed values are read
//! out of it (`de`), what they say about each other is checked (`check`), what is wrong is said without any value from outside
//! (`outside`), and a view for people is made (`view`).
//! [`Loader`] does all of that.
//!
//! Paths in the file are relative to the folder that the file is in.

mod check;
mod config;
mod de;
mod interpolate;
mod literal;
mod load;
mod outside;
mod paths;
mod problem;
mod record;
mod reload;
mod schema;
mod server;
mod shape;
mod tree;
mod view;

pub use config::{
    Config, Control, Gate, McpServer, Notification, Prompts, Queue, RequireReadSandbox, Retention, Transport,
};
pub use load::{FILE_NAME, Loaded, Loader, Outside, load};
pub use problem::{Error, Place, Problem};
pub use record::{Record, RecordKey, Ship};
pub use reload::{NEED_RESTART, RELOADABLE};
pub use schema::schema;
pub use server::{LISTEN, MetricsAccess, Oidc, Server, ServerLimits, Sessions, Tls};
