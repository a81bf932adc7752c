"""Where the gateway and the scripted providers are, and clients for both."""

import json
import os
import time
import urllib.request

import anthropic
import openai
import pytest

GATEWAY = os.environ["HEDGEROW_GATEWAY"]
PROVIDERS = json.loads(os.environ["HEDGEROW_PROVIDERS"])
CANNED = os.environ["HEDGEROW_CANNED"]


def stats(name: str) -> dict:
    """What a scripted provider has counted."""
    with urllib.request.urlopen(PROVIDERS[name] + "/__sim/stats", timeout=5) as answer:
        return json.load(answer)


def seen(name: str) -> int:
    """How often the provider of canned answers was asked for this."""
    with urllib.request.urlopen(CANNED + "/seen", timeout=5) as answer:
        return json.load(answer).get(name, 0)


def both(run):
    """What `run` gives directly at the provider of canned answers, which through the gateway must be the same."""
    direct, through = run(CANNED), run(GATEWAY)
    assert through == direct
    return direct


def eventually(condition, seconds: float = 5.0):
    """The first true value of `condition`, looked at until `seconds` are over."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"did not become true within {seconds} s"
        time.sleep(0.005)


@pytest.fixture(params=["direct", "gateway"])
def openai_client(request):
    """An OpenAI client straight to a provider, then one through the gateway."""
    base = PROVIDERS["openai-a"] if request.param == "direct" else GATEWAY
    with openai.OpenAI(base_url=base + "/v1", api_key="client-key", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture(params=["direct", "gateway"])
def anthropic_client(request):
    """An Anthropic client straight to a provider, then one through the gateway."""
    base = PROVIDERS["anthropic-a"] if request.param == "direct" else GATEWAY
    with anthropic.Anthropic(base_url=base, api_key="client-key", max_retries=0, timeout=20) as client:
        yield client
