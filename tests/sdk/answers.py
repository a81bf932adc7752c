"""Canned answers: whole, and as the frames of a stream, in each dialect.

A float among the frames is a pause in seconds. `BODY-HASH` in a whole answer becomes the hash of the request's bytes, so that
equal answers also prove equal requests.
"""

import json

KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    409: "conflict_error", 413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error",
    500: "api_error", 503: "api_error", 529: "overloaded_error",
}  # fmt: skip
JSON = '{"city":"Oslo","days":3}'


def error(dialect: str, status: int) -> dict:
    """An error in the dialect."""
    if dialect == "messages":
        return {"type": "error", "error": {"type": KINDS[status], "message": f"canned {status}"}, "request_id": "req_canned"}
    code = "rate_limit_exceeded" if status == 429 else None
    return {"error": {"message": f"canned {status}", "type": KINDS[status], "param": None, "code": code}}


def of(dialect: str, name: str) -> dict:
    """The answer of this name."""
    return {"completions": chat, "responses": responses, "messages": messages, "embeddings": embeddings, "count_tokens": count}[dialect](name)


def data(value: dict, event: str | None = None) -> str:
    """One frame."""
    return (f"event: {event}\n" if event else "") + f"data: {json.dumps(value)}\n\n"


def pieces(text: str) -> list[str]:
    """A text in pieces of three characters, as models send arguments."""
    return [text[at : at + 3] for at in range(0, len(text), 3)]


def chat(name: str) -> dict:
    """Chat completions: `plain`, `structured`, `parallel`, `pings`, and whatever else is plain."""
    head = {"id": "chatcmpl-1", "created": 1, "model": "canned", "system_fingerprint": "BODY-HASH"}
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    calls = [("call_1", "weather", '{"city":"Oslo"}'), ("call_2", "clock", '{"zone":"CET"}')]
    text = JSON if name == "structured" else "Good morning"
    message = {"role": "assistant", "content": text, "refusal": None}
    deltas = [{"content": piece} for piece in pieces(text)]
    finish = "stop"
    if name == "parallel":
        finish = "tool_calls"
        message["content"] = None
        message["tool_calls"] = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
        deltas = []
        for index, (call, function, arguments) in enumerate(calls):
            start = {"index": index, "id": call, "type": "function", "function": {"name": function, "arguments": ""}}
            deltas.append({"tool_calls": [start]})
            deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces(arguments)]
    chunk = {**head, "object": "chat.completion.chunk", "system_fingerprint": None}
    parts = [{"role": "assistant", "content": None}, *deltas]
    frames = [data({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in parts]
    if name == "pings":
        frames = [frame for each in frames for frame in (": ping\n\n", each, 0.2)]
    frames += [data({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})]
    frames += [data({**chunk, "choices": [], "usage": usage}), "data: [DONE]\n\n"]
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return {"whole": {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, "stream": frames}


def responses(name: str) -> dict:
    """Responses: `plain`, `structured`, `parallel`; each begins with a reasoning item."""
    text = JSON if name == "structured" else "Good morning"
    items = [{"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Let me see"}]}]
    if name == "parallel":
        for number, (function, arguments) in enumerate([("weather", '{"city":"Oslo"}'), ("clock", '{"zone":"CET"}')]):
            items.append({"id": f"fc_{number}", "call_id": f"call_{number}", "type": "function_call", "status": "completed", "name": function, "arguments": arguments})
    else:
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        items.append({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]})
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 13}
    whole = {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "error": None, "incomplete_details": None,
        "instructions": None, "metadata": {"hash": "BODY-HASH"}, "model": "canned", "output": items, "parallel_tool_calls": True,
        "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0, "usage": usage,
    }  # fmt: skip
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "metadata": {}}
    events: list[dict] = [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
    for index, item in enumerate(items):
        events += item_events(index, item)
    events.append({"type": "response.completed", "response": {**whole, "metadata": {}}})
    frames = [data({**event, "sequence_number": number}, event["type"]) for number, event in enumerate(events)]
    return {"whole": whole, "stream": frames}


def item_events(index: int, item: dict) -> list[dict]:
    """The events of one item of a Responses stream."""
    place = {"item_id": item["id"], "output_index": index}
    added = {key: value for key, value in item.items() if key not in ("content", "arguments", "summary")}
    empty = {"message": {"content": []}, "function_call": {"arguments": ""}, "reasoning": {"summary": []}}[item["type"]]
    events: list[dict] = [{"type": "response.output_item.added", "output_index": index, "item": {**added, **empty}}]
    if item["type"] == "message":
        part, spot = item["content"][0], {**place, "content_index": 0}
        events.append({"type": "response.content_part.added", **spot, "part": {**part, "text": ""}})
        events += [{"type": "response.output_text.delta", **spot, "delta": piece, "logprobs": []} for piece in pieces(part["text"])]
        events.append({"type": "response.output_text.done", **spot, "text": part["text"], "logprobs": []})
        events.append({"type": "response.content_part.done", **spot, "part": part})
    if item["type"] == "function_call":
        events += [{"type": "response.function_call_arguments.delta", **place, "delta": piece} for piece in pieces(item["arguments"])]
        events.append({"type": "response.function_call_arguments.done", **place, "name": item["name"], "arguments": item["arguments"]})
    if item["type"] == "reasoning":
        part, spot = item["summary"][0], {**place, "summary_index": 0}
        events.append({"type": "response.reasoning_summary_part.added", **spot, "part": {**part, "text": ""}})
        events += [{"type": "response.reasoning_summary_text.delta", **spot, "delta": piece} for piece in pieces(part["text"])]
        events.append({"type": "response.reasoning_summary_text.done", **spot, "text": part["text"]})
        events.append({"type": "response.reasoning_summary_part.done", **spot, "part": part})
    return [*events, {"type": "response.output_item.done", "output_index": index, "item": item}]


def messages(name: str) -> dict:
    """Messages: `plain`, `thinking`, `parallel`, `pings`."""
    blocks: list[dict] = [{"type": "text", "text": "Good morning"}]
    if name == "thinking":
        thought = {"type": "thinking", "thinking": "Let me see", "signature": "c2lnbmVk"}
        blocks = [thought, {"type": "redacted_thinking", "data": "aGlkZGVu"}, *blocks]
    if name == "parallel":
        blocks.append({"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}})
        blocks.append({"type": "tool_use", "id": "toolu_2", "name": "clock", "input": {"zone": "CET"}})
    stop = "tool_use" if name == "parallel" else "end_turn"
    usage = {"input_tokens": 9, "output_tokens": 4, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "canned", "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict | float] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        events += block_events(index, block)
    events += [{"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 4}}, {"type": "message_stop"}]
    if name == "pings":
        events = [each for event in events for each in ({"type": "ping"}, event, 0.2)]
    return {"whole": whole, "stream": [event if isinstance(event, float) else data(event, event["type"]) for event in events]}


def block_events(index: int, block: dict) -> list[dict]:
    """The events of one block of a Messages stream."""
    if block["type"] == "text":
        empty, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    elif block["type"] == "thinking":
        empty = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif block["type"] == "tool_use":
        empty = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(json.dumps(block["input"]))]
    else:
        empty, deltas = block, []
    start = {"type": "content_block_start", "index": index, "content_block": empty}
    return [start, *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas), {"type": "content_block_stop", "index": index}]


def embeddings(_: str) -> dict:
    """Two vectors, as the SDK asks for them: base64 of little-endian floats."""
    vectors = [{"object": "embedding", "index": index, "embedding": "AACAPwAAAEA="} for index in range(2)]
    usage = {"prompt_tokens": 4, "total_tokens": 4}
    return {"whole": {"object": "list", "model": "canned", "data": vectors, "usage": usage}, "stream": []}


def count(_: str) -> dict:
    """A token count."""
    return {"whole": {"input_tokens": 42}, "stream": []}
