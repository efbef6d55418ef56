//! A Proxmox Mail Gateway and its API.
