//! Who may sign in, with what, and for how long.

use interlock_protocol::{ContentHash, Role, UserId, UserName};
use interlock_store::{
    ApiToken, Error, LOCAL, Link, Login, NewUser, Options, SavedView, Store, User, UserChange,
};
use jiff::Timestamp;

use crate::support::{at, memory};

fn id(name: &str) -> UserId {
    name.parse().unwrap()
}

fn user(name: &str, role: Role) -> NewUser {
    NewUser {
        name: name.parse().unwrap(),
        role,
        password: Some("$argon2id$v=19$…".to_owned()),
        identity: None,
        created_at: at(0),
    }
}

fn login(secret: &str, name: &str, until: Timestamp) -> Login {
    Login {
        hash: ContentHash::of(secret),
        user: id(name),
        csrf: format!("csrf of {secret}"),
        from: "192.0.2.7, Firefox".to_owned(),
        created_at: at(0),
        expires_at: until,
    }
}

fn token(number: &str, name: &str) -> ApiToken {
    ApiToken {
        id: format!("tok_{number}"),
        hash: ContentHash::of(number),
        name: "backup job".to_owned(),
        user: id(name),
        scopes: vec!["read".to_owned(), "operate".to_owned()],
        created_at: at(0),
        expires_at: Some(at(1_000)),
        used_at: None,
        revoked_at: None,
    }
}

const fn change() -> UserChange {
    UserChange {
        role: None,
        password: None,
        enabled: None,
    }
}

async fn with(people: &[NewUser]) -> Store {
    let store = memory();
    for person in people {
        store.create_user(person.clone()).await.unwrap();
    }
    store
}

#[tokio::test]
async fn people_come_back_as_they_were_and_names_and_identities_are_taken_once() {
    let mut eve = user("eve", Role::Viewer);
    eve.identity = Some(("https://id.example".to_owned(), "42".to_owned()));
    eve.password = None;
    let ada = user("Ada.L@example.org", Role::Admin);
    let store = with(&[ada.clone(), eve.clone()]).await;
    let (kept_ada, kept_eve) = (User::from(ada), User::from(eve.clone()));
    assert_eq!(store.user(&kept_eve.id).await, Ok(Some(kept_eve.clone())));
    assert_eq!(store.users().await, Ok(vec![kept_ada, kept_eve.clone()]));
    assert_eq!(
        store.user_of("https://id.example", "42").await,
        Ok(Some(kept_eve))
    );
    assert_eq!(store.user_of("https://id.example", "43").await, Ok(None));
    assert_eq!(store.user(&id("mallory")).await, Ok(None));
    let exists = |what, name: &str| {
        Err(Error::Exists {
            what,
            name: name.to_owned(),
        })
    };
    assert_eq!(store.create_user(eve.clone()).await, exists("user", "eve"));
    eve.name = "eve2".parse().unwrap();
    let taken = exists("user with the provider's subject", "42");
    assert_eq!(store.create_user(eve).await, taken);
    // A name that differs in nothing but case is the same to whoever reads it.
    for (name, taken) in [
        ("EVE", "eve"),
        ("Eve", "eve"),
        ("ada.l@EXAMPLE.org", "Ada.L@example.org"),
    ] {
        let made = store.create_user(user(name, Role::Viewer)).await;
        assert_eq!(made, exists("user", taken), "{name}");
    }
}

#[tokio::test]
async fn whoever_had_an_odd_name_before_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let store = Store::open(&options).unwrap();
    store.create_user(user("ada", Role::Admin)).await.unwrap();
    store.close().await;
    let odd = ["Zo\u{eb} \u{c5}ngstr\u{f6}m", "ADA", "oidc:8"];
    let database = rusqlite::Connection::open(folder.path().join("a.db")).unwrap();
    for name in odd {
        let sql = "INSERT INTO users (id, role, enabled, revision, created_at) VALUES (?, 'viewer', 1, 1, 0)";
        database.execute(sql, [name]).unwrap();
    }
    drop(database);
    let store = Store::open(&options).unwrap();
    for name in odd {
        let secret = format!("cookie of {name}");
        store.create_login(login(&secret, name, at(100))).await.unwrap();
        let found = store.login(&ContentHash::of(&secret), at(1)).await.unwrap();
        assert_eq!(found.map(|(_, user)| user.id), Some(id(name)), "{name}");
    }
}

#[tokio::test]
async fn every_change_grows_the_revision_and_no_change_does_not() {
    let store = with(&[user("ada", Role::Admin), user("eve", Role::Viewer)]).await;
    let changes = [
        (change(), 1),
        (
            UserChange {
                role: Some(Role::Viewer),
                ..change()
            },
            1,
        ),
        (
            UserChange {
                role: Some(Role::Approver),
                ..change()
            },
            2,
        ),
        (
            UserChange {
                password: Some("$argon2id$other".to_owned()),
                ..change()
            },
            3,
        ),
        (
            UserChange {
                enabled: Some(false),
                ..change()
            },
            4,
        ),
        (
            UserChange {
                enabled: Some(true),
                role: Some(Role::Operator),
                ..change()
            },
            5,
        ),
    ];
    for (change, revision) in changes {
        let after = store.change_user(&id("eve"), change.clone()).await.unwrap();
        assert_eq!(after.revision, revision, "{change:?}");
        assert_eq!(store.user(&id("eve")).await, Ok(Some(after)));
    }
    let missing = store.change_user(&id("mallory"), change()).await;
    assert_eq!(
        missing.map(drop),
        Err(Error::NotFound {
            what: "user",
            id: "mallory".to_owned()
        })
    );
}

#[tokio::test]
async fn there_is_always_an_admin_who_may_sign_in() {
    let people = [("ada", Role::Admin), ("off", Role::Admin), ("eve", Role::Viewer)];
    let store = with(&people.map(|(name, role)| user(name, role))).await;
    let off = UserChange {
        enabled: Some(false),
        ..change()
    };
    store.change_user(&id("off"), off).await.unwrap();
    let last = Err(Error::LastAdmin { user: id("ada") });
    let disable = UserChange {
        enabled: Some(false),
        ..change()
    };
    let demote = UserChange {
        role: Some(Role::Approver),
        ..change()
    };
    for refused in [disable.clone(), demote.clone()] {
        assert_eq!(store.change_user(&id("ada"), refused).await.map(drop), last);
    }
    assert_eq!(store.remove_user(&id("ada")).await, last);
    assert_eq!(
        store.user(&id("ada")).await,
        Ok(Some(user("ada", Role::Admin).into()))
    );
    // With another one, each of them can go, but not both.
    let promote = UserChange {
        role: Some(Role::Admin),
        ..change()
    };
    store.change_user(&id("eve"), promote).await.unwrap();
    let (ada, eve) = (id("ada"), id("eve"));
    let (a, b) = tokio::join!(store.change_user(&ada, demote), store.change_user(&eve, disable));
    assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
}

#[tokio::test]
async fn a_login_holds_until_it_expires_or_its_user_is_disabled_or_removed() {
    let store = with(&[user("ada", Role::Admin), user("eve", Role::Viewer)]).await;
    let nobody = store.create_login(login("x", "mallory", at(9))).await;
    assert!(
        matches!(nobody, Err(Error::NotFound { what: "user", .. })),
        "{nobody:?}"
    );
    let here = login("a", "eve", at(100));
    store.create_login(here.clone()).await.unwrap();
    store.create_login(login("b", "eve", at(1_000))).await.unwrap();
    let (found, who) = store.login(&here.hash, at(99)).await.unwrap().unwrap();
    assert_eq!((found, who.id), (here.clone(), id("eve")));
    assert_eq!(store.login(&here.hash, at(100)).await, Ok(None), "expired");
    assert_eq!(store.login(&ContentHash::of("c"), at(1)).await, Ok(None));
    assert_eq!(store.logins(&id("eve"), at(1)).await.unwrap().len(), 2);
    assert_eq!(store.logins(&id("eve"), at(100)).await.unwrap().len(), 1);

    store.remove_logins(&id("eve"), Some(&here.hash)).await.unwrap();
    assert_eq!(store.logins(&id("eve"), at(1)).await, Ok(vec![here.clone()]));
    store.remove_login(&here.hash).await.unwrap();
    assert_eq!(store.login(&here.hash, at(1)).await, Ok(None));

    store.create_login(here.clone()).await.unwrap();
    for enabled in [false, true] {
        let switch = UserChange {
            enabled: Some(enabled),
            ..change()
        };
        store.change_user(&id("eve"), switch).await.unwrap();
        assert_eq!(store.login(&here.hash, at(1)).await, Ok(None), "{enabled}");
    }
    // What expired goes away by itself.
    store.create_login(login("old", "eve", at(1))).await.unwrap();
    let mut new = login("new", "eve", at(100));
    new.created_at = at(50);
    store.create_login(new).await.unwrap();
    assert_eq!(store.logins(&id("eve"), at(0)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_visit_is_noted_at_most_once_a_minute() {
    let store = with(&[user("ada", Role::Admin)]).await;
    store.create_login(login("a", "ada", at(10_000))).await.unwrap();
    store.create_token(token("1", "ada")).await.unwrap();
    for (now, noted) in [(1, 1), (2, 1), (60, 1), (61, 61), (100, 61), (500, 500)] {
        store
            .login(&ContentHash::of("a"), at(now))
            .await
            .unwrap()
            .unwrap();
        store
            .api_token(&ContentHash::of("1"), at(now))
            .await
            .unwrap()
            .unwrap();
        let seen = store.user(&id("ada")).await.unwrap().unwrap().seen_at;
        let used = store.api_tokens(None).await.unwrap()[0].used_at;
        assert_eq!((seen, used), (Some(at(noted)), Some(at(noted))), "at {now}");
    }
}

#[tokio::test]
async fn where_nothing_can_be_written_one_can_still_be_known() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let store = Store::open(&options).unwrap();
    store.create_user(user("ada", Role::Admin)).await.unwrap();
    store.create_login(login("a", "ada", at(100))).await.unwrap();
    store.close().await;
    let store = Store::open(&options.read_only()).unwrap();
    assert!(store.login(&ContentHash::of("a"), at(1)).await.unwrap().is_some());
}

#[tokio::test]
async fn of_two_who_use_a_link_at_once_one_comes_in() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let stores = [Store::open(&options).unwrap(), Store::open(&options).unwrap()];
    stores[0].create_user(user("ada", Role::Admin)).await.unwrap();
    for round in 0..20 {
        let hash = ContentHash::of(format!("link {round}"));
        let link = Link {
            hash,
            user: id("ada"),
            expires_at: at(100),
        };
        stores[0].create_link(link).await.unwrap();
        let tasks = stores
            .clone()
            .map(|store| tokio::spawn(async move { store.use_link(&hash, at(1)).await }));
        let mut came_in = 0;
        for task in tasks {
            came_in += usize::from(task.await.unwrap().unwrap().is_some());
        }
        assert_eq!(came_in, 1);
    }
}

#[tokio::test]
async fn a_link_that_is_too_old_or_whose_user_is_disabled_opens_nothing() {
    let store = with(&[user("ada", Role::Admin), user("eve", Role::Viewer)]).await;
    let link = |name: &str| Link {
        hash: ContentHash::of(name),
        user: id(name),
        expires_at: at(100),
    };
    store.create_link(link("ada")).await.unwrap();
    assert_eq!(store.use_link(&ContentHash::of("ada"), at(100)).await, Ok(None));
    assert_eq!(
        store.use_link(&ContentHash::of("ada"), at(1)).await,
        Ok(None),
        "it is gone"
    );
    store.create_link(link("eve")).await.unwrap();
    let switch = |on| UserChange {
        enabled: Some(on),
        ..change()
    };
    store.change_user(&id("eve"), switch(false)).await.unwrap();
    assert_eq!(store.use_link(&ContentHash::of("eve"), at(1)).await, Ok(None));
    store.create_link(link("eve")).await.unwrap();
    assert_eq!(
        store.use_link(&ContentHash::of("eve"), at(1)).await,
        Ok(None),
        "still disabled"
    );
}

#[tokio::test]
async fn a_token_works_until_it_expires_is_revoked_or_its_user_is_disabled() {
    let store = with(&[user("ada", Role::Admin), user("eve", Role::Viewer)]).await;
    let hash = ContentHash::of("1");
    store.create_token(token("1", "eve")).await.unwrap();
    let twice = store.create_token(token("1", "eve")).await;
    assert_eq!(
        twice,
        Err(Error::Exists {
            what: "token",
            name: "tok_1".to_owned()
        })
    );
    let (found, who) = store.api_token(&hash, at(1)).await.unwrap().unwrap();
    assert_eq!((found, who.id), (token("1", "eve"), id("eve")));
    assert_eq!(store.api_token(&hash, at(1_000)).await, Ok(None), "expired");

    for on in [false, true] {
        let switch = UserChange {
            enabled: Some(on),
            ..change()
        };
        store.change_user(&id("eve"), switch).await.unwrap();
        assert_eq!(store.api_token(&hash, at(2)).await.unwrap().is_some(), on);
    }
    assert_eq!(
        store.revoke_token("tok_1", Some(&id("ada")), at(3)).await,
        Ok(false),
        "hers alone"
    );
    assert_eq!(store.revoke_token("tok_2", None, at(3)).await, Ok(false));
    assert_eq!(
        store.revoke_token("tok_1", Some(&id("eve")), at(3)).await,
        Ok(true)
    );
    assert_eq!(store.revoke_token("tok_1", None, at(4)).await, Ok(false), "once");
    assert_eq!(store.api_token(&hash, at(5)).await, Ok(None));
    assert_eq!(
        store.api_tokens(Some(&id("eve"))).await.unwrap()[0].revoked_at,
        Some(at(3))
    );
    assert_eq!(store.api_tokens(Some(&id("ada"))).await, Ok(vec![]));

    let mut forever = token("9", "ada");
    forever.expires_at = None;
    store.create_token(forever).await.unwrap();
    assert!(
        store
            .api_token(&ContentHash::of("9"), at(1_000_000))
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(store.api_tokens(None).await.unwrap().len(), 2);
}

#[tokio::test]
async fn with_a_user_goes_everything_that_is_theirs() {
    let store = with(&[user("ada", Role::Admin), user("eve", Role::Viewer)]).await;
    let view = |number: &str, name: &str, whose: &str| SavedView {
        id: number.to_owned(),
        user: id(whose),
        name: name.to_owned(),
        query: "status=failed".to_owned(),
        created_at: at(0),
    };
    store.save_view(view("1", "Broken", "eve")).await.unwrap();
    store.save_view(view("2", "Broken", "eve")).await.unwrap();
    store.save_view(view("3", "All", "eve")).await.unwrap();
    store.save_view(view("4", "Broken", "ada")).await.unwrap();
    let theirs = store.views(&id("eve")).await.unwrap();
    assert_eq!(theirs, [view("3", "All", "eve"), view("2", "Broken", "eve")]);
    assert_eq!(store.remove_view(&id("ada"), "3").await, Ok(false), "not hers");
    assert_eq!(store.remove_view(&id("eve"), "3").await, Ok(true));

    store.create_login(login("a", "eve", at(100))).await.unwrap();
    store.create_token(token("1", "eve")).await.unwrap();
    let link = Link {
        hash: ContentHash::of("l"),
        user: id("eve"),
        expires_at: at(100),
    };
    store.create_link(link).await.unwrap();
    store.remove_user(&id("eve")).await.unwrap();
    store.create_user(user("eve", Role::Viewer)).await.unwrap();
    assert_eq!(store.logins(&id("eve"), at(1)).await, Ok(vec![]));
    assert_eq!(store.api_tokens(None).await, Ok(vec![]));
    assert_eq!(store.views(&id("eve")).await, Ok(vec![]));
    assert_eq!(store.use_link(&ContentHash::of("l"), at(1)).await, Ok(None));
    assert_eq!(store.views(&id("ada")).await.unwrap().len(), 1);
    store.integrity().await.unwrap();
}

#[test]
fn no_user_has_the_name_of_somebody_at_a_shell() {
    for name in ["zoe", "", "LOCAL"] {
        assert!(format!("{LOCAL}{name}").parse::<UserName>().is_err(), "{name}");
    }
}
