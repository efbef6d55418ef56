use super::*;
use serde_json::Map;
