//! An SSH server for each node.
