//! The alerting rules of the lab.

use std::time::Duration;

use crate::prometheus::{PromqlError, Rule};

/// How long something must be wrong before somebody is told.
const SHORTLY: Duration = Duration::from_secs(1);

/// All rules.
pub(crate) fn rules() -> Result<Vec<Rule>, PromqlError> {
    Ok(vec![
        Rule::new("ServiceDown", "probe_success == 0")?
            .holding(SHORTLY)
            .label("severity", "critical")
            .annotation("summary", "{{ $labels.service }} on {{ $labels.instance }} does not answer")
            .annotation(
                "description",
                "The probe of {{ $labels.service }} in {{ $labels.resource }} fails.",
            ),
        Rule::new(
            "FilesystemFull",
            "node_filesystem_avail_bytes / node_filesystem_size_bytes < 0.05",
        )?
        .holding(SHORTLY)
        .label("severity", "critical")
        .annotation("summary", "{{ $labels.mountpoint }} on {{ $labels.instance }} is full")
        .annotation(
            "description",
            "Only {{ $value | humanizePercentage }} of {{ $labels.mountpoint }} in {{ $labels.resource }} is free.",
        ),
        Rule::new("DashboardEntryMissing", "dashboard_entry_present == 0")?
            .label("severity", "warning")
            .annotation("summary", "The dashboard on {{ $labels.instance }} does not show {{ $labels.entry }}")
            .annotation(
                "description",
                "Please add {{ $labels.entry }} (http://influxdb.lan:8086) to the config of @{{ $labels.instance }}: \
                 /opt/homepage/config/services.yaml, under Monitoring.",
            ),
        Rule::new("DiskFailing", "smartmon_device_smart_healthy == 0")?
            .label("severity", "critical")
            .annotation("summary", "The disk {{ $labels.device }} of {{ $labels.instance }} fails its self-test")
            .annotation(
                "description",
                "SMART says FAILED for {{ $labels.device }} of {{ $labels.resource }}. Its guests must move.",
            ),
        Rule::new("ContainerRestartLoop", "container_restarts_total - container_restarts_total offset 1m > 1 or container_restarting == 1")?
            .holding(SHORTLY)
            .label("severity", "warning")
            .annotation("summary", "{{ $labels.name }} on {{ $labels.instance }} restarts without end")
            .annotation("description", "The container {{ $labels.resource }} restarts again and again."),
    ])
}
