"""The ladder: every step a real middleware, from the naive rewrite to the reference."""

from ctxlab.middleware.request_only import RequestOnlySummarizationMiddleware

__all__ = ["RequestOnlySummarizationMiddleware"]
