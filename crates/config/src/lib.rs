//! One strict interlock.yaml: read, checked, explained.
