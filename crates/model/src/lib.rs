//! Talks to models: OpenAI-compatible, Anthropic, Gemini, Ollama, scripted.
