"""The recorded conversation in front of a real provider.

A real model bills with its own tokenizer and refuses in its own words; its answers
are not the recorded ones. `RecordedAnswers` lets the request through, keeps the bill
and the refusal, and puts the recorded answer in place of the model's.

    replay(transcript, model=ChatOpenAI(base_url="http://127.0.0.1:8080/v1", ...))

It belongs innermost, behind every other middleware, where a request is what the
provider gets. Left out: what was streamed before the answer was replaced.
Lesson: 13_run_real_models.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.lab.billing import Exchange
from ctxlab.lab.recorded import Recording

Answered = ModelResponse[Any]


class RecordedAnswers(AgentMiddleware[Any, Any, Any]):
    """Keeps what a real provider billed, and answers from the recording.

    Attributes:
        log: Every request with its bill, refused ones included, oldest first.
    """

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.recording = recording
        self.log: list[Exchange] = []

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Answered],
    ) -> Answered:
        """Send the request; answer with the next recorded message."""
        try:
            return self._answered(request, handler(request))
        except Exception as error:
            self._refused(request, error)
            raise

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[Answered]],
    ) -> Answered:
        """Send the request; answer with the next recorded message."""
        try:
            return self._answered(request, await handler(request))
        except Exception as error:
            self._refused(request, error)
            raise

    def _answered(self, request: ModelRequest[Any], response: Answered) -> Answered:
        said = next(m for m in response.result if isinstance(m, AIMessage))
        reply = self.recording.reply(request.messages)
        usage: Any = said.usage_metadata or {}
        details = usage.get("input_token_details") or {}
        self.log.append(
            Exchange(
                _sent(request),
                list(request.tools),
                usage.get("input_tokens", 0),
                details.get("cache_read", 0),
                usage.get("output_tokens", 0),
            )
        )
        figures = {
            "usage_metadata": said.usage_metadata,
            "response_metadata": said.response_metadata,
        }
        return ModelResponse(result=[reply.model_copy(update=figures)])

    def _refused(self, request: ModelRequest[Any], error: Exception) -> None:
        self.log.append(Exchange(_sent(request), list(request.tools), error=error))


def _sent(request: ModelRequest[Any]) -> list[BaseMessage]:
    system = [request.system_message] if request.system_message else []
    return [*system, *request.messages]
