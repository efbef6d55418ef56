//! Alerting rules: their states over time, their texts, and what Alertmanager hears.

use std::time::Duration;

use interlock_lab::prometheus::{Labels, Limits, Prometheus, Query, Rule, Sample, State};

use crate::world::{Hand, at, labels, load};

fn guest_down() -> Rule {
    let rule = Rule::new("GuestDown", "pve_up{id=~\"lxc/.*\"} == 0").unwrap();
    rule.holding(Duration::from_mins(1))
        .label("severity", "critical")
        .annotation("summary", "{{ $labels.id }} is down")
}

fn states(prometheus: &Prometheus) -> Vec<(String, State)> {
    let alerts = prometheus.alerts();
    alerts
        .iter()
        .map(|alert| (alert.labels.get("alertname").to_owned(), alert.state))
        .collect()
}

fn count(prometheus: &Prometheus, query: &str, seconds: i64) -> usize {
    let value = Query::parse(query)
        .unwrap()
        .instant(prometheus.tsdb(), at(seconds), Limits::default())
        .unwrap();
    match value {
        interlock_lab::prometheus::promql::Value::Vector(items) => items.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_alert_goes_from_pending_to_firing_to_resolved() {
    let hand = Hand::default();
    let prometheus = Prometheus::with_clock([guest_down()], hand.clock());
    let mut value = 1.0;
    let mut step = |seconds: i64, next: f64| {
        value = next;
        prometheus
            .tsdb()
            .append(Sample {
                labels: labels("pve_up{id=\"lxc/141\"}"),
                at: at(seconds),
                value,
            })
            .unwrap();
        prometheus.evaluate(hand.set(seconds));
        (states(&prometheus), prometheus.alertmanager().active().len())
    };
    let named = |state| vec![("GuestDown".to_owned(), state)];

    assert_eq!(step(0, 1.0), (vec![], 0));
    assert_eq!(step(30, 0.0), (named(State::Pending), 0));
    assert_eq!(step(60, 0.0), (named(State::Pending), 0));
    assert_eq!(step(90, 0.0), (named(State::Firing), 1));
    assert_eq!(step(120, 0.0), (named(State::Firing), 1));
    assert_eq!(step(150, 1.0), (vec![], 0), "it is resolved");
    assert_eq!(
        step(180, 0.0),
        (named(State::Pending), 0),
        "it starts again as pending"
    );
    assert_eq!(step(195, 1.0), (vec![], 0), "what was only pending is forgotten");

    let recorded = [
        ("ALERTS{alertstate=\"pending\"}", 60, 1),
        ("ALERTS{alertstate=\"pending\"}", 90, 0),
        (
            "ALERTS{alertname=\"GuestDown\",alertstate=\"firing\",severity=\"critical\",id=\"lxc/141\"}",
            120,
            1,
        ),
        ("ALERTS{alertstate=\"firing\"}", 150, 0),
        ("ALERTS_FOR_STATE == 1748779230", 120, 1),
        ("ALERTS_FOR_STATE", 150, 0),
    ];
    for (query, seconds, expected) in recorded {
        assert_eq!(
            count(&prometheus, query, seconds),
            expected,
            "{query} at {seconds}"
        );
    }
}

#[test]
fn labels_and_annotations_are_templates() {
    let hand = Hand::default();
    let cases = [
        ("{{ $labels.mountpoint }} on {{$labels.instance}}", "/ on pve1"),
        ("{{ $value }}", "0.0512345"),
        ("{{ $value | humanizePercentage }} left", "5.123% left"),
        ("{{ humanizePercentage $value }}", "5.123%"),
        ("{{ $value | humanize }}", "51.23m"),
        (
            "{{ 1234567 | humanize }} {{ 1536 | humanize1024 }}B",
            "1.235M 1.5kiB",
        ),
        ("{{ 93784 | humanizeDuration }}", "1d 2h 3m 4s"),
        (
            "{{ $value | printf \"%.2f\" }} {{ printf \"%s|%d%%\" $labels.instance 7 }}",
            "0.05 pve1|7%",
        ),
        ("{{ $labels.gone }}-", "-"),
        ("{{ .Labels.instance | toUpper }} {{ .Value }}", "PVE1 0.0512345"),
        ("no action", "no action"),
        (
            "{{ nonsense }}",
            "<error expanding template: function \"nonsense\" is not defined here, or has other arguments>",
        ),
        ("{{ $value", "<error expanding template: unclosed action>"),
    ];
    let rule = cases.iter().enumerate().fold(
        Rule::new("DiskFull", "free_ratio < 0.1").unwrap(),
        |rule, (at, (text, _))| rule.annotation(&format!("text_{at:02}"), text),
    );
    let rule = rule.label("team", "{{ $labels.instance }}-owners");
    let prometheus = Prometheus::with_clock([rule], hand.clock());
    load(
        prometheus.tsdb(),
        "free_ratio{instance=\"pve1\",mountpoint=\"/\"}",
        60,
        &[0.051_234_5],
    );
    prometheus.evaluate(hand.set(0));
    let alerts = prometheus.alerts();
    let expected = Labels::new(
        cases
            .iter()
            .enumerate()
            .map(|(at, (_, text))| (format!("text_{at:02}"), *text)),
    );
    assert_eq!(alerts[0].annotations, expected);
    let named = [
        ("alertname", "DiskFull"),
        ("instance", "pve1"),
        ("mountpoint", "/"),
        ("team", "pve1-owners"),
    ];
    assert_eq!(alerts[0].labels, Labels::new(named));
}

#[test]
fn a_rule_that_cannot_be_evaluated_keeps_its_alerts() {
    let hand = Hand::default();
    let rule = Rule::new("Odd", "a_metric / on(job) other_metric > 0").unwrap();
    let prometheus = Prometheus::with_clock([rule], hand.clock());
    load(prometheus.tsdb(), "a_metric{job=\"x\"}", 30, &[1.0, 1.0]);
    load(prometheus.tsdb(), "other_metric{job=\"x\"}", 30, &[1.0, 1.0]);
    prometheus.evaluate(hand.set(0));
    assert_eq!(states(&prometheus), [("Odd".to_owned(), State::Firing)]);
    // A second series makes the match ambiguous.
    prometheus
        .tsdb()
        .append(Sample {
            labels: labels("other_metric{job=\"x\",k=\"2\"}"),
            at: at(30),
            value: 1.0,
        })
        .unwrap();
    prometheus.evaluate(hand.set(30));
    assert_eq!(states(&prometheus), [("Odd".to_owned(), State::Firing)]);
}
