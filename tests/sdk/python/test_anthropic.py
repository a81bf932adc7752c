"""The official Anthropic client: the same results straight and through the gateway."""

import time

import anthropic
import pytest
from conftest import GATEWAY, PROVIDERS, eventually, stats

TOOL = {"name": "weather", "input_schema": {"type": "object", "properties": {}}}


def order(text: str) -> list[dict]:
    """A prompt that orders the scripted provider about."""
    return [{"role": "user", "content": f"please @sim {text} @"}]


def test_a_complete_answer_has_text_usage_and_a_stop_reason(anthropic_client):
    answer = anthropic_client.messages.create(model="claude-test", max_tokens=100, messages=order('{"tokens":5}'))
    assert answer.stop_reason == "end_turn"
    assert answer.content[0].text.count("#") == 5
    assert answer.usage.output_tokens == 5
    assert answer.usage.input_tokens > 0


def test_a_stream_accumulates_to_the_whole_message(anthropic_client):
    with anthropic_client.messages.stream(model="claude-test", max_tokens=100, messages=order('{"tokens":7}')) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text.count("#") == 7
    assert final.stop_reason == "end_turn"
    assert final.usage.output_tokens == 7


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_use_arrives_with_its_input(anthropic_client, stream):
    arguments = {"model": "claude-test", "max_tokens": 100, "messages": order('{"tool":"weather"}'), "tools": [TOOL]}
    if stream:
        with anthropic_client.messages.stream(**arguments) as events:
            answer = events.get_final_message()
    else:
        answer = anthropic_client.messages.create(**arguments)
    use = next(block for block in answer.content if block.type == "tool_use")
    assert use.name == "weather"
    assert isinstance(use.input, dict)
    assert answer.stop_reason == "tool_use"


def test_an_invalid_request_is_the_same_error_class_with_the_providers_words(anthropic_client):
    with pytest.raises(anthropic.BadRequestError) as caught:
        anthropic_client.messages.create(model="claude-test", max_tokens=10, messages=order('{"status":400}'))
    assert caught.value.body["error"]["type"] == "invalid_request_error"


def test_overload_is_passed_on_as_overload(anthropic_client):
    with pytest.raises(anthropic.APIStatusError) as caught:
        anthropic_client.messages.create(model="claude-limited", max_tokens=10, messages=order('{"status":529}'))
    assert caught.value.status_code == 529
    assert caught.value.body["error"]["type"] == "overloaded_error"


def test_a_model_that_nobody_serves_is_not_found_in_this_dialect():
    client = anthropic.Anthropic(base_url=GATEWAY, api_key="k", max_retries=0)
    with pytest.raises(anthropic.NotFoundError) as caught:
        client.messages.create(model="no-such-model", max_tokens=10, messages=order("{}"))
    assert "no-such-model" in caught.value.body["error"]["message"]


def test_the_models_of_the_dialect_are_listed():
    client = anthropic.Anthropic(base_url=GATEWAY, api_key="k", max_retries=0)
    assert "claude-test" in [model.id for model in client.models.list()]


def test_a_client_that_leaves_is_noticed_by_the_provider_at_once():
    client = anthropic.Anthropic(base_url=GATEWAY, api_key="k", max_retries=0)
    before = {name: stats(name)["cancelled"] for name in PROVIDERS}
    stream = client.messages.create(
        model="claude-test", max_tokens=3000, messages=order('{"tokens":2000,"gapMs":20}'), stream=True
    )
    for event in stream:
        if event.type == "content_block_delta":
            break
    left = time.time() * 1000
    stream.close()
    name = eventually(lambda: next((name for name in PROVIDERS if stats(name)["cancelled"] > before[name]), None))
    assert stats(name)["cancels"][-1]["atUnixMs"] - left < 100


def test_a_cut_stream_is_an_error_and_never_a_clean_end(anthropic_client):
    with pytest.raises(Exception) as caught:
        with anthropic_client.messages.stream(
            model="claude-test", max_tokens=100, messages=order('{"tokens":20,"fault":{"cutAtToken":5}}')
        ) as stream:
            list(stream)
    assert not isinstance(caught.value, AssertionError)
