"""The official Anthropic client: each call once directly and once through the gateway gives equal objects."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import anthropic
import pytest
from conftest import CANNED, GATEWAY, both, seen

TOOLS = [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in ("weather", "clock")]
CLASSES = {
    400: anthropic.BadRequestError,
    401: anthropic.AuthenticationError,
    403: anthropic.PermissionDeniedError,
    404: anthropic.NotFoundError,
    409: anthropic.ConflictError,
    413: anthropic.APIStatusError,
    422: anthropic.UnprocessableEntityError,
    429: anthropic.RateLimitError,
    500: anthropic.InternalServerError,
    529: anthropic.APIStatusError,
}


def client(base: str, **more) -> anthropic.Anthropic:
    """A client that does not try again by itself."""
    return anthropic.Anthropic(base_url=base, api_key="k", **{"max_retries": 0, "timeout": 20, **more})


def ask(name: str, **more) -> dict:
    """A request for a canned answer."""
    return {"model": "canned", "max_tokens": 100, "messages": [{"role": "user", "content": f"canned {name}"}], **more}


@pytest.mark.parametrize("name", ["plain", "parallel", "thinking"])
def test_a_message_whole_and_streamed(name):
    more = {"tools": TOOLS} if name == "parallel" else {}

    def streamed(base):
        with client(base).messages.stream(**ask(name, **more)) as stream:
            events = [event.type for event in stream]
            return events, stream.get_final_message().model_dump()

    whole = both(lambda base: client(base).messages.create(**ask(name, **more)).model_dump())
    events, final = both(streamed)
    assert final["content"] == whole["content"] and final["usage"] == whole["usage"]
    assert ("thinking" in events) == (name == "thinking")
    if name == "parallel":
        assert [block["input"] for block in final["content"][1:]] == [{"city": "Oslo"}, {"zone": "CET"}]


def test_tokens_are_counted():
    count = both(lambda base: client(base).messages.count_tokens(model="canned", messages=ask("plain")["messages"]).model_dump())
    assert count["input_tokens"] == 42


@pytest.mark.parametrize("status", sorted(CLASSES))
def test_every_status_is_the_same_class_with_the_same_words(status):
    def run(base):
        with pytest.raises(anthropic.APIStatusError) as caught:
            client(base).messages.create(**{**ask("plain"), "model": f"status-{status}"})
        error = caught.value
        return type(error), error.status_code, error.body

    kind, *_ = both(run)
    assert issubclass(kind, CLASSES[status])


def test_the_clients_own_retry_waits_as_long_as_the_provider_asks():
    def run(base):
        name = f"again-{uuid.uuid4().hex}"
        answer = client(base, max_retries=2).messages.create(**{**ask(name), "model": "canned-again"})
        return answer.content[0].text, seen(f"canned {name}")

    assert both(run) == ("Good morning", 2)


def test_a_client_with_little_time_is_answered_before_it_gives_up():
    def slow(base):
        return client(base, timeout=2).messages.create(**ask("slow"))

    with pytest.raises(anthropic.APITimeoutError):
        slow(CANNED)
    # The gateway reads the time-out that the client tells, and answers a moment before it.
    with pytest.raises(anthropic.APIStatusError) as caught:
        slow(GATEWAY)
    assert (caught.value.status_code, caught.value.body["error"]["type"]) == (504, "gateway_deadline")


def test_a_long_stream_with_pings_between_its_events():
    def run(base):
        with client(base, timeout=5).messages.stream(**ask("pings")) as stream:
            return "".join(stream.text_stream)

    assert both(run) == "Good morning"


def test_one_client_used_by_twenty_threads_at_once():
    def run(base):
        shared = client(base)
        with ThreadPoolExecutor(20) as pool:
            return list(pool.map(lambda _: shared.messages.create(**ask("plain")).content[0].text, range(60)))

    assert both(run) == ["Good morning"] * 60
