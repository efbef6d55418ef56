//! The API over real HTTP: a server on a free port, a real database file, the real gate, a scripted model.

mod alerts;
mod decide;
mod description;
mod hostile;
mod looking;
mod place;
mod rules;
