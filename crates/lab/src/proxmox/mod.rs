//! The Proxmox VE API over HTTP.
