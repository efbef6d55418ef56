//! A Kubernetes cluster and its API.
