"""The official OpenAI client: each call once directly and once through the gateway gives equal objects."""

import base64
import uuid
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
from conftest import CANNED, GATEWAY, PROVIDERS, both, seen
from pydantic import BaseModel

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}} for name in ("weather", "clock")]
FLAT_TOOLS = [{"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}, "strict": False} for name in ("weather", "clock")]
CLASSES = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
    503: openai.InternalServerError,
}


class Trip(BaseModel):
    """What the canned answer is about."""

    city: str
    days: int


def client(base: str, **more) -> openai.OpenAI:
    """A client that does not try again by itself."""
    return openai.OpenAI(base_url=base + "/v1", api_key="k", **{"max_retries": 0, "timeout": 20, **more})


def said(text: str) -> list[dict]:
    """A prompt."""
    return [{"role": "user", "content": text}]


def test_a_complete_answer_and_the_bytes_of_its_request():
    answer = both(lambda base: client(base).chat.completions.create(model="canned", messages=said("canned plain")).model_dump())
    assert len(answer["system_fingerprint"]) == 64, "the hash of the request's bytes"


@pytest.mark.parametrize("name", ["plain", "parallel"])
def test_a_streamed_chat_accumulates_to_the_same_completion(name):
    def run(base):
        with client(base).chat.completions.stream(model="canned", messages=said(f"canned {name}"), tools=TOOLS) as stream:
            events = [event.type for event in stream]
            return events, stream.get_final_completion().model_dump()

    events, answer = both(run)
    assert "chunk" in events
    if name == "parallel":
        calls = answer["choices"][0]["message"]["tool_calls"]
        assert [call["function"]["arguments"] for call in calls] == ['{"city":"Oslo"}', '{"zone":"CET"}']


def test_parallel_tool_calls_of_a_complete_answer():
    answer = both(lambda base: client(base).chat.completions.create(model="canned", messages=said("canned parallel"), tools=TOOLS).model_dump())
    assert [call["function"]["name"] for call in answer["choices"][0]["message"]["tool_calls"]] == ["weather", "clock"]


def test_a_structured_output_is_parsed_whole_and_streamed():
    def whole(base):
        return client(base).chat.completions.parse(model="canned", messages=said("canned structured"), response_format=Trip).choices[0].message.parsed

    def streamed(base):
        with client(base).chat.completions.stream(model="canned", messages=said("canned structured"), response_format=Trip) as stream:
            list(stream)
            return stream.get_final_completion().choices[0].message.parsed

    assert both(whole) == both(streamed) == Trip(city="Oslo", days=3)


def test_an_image_of_a_megabyte_arrives_byte_for_byte():
    image = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 4096).decode()
    content = [{"type": "text", "text": "canned plain"}, {"type": "image_url", "image_url": {"url": image}}]
    answer = both(lambda base: client(base).chat.completions.create(model="canned", messages=[{"role": "user", "content": content}]).model_dump())
    assert len(answer["system_fingerprint"]) == 64


@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("name", ["plain", "parallel"])
def test_a_response_whole_and_streamed(name, store):
    def whole(base):
        return client(base).responses.create(model="canned", input=f"canned {name}", tools=FLAT_TOOLS, store=store).model_dump()

    def streamed(base):
        with client(base).responses.stream(model="canned", input=f"canned {name}", tools=FLAT_TOOLS, store=store) as stream:
            events = [event.model_dump() for event in stream]
            return events, stream.get_final_response().model_dump()

    answer = both(whole)
    events, final = both(streamed)
    assert answer["output"][0]["type"] == "reasoning"
    assert [item["type"] for item in final["output"]] == [item["type"] for item in answer["output"]]
    assert any(event["type"] == "response.reasoning_summary_text.delta" for event in events)


def test_a_structured_response_is_parsed():
    answer = both(lambda base: client(base).responses.parse(model="canned", input="canned structured", text_format=Trip, store=False).output_parsed)
    assert answer == Trip(city="Oslo", days=3)


def test_embeddings_of_several_texts():
    answer = both(lambda base: client(base).embeddings.create(model="canned", input=["canned plain", "more"]).model_dump())
    assert [entry["embedding"] for entry in answer["data"]] == [[1.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize("status", sorted(CLASSES))
def test_every_status_is_the_same_class_with_the_same_words(status):
    def run(base):
        with pytest.raises(openai.APIStatusError) as caught:
            client(base).chat.completions.create(model=f"status-{status}", messages=said("x"))
        error = caught.value
        return type(error), error.status_code, error.type, error.code, error.message

    kind, *_ = both(run)
    assert kind is CLASSES[status]


def test_what_the_gateway_has_tried_again_the_client_does_not():
    before = seen("status-500")
    with pytest.raises(openai.InternalServerError):
        client(GATEWAY, max_retries=2).chat.completions.create(model="status-500", messages=said("x"))
    assert seen("status-500") - before == 2, "two attempts of the gateway, none of the client"


def test_the_clients_own_retry_waits_as_long_as_the_provider_asks():
    def run(base):
        name = f"canned again-{uuid.uuid4().hex}"
        answer = client(base, max_retries=2).chat.completions.create(model="canned-again", messages=said(name))
        return answer.choices[0].message.content, seen(name)

    assert both(run) == ("Good morning", 2)


def test_a_client_with_little_time_is_answered_before_it_gives_up():
    def ask(base):
        return client(base, timeout=2).chat.completions.create(model="canned", messages=said("canned slow"))

    with pytest.raises(openai.APITimeoutError):
        ask(CANNED)
    # The gateway reads the time-out that the client tells, and answers a moment before it.
    with pytest.raises(openai.InternalServerError) as caught:
        ask(GATEWAY)
    assert (caught.value.status_code, caught.value.type) == (504, "gateway_deadline")


def test_a_long_stream_with_comments_between_its_tokens():
    def run(base):
        stream = client(base, timeout=5).chat.completions.create(model="canned", messages=said("canned pings"), stream=True)
        return [chunk.model_dump() for chunk in stream]

    assert len(both(run)) > 4


def test_one_client_used_by_twenty_threads_at_once():
    def run(base):
        shared = client(base)

        def ask(number):
            answer = shared.chat.completions.create(model="canned", messages=said("canned plain"), stream=number % 2 == 0)
            return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices) if number % 2 == 0 else answer.choices[0].message.content

        with ThreadPoolExecutor(20) as pool:
            return list(pool.map(ask, range(60)))

    assert both(run) == ["Good morning"] * 60


@pytest.mark.parametrize("stream", [False, True])
def test_the_azure_client_speaks_to_its_deployment(stream):
    def run(base):
        azure = openai.AzureOpenAI(azure_endpoint=base, api_key="k", api_version="2024-10-21", azure_deployment="gpt-test", max_retries=0)
        order = said('please @sim {"tokens":5} @')
        answer = azure.chat.completions.create(model="gpt-test", messages=order, stream=stream)
        if not stream:
            return answer.choices[0].message.content.count("#"), answer.choices[0].finish_reason
        chunks = [chunk for chunk in answer if chunk.choices]
        return sum((chunk.choices[0].delta.content or "").count("#") for chunk in chunks), chunks[-1].choices[0].finish_reason

    assert run(PROVIDERS["openai-a"]) == run(GATEWAY) == (5, "stop")


