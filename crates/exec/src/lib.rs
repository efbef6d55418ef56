//! Runs a process in bounds, for a permit.
