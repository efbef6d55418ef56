//! What looks like a secret is replaced before anyone sees it.
