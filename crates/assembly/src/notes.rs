//! Notes of the tools, kept in the store.

use interlock_executor::BoxFuture;
use interlock_store::{Note as Stored, Store};
use interlock_tools::{Note, Notes};

/// Where notes are kept.
pub(crate) struct Kept(Option<Store>);

impl Kept {
    /// In the store.
    pub(crate) const fn in_store(store: Store) -> Self {
        Self(Some(store))
    }

    /// Nowhere: for a list of tools that nobody runs.
    pub(crate) const fn nowhere() -> Self {
        Self(None)
    }

    fn store(&self) -> Result<&Store, String> {
        self.0.as_ref().ok_or_else(|| "there is no store".to_owned())
    }
}

impl Notes for Kept {
    fn remember(&self, note: Note) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let stored = Stored {
                id: note.id,
                about: note.about,
                text: note.text,
                written_at: note.written_at,
                session: note.session,
            };
            self.store()?
                .remember(stored)
                .await
                .map_err(|error| error.to_string())
        })
    }

    fn recall<'a>(
        &'a self,
        query: &'a str,
        about: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Note>, String>> {
        Box::pin(async move {
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            let notes = self.store()?.recall(query, about, most).await;
            let notes = notes.map_err(|error| error.to_string())?;
            Ok(notes
                .into_iter()
                .map(|note| Note {
                    id: note.id,
                    about: note.about,
                    text: note.text,
                    written_at: note.written_at,
                    session: note.session,
                })
                .collect())
        })
    }
}
