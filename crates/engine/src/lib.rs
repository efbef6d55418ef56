//! Runs sessions: controllers, history, prompts, holds, resume.
