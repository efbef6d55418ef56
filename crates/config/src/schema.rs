//! The published schema of the file.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::Config;

/// The JSON Schema (draft 2020-12) of `interlock.yaml`.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<Config>()
        .to_value()
}
