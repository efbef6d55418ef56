//! The dashboard, from inside the binary.
