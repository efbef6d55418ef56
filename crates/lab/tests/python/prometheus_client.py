"""Reads the lab's metrics with the package prometheus-api-client, as somebody who never heard of the lab."""

import sys
from datetime import datetime, timedelta

from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException

prometheus = PrometheusConnect(url=sys.argv[1], disable_ssl=True)
assert prometheus.check_prometheus_connection()

names = prometheus.all_metrics()
assert {"pve_up", "up", "ALERTS", "container_cpu_usage_seconds_total"} <= set(names), names
assert prometheus.get_label_values("id") == ["lxc/141", "qemu/100"]

down = prometheus.custom_query("pve_up == 0")
assert [series["metric"]["id"] for series in down] == ["qemu/100"], down
assert down[0]["value"][1] == "0"

now = datetime.now()
hour = prometheus.custom_query_range("sum(pve_up)", start_time=now - timedelta(hours=1), end_time=now, step="60")
assert len(hour) == 1 and 59 <= len(hour[0]["values"]) <= 61, hour
assert {value for _, value in hour[0]["values"]} == {"1"}

history = prometheus.get_metric_range_data(
    "container_cpu_usage_seconds_total", start_time=now - timedelta(hours=2), end_time=now
)
values = [float(value) for _, value in history[0]["values"]]
assert len(values) > 110 and values == sorted(values), values

try:
    prometheus.custom_query("up{")
except PrometheusApiClientException as error:
    assert "400" in str(error), error
else:
    raise AssertionError("a query that cannot be read was answered")

print("all read")
