"""The official OpenAI client: the same results straight and through the gateway."""

import time

import openai
import pytest
from conftest import GATEWAY, PROVIDERS, eventually, stats

MESSAGES = [{"role": "user", "content": "say something"}]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def order(text: str) -> list[dict]:
    """A prompt that orders the scripted provider about."""
    return [{"role": "user", "content": f"please @sim {text} @"}]


def test_a_complete_answer_has_text_usage_and_a_finish_reason(openai_client):
    answer = openai_client.chat.completions.create(model="gpt-test", messages=order('{"tokens":5}'))
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.content.count("#") == 5
    assert answer.usage.completion_tokens == 5
    assert answer.model == "gpt-test"


def test_a_stream_gives_every_token_once_and_ends(openai_client):
    stream = openai_client.chat.completions.create(model="gpt-test", messages=order('{"tokens":7}'), stream=True)
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text.count("#") == 7
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert all(chunk.choices for chunk in chunks), "a usage chunk that nobody asked for reached the client"


def test_a_stream_that_asks_for_usage_gets_it_last(openai_client):
    stream = openai_client.chat.completions.create(
        model="gpt-test", messages=order('{"tokens":4}'), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == 4


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_call_arrives_with_its_arguments(openai_client, stream):
    answer = openai_client.chat.completions.create(
        model="gpt-test", messages=order('{"tool":"weather"}'), tools=[TOOL], stream=stream
    )
    if stream:
        deltas = [call for chunk in answer if chunk.choices for call in chunk.choices[0].delta.tool_calls or []]
        name = "".join(call.function.name or "" for call in deltas)
        arguments = "".join(call.function.arguments or "" for call in deltas)
    else:
        call = answer.choices[0].message.tool_calls[0]
        name, arguments = call.function.name, call.function.arguments
    assert name == "weather"
    assert arguments.startswith("{") and arguments.endswith("}")


def test_an_invalid_request_is_the_same_error_class_with_the_providers_words(openai_client):
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.chat.completions.create(model="gpt-test", messages=order('{"status":400}'))
    assert caught.value.status_code == 400
    assert caught.value.type == "invalid_request_error"


def test_a_rate_limit_says_how_long_to_wait(openai_client):
    with pytest.raises(openai.RateLimitError) as caught:
        openai_client.chat.completions.create(model="gpt-limited", messages=order('{"status":429,"retryAfterS":60}'))
    assert 1 <= int(caught.value.response.headers["retry-after"]) <= 61


def test_a_model_that_nobody_serves_is_not_found():
    client = openai.OpenAI(base_url=GATEWAY + "/v1", api_key="k", max_retries=0)
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="no-such-model", messages=MESSAGES)
    assert caught.value.code == "model_not_found"
    assert "no-such-model" in caught.value.message


def test_the_models_of_the_dialect_are_listed():
    client = openai.OpenAI(base_url=GATEWAY + "/v1", api_key="k", max_retries=0)
    assert "gpt-test" in [model.id for model in client.models.list()]
    assert client.models.retrieve("gpt-test").id == "gpt-test"


def test_a_straggler_is_hedged_and_the_answer_is_of_one_piece():
    client = openai.OpenAI(base_url=GATEWAY + "/v1", api_key="k", max_retries=0)
    slow = '{"provider":"%s","firstTokenMs":6000,"tokens":6}'
    raced = 0
    # Smooth weights alternate between the two routes, so each of them is a slow primary at least once.
    for name in ("openai-a", "openai-a", "openai-b", "openai-b"):
        started = time.monotonic()
        answer = client.chat.completions.with_raw_response.create(model="gpt-test", messages=order(slow % name), stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in answer.parse() if chunk.choices)
        reason = answer.headers.get("x-hedgerow-hedge-reason")
        assert time.monotonic() - started < 5, f"the straggler was not hedged: {reason}"
        assert len({token.split(":")[0] for token in text.split()}) == 1, f"tokens of two attempts: {text}"
        raced += answer.headers["x-hedgerow-hedged"] == "true"
    assert raced >= 1, "no prompt went to its slow provider first"


def test_a_client_that_leaves_is_noticed_by_the_provider_at_once():
    client = openai.OpenAI(base_url=GATEWAY + "/v1", api_key="k", max_retries=0)
    before = {name: stats(name)["cancelled"] for name in PROVIDERS}
    stream = client.chat.completions.create(model="gpt-test", messages=order('{"tokens":2000,"gapMs":20}'), stream=True)
    next(iter(stream))
    left = time.time() * 1000
    stream.close()
    name = eventually(lambda: next((name for name in PROVIDERS if stats(name)["cancelled"] > before[name]), None))
    assert stats(name)["cancels"][-1]["atUnixMs"] - left < 100


def test_a_cut_stream_is_an_error_and_never_a_clean_end(openai_client):
    stream = openai_client.chat.completions.create(
        model="gpt-test", messages=order('{"tokens":20,"fault":{"cutAtToken":5}}'), stream=True
    )
    with pytest.raises(Exception) as caught:
        list(stream)
    assert not isinstance(caught.value, AssertionError)
