//! What every request passes before anything looks at it: host, origin, limits, headers.
