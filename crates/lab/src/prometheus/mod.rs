//! Metrics with their history, alerting rules, and the APIs of Prometheus and Alertmanager.
