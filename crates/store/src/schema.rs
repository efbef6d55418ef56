//! What was changed in the schema of a store outside Interlock.

use std::fmt;

use serde::Serialize;

use crate::backend::on;
use crate::{Error, Store};

/// Something in the schema of a store that is not as Interlock creates it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaChange {
    /// `table`, `index`, `trigger` or `view`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub fault: SchemaFault,
}

/// How an object of the schema differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaFault {
    /// Interlock did not create it.
    Added,
    /// Interlock created it, and it is gone.
    Missing,
    /// It is not as Interlock created it.
    Changed,
}

impl SchemaChange {
    /// What is wrong, without the name.
    pub const fn what(&self) -> &'static str {
        match self.fault {
            SchemaFault::Added => "it was added to the schema outside Interlock",
            SchemaFault::Missing => "it is missing from the schema",
            SchemaFault::Changed => "its definition was changed outside Interlock",
        }
    }
}

impl fmt::Display for SchemaChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = (&self.kind, &self.name);
        match self.fault {
            SchemaFault::Added => write!(
                f,
                "the database has the {kind} `{name}`, which Interlock did not create; it could change what is written or read. Look at \
                 it with `sqlite3 FILE .schema`, and remove it or restore a backup"
            )?,
            SchemaFault::Missing => write!(
                f,
                "the {kind} `{name}` is missing from the database; Interlock does not use a store whose schema was changed. Restore a \
                 backup"
            )?,
            SchemaFault::Changed => write!(
                f,
                "the {kind} `{name}` of the database is not as Interlock created it; it could change what is written or read. Look at it \
                 with `sqlite3 FILE .schema`, and restore a backup"
            )?,
        }
        f.write_str(". `interlock audit verify` shows whether the record was changed as well")
    }
}

impl Store {
    /// Everything in the schema that is not as this version creates it.
    pub async fn schema_changes(&self) -> Result<Vec<SchemaChange>, Error> {
        on!(self, schema_changes())
    }
}
