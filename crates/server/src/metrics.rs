//! Counters and histograms, for Prometheus.

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::routes::Routes;

/// Where counters are read from.
#[derive(Clone)]
pub struct Recorded(PrometheusHandle);

impl Recorded {
    /// Everything, in the text format of Prometheus.
    pub fn render(&self) -> String {
        self.0.render()
    }
}

/// Begins to count, for the whole process. Once; a second call in one process counts into nothing.
pub fn install_metrics() -> Recorded {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::debug!("somebody counts already");
    }
    Recorded(handle)
}

/// The route of the metrics.
pub(crate) fn routes() -> Routes {
    Routes::new()
}
