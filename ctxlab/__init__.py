"""Learn, tune and ship context compaction for LLM agents."""
