//! Whoever never answers is given up: an error in the end, and not for ever.

use interlock_infra::alertmanager::Alertmanager;
use interlock_infra::kubernetes::{Kind, Kubernetes};
use interlock_infra::mail::MailGateway;
use interlock_infra::prometheus::Prometheus;
use interlock_infra::{Error, Secrets, options};

use crate::prometheus::connection;
use crate::server::{Reply, serve};

#[tokio::test]
async fn nobody_waits_for_ever() {
    let server = serve(|_| Reply::Never).await;
    let secrets = Secrets::given([("SECRET", "x")]);
    let url = format!("http://{}", server.address);
    let kubernetes = options::Kubernetes {
        name: "prod".to_owned(),
        kubeconfig: None,
        context: None,
        url: Some(url.clone()),
        token_env: None,
        tls: options::Tls::default(),
    };
    let mail = options::MailGateway {
        name: "mail".to_owned(),
        url,
        user: "audit@pmg".to_owned(),
        password_env: "SECRET".to_owned(),
        tls: options::Tls::default(),
        runs_on: None,
    };
    let docker = crate::docker::docker(&server);
    let kubernetes = Kubernetes::new(&kubernetes, &secrets).unwrap();
    let prometheus = Prometheus::new(&connection(&server), &secrets).unwrap();
    let alertmanager = Alertmanager::new(&connection(&server), &secrets).unwrap();
    let mail = MailGateway::new(&mail, &secrets).unwrap();
    // From here on the clock jumps to the next deadline whenever there is nothing to do but wait.
    tokio::time::pause();
    let errors = [
        docker.containers().await.unwrap_err(),
        kubernetes.list(Kind::Pod, None).await.unwrap_err(),
        prometheus.query("up", None).await.unwrap_err(),
        alertmanager.alerts().await.unwrap_err(),
        mail.version().await.unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(error, Error::TimedOut { .. } | Error::Unreachable { .. }),
            "{error:?}"
        );
    }
}
