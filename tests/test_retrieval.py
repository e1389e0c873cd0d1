"""Retrieval as a whole: what is left out when a part fails, is late, or says the same."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syncs import TODAY, rows, sync

from enrich.embedders import load
from enrich.models import Embedder, EmbeddingFailed
from search.glossary import Glossary, Term
from search.queries import NothingAsked
from search.request import (
    Candidate,
    NoActiveVersion,
    NoSuchVersion,
    OutOfTime,
    RetrievalPolicy,
    SearchRequest,
    SearchTrace,
)
from search.rerank import CrossEncoderReranker
from search.retrieval import retrieve
from store.database import Store
from store.errors import StoreError
from store.reader import Reader, Scope

REQUEST = SearchRequest(
    query="annual leave", tenant="acme", principals=("role:staff",), as_of=TODAY
)
POLICY = RetrievalPolicy(k=10)
RULE = "Every employee has fourteen days of annual leave a year, taken by the end of March."


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text(f"# Leave\n\n{RULE}\n")
    (folder / "copy.md").write_text(f"# Leave\n\n{RULE}\n\n# Annex\n\nAnnual forms.\n")
    (folder / "errors.md").write_text("# Errors\n\nERR_4021 means that the token has expired.\n")
    (folder / "pto.md").write_text("# Time off\n\nPaid time off is asked for in the portal.\n")
    return folder


@pytest.fixture
def indexed(store: Store, docs: Path) -> Store:
    sync(store, docs)
    return store


def ask(
    store: Store, query: str = REQUEST.query, policy: RetrievalPolicy = POLICY, **more: Any
) -> tuple[list[Candidate], SearchTrace]:
    embedder_for = more.pop("embedder_for", load)
    known = {name: more.pop(name) for name in ("glossary", "writer", "reranker") if name in more}
    request = replace(REQUEST, query=query, **more)
    return retrieve(store, request, policy, embedder_for, **known)


class Broken:
    """An embedder that fails, or answers when it is let."""

    def __init__(self, error: Exception | None = None, gate: threading.Event | None = None) -> None:
        self.card = load("hashing:64").card
        self.tokenizer = load("hashing:64").tokenizer
        self._error, self._gate = error, gate

    def embed_passages(self, texts: Sequence[str]) -> Any:
        raise NotImplementedError

    def embed_query(self, text: str) -> Any:
        if self._gate is not None:
            self._gate.wait(30)
        if self._error is not None:
            raise self._error
        return load("hashing:64").embed_query(text)


def failing(code: str = "server_error") -> Embedder:
    return Broken(EmbeddingFailed(code, transient=True))


def refuse(*_: Any, **__: Any) -> Any:
    raise StoreError("XX000")


# --- one part fails -------------------------------------------------------------------------------


def test_a_dead_embedder_leaves_the_text_search(indexed: Store) -> None:
    found, trace = ask(indexed, embedder_for=lambda name: failing())
    assert found and all(set(c.ranks) == {"text"} for c in found)
    assert trace.warnings == ["dense: the embedder failed (server_error)"]
    found, trace = ask(indexed, embedder_for=lambda name: Broken(RuntimeError("annual leave")))
    assert found and trace.warnings == ["dense: the embedder failed (RuntimeError)"]


def test_vectors_of_another_model_are_refused_by_the_database(indexed: Store) -> None:
    other = Broken()
    other.card = replace(other.card, revision="another")
    found, trace = ask(indexed, embedder_for=lambda name: other)
    assert found and trace.warnings == ["dense: the database failed (MU005)"]


def test_a_text_search_that_fails_leaves_the_dense_one(
    indexed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reader, "text", refuse)
    found, trace = ask(indexed)
    assert found and all(set(c.ranks) == {"dense"} for c in found)
    assert trace.warnings == ["text: the database failed (XX000)"]


def test_when_both_fail_the_search_fails_and_says_no_word_of_the_question(
    indexed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reader, "text", refuse)
    with pytest.raises(StoreError) as failed:
        ask(indexed, embedder_for=lambda name: failing())
    assert "leave" not in str(failed.value)
    with pytest.raises(EmbeddingFailed, match="server_error"):
        ask(indexed, policy=replace(POLICY, text=False), embedder_for=lambda name: failing())
    with pytest.raises(EmbeddingFailed) as unknown:
        ask(
            indexed,
            policy=replace(POLICY, text=False),
            embedder_for=lambda name: Broken(ValueError("annual leave")),
        )
    assert "leave" not in str(unknown.value) and unknown.value.__cause__ is None
    assert unknown.value.__context__ is None


def test_a_retriever_can_be_left_out(indexed: Store) -> None:
    for off, left in (("dense", "text"), ("text", "dense")):
        found, trace = ask(indexed, policy=replace(POLICY, **{off: False}))
        assert found and set(trace.plans) == {left} and trace.warnings == []


# --- the time limit -------------------------------------------------------------------------------


def test_a_slow_embedder_is_not_waited_for_beyond_the_time_limit(indexed: Store) -> None:
    gate = threading.Event()
    begun = time.monotonic()
    found, trace = ask(
        indexed, policy=replace(POLICY, seconds=1.0), embedder_for=lambda name: Broken(gate=gate)
    )
    assert time.monotonic() - begun < 25
    gate.set()
    assert found and set(trace.plans) == {"text"}
    assert trace.fallbacks == ["dense: the embedder was not done within the time limit"]
    assert trace.warnings == []


def test_a_slow_statement_is_cancelled_and_the_other_half_answers(
    indexed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(reader: Reader, *_: Any) -> Any:
        return reader.connection.execute("select pg_sleep(60)").fetchall()

    monkeypatch.setattr(Reader, "dense", sleep)
    begun = time.monotonic()
    found, trace = ask(indexed, policy=replace(POLICY, seconds=2.0))
    assert time.monotonic() - begun < 30
    assert found and set(trace.plans) == {"text"}
    assert trace.fallbacks == ["dense: the database was not done within the time limit"]
    with pytest.raises(OutOfTime):
        ask(indexed, policy=replace(POLICY, seconds=0.5, text=False))


def test_without_a_limit_everything_is_waited_for(indexed: Store) -> None:
    gate = threading.Event()
    threading.Timer(0.2, gate.set).start()
    _, trace = ask(indexed, embedder_for=lambda name: Broken(gate=gate))
    assert set(trace.plans) == {"dense", "text"} and trace.fallbacks == []


# --- variants and the trace -----------------------------------------------------------------------

GLOSSARY = Glossary([Term(term="PTO", means=("paid time off", "nghỉ phép có lương"))])


def test_the_glossary_finds_what_the_question_does_not_say(indexed: Store) -> None:
    only_text = replace(POLICY, dense=False)
    assert "pto.md" not in {c.uri for c in ask(indexed, "PTO request", only_text)[0]}
    found, trace = ask(indexed, "PTO request", only_text, glossary=GLOSSARY)
    assert found[0].uri == "pto.md"
    assert trace.variants == {"original": 1, "glossary": 2}
    assert [(r.retriever, r.variant, r.kind) for r in trace.rankings] == [
        ("text", 0, "original"), ("text", 1, "glossary"), ("text", 2, "glossary"),
    ]  # fmt: skip
    assert [r.weight for r in trace.rankings] == [0.25, 0.125, 0.125]


def test_the_original_is_searched_too_and_an_exact_look_up_alone(indexed: Store) -> None:
    _, trace = ask(indexed, "PTO days", glossary=GLOSSARY)
    assert {(r.retriever, r.variant) for r in trace.rankings} >= {("dense", 0), ("text", 0)}
    found, trace = ask(indexed, "ERR_4021", glossary=GLOSSARY)
    assert trace.exact_lookup and trace.variants == {"original": 1}
    assert found[0].uri == "errors.md"


def test_a_models_variants_are_used_where_one_is_given(indexed: Store) -> None:
    asked: list[SearchRequest] = []

    class Writer:
        def write(self, request: SearchRequest) -> list[str]:
            asked.append(request)
            return ["paid time off portal"]

    policy = replace(POLICY, dense=False)
    found, trace = ask(indexed, "how do I book it?", policy, writer=Writer(), summary="holidays")
    assert found[0].uri == "pto.md" and trace.variants == {"original": 1, "written": 1}
    assert asked[0].summary == "holidays"
    _, trace = ask(indexed, "how do I book it?", writer=Writer())
    assert {(r.retriever, r.kind) for r in trace.rankings} >= {
        ("dense", "written"),
        ("text", "written"),
    }

    class Failing:
        def write(self, request: SearchRequest) -> list[str]:
            raise RuntimeError(request.query)

    found, trace = ask(indexed, writer=Failing())
    assert found and trace.warnings == ["variants: the model failed (RuntimeError)"]


def test_the_trace_holds_ids_counts_and_times_and_text_only_where_it_may(indexed: Store) -> None:
    found, trace = ask(indexed, "annual PTO", glossary=GLOSSARY)
    written = json.dumps(trace.to_json())
    for word in ("annual", "PTO", "paid time", "employee", "leave.md"):
        assert word not in written
    assert set(trace.seconds) == {"embed", "text", "dense", "fuse", "read", "total"}
    assert trace.plans == {"dense": "exact", "text": "direct"}
    assert trace.fused[0][0] == found[0].chunk_id
    by_name = {(r.retriever, r.variant): dict(r.chunks) for r in trace.rankings}
    for candidate in found:
        for retriever, score in candidate.scores.items():
            assert score in {
                hits.get(candidate.chunk_id)
                for (name, _), hits in by_name.items()
                if name == retriever
            }
    _, trace = ask(indexed, "annual PTO", replace(POLICY, trace_text=True), glossary=GLOSSARY)
    assert trace.variant_texts == [
        "annual PTO",
        "annual paid time off",
        "annual nghỉ phép có lương",
    ]


def test_quotes_and_minus_reach_the_database_and_the_question_keeps_the_quoted_words(
    indexed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Scope]] = []

    def text(reader: Reader, version: int, question: str, k: int, scope: Scope) -> list[Any]:
        asked.append((question, scope))
        return []

    monkeypatch.setattr(Reader, "text", text)
    ask(indexed, '“annual leave” rules for interns -forms -"time off"', replace(POLICY, dense=False),
        scope=Scope(collections=("default",), without=("salary",)))  # fmt: skip
    question, scope = asked[0]
    assert question == "annual leave rules for interns"
    assert scope.phrases == ("annual leave",)
    assert scope.without == ("salary", "time off", "forms")
    assert scope.collections == ("default",)


def test_quoted_words_that_stand_nowhere_are_searched_as_words(
    indexed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Reader.text

    def text(reader: Reader, version: int, question: str, k: int, scope: Scope) -> list[Any]:
        return [] if scope.phrases else whole(reader, version, question, k, scope)

    monkeypatch.setattr(Reader, "text", text)
    found, trace = ask(indexed, '"leave annual"', replace(POLICY, dense=False))
    assert found and trace.fallbacks[0].startswith("quotes: ")
    assert len(trace.rankings) == 1
    nothing, trace = ask(indexed, '"leave annual"', replace(POLICY, dense=False),
                         scope=Scope(phrases=("elsewhere",)))  # fmt: skip
    assert nothing == [] and trace.fallbacks == []


def test_a_question_of_nothing_is_refused_before_the_database_is_asked(store: Store) -> None:
    for query in ("", "-leave", '""'):
        with pytest.raises(NothingAsked):
            ask(store, query)
    with pytest.raises(NoActiveVersion):
        ask(store, "leave")


# --- twins ----------------------------------------------------------------------------------------


def test_what_says_the_same_is_shown_once_and_names_its_twins(indexed: Store) -> None:
    every, _ = ask(indexed, policy=replace(POLICY, collapse=False))
    once, trace = ask(indexed)
    twins = {c.chunk_id for c in every if RULE in c.text}
    assert len(twins) == 2
    (kept,) = [c for c in once if RULE in c.text]
    assert {kept.chunk_id, *kept.duplicates} == twins
    assert trace.collapsed == {kept.duplicates[0]: kept.chunk_id}
    assert len(once) == len(every) - 1


def test_twins_do_not_take_the_place_of_other_results(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(12):
        (folder / f"copy {chr(97 + number)}.md").write_text("# Leave\n\nAnnual leave is paid.\n")
    for name in ("one", "two", "three"):
        (folder / f"{name}.md").write_text(f"# Other\n\nRule {name} on leave.\n")
    sync(store, folder)
    found, _ = ask(store, "annual leave", replace(POLICY, k=4))
    assert len(found) == 4
    assert len(found[0].duplicates) == 11


# --- reranking ------------------------------------------------------------------------------------


class ByLength:
    """The longest text first."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        assert query == "annual leave"
        return [float(len(text)) for text in texts]


def test_a_reranker_orders_the_best_candidates(indexed: Store) -> None:
    fused, _ = ask(indexed)
    found, trace = ask(indexed, reranker=ByLength())
    lengths = [c.scores["rerank"] for c in found]
    assert lengths == sorted(lengths, reverse=True) and len(found) == len(fused)
    assert [c.ranks["rerank"] for c in found] == list(range(1, len(found) + 1))
    assert [chunk for chunk, _ in trace.reranked] == [c.chunk_id for c in found]
    assert [c.score for c in fused] != [c.score for c in found], "another order"
    first, _ = ask(indexed, policy=replace(POLICY, k=1, rerank_depth=10), reranker=ByLength())
    assert first[0].chunk_id == found[0].chunk_id, "looked at more than is shown"


@pytest.mark.parametrize(
    ("scores", "code"),
    [
        ([1.0], "wrong_count"),
        ([float("nan")] * 4, "bad_score"),
        (RuntimeError("leave"), "RuntimeError"),
    ],
)
def test_a_reranker_that_fails_leaves_the_fused_order(
    indexed: Store, scores: Any, code: str
) -> None:
    class Wrong:
        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            if isinstance(scores, Exception):
                raise scores
            return list(scores)

    fused, _ = ask(indexed)
    found, trace = ask(indexed, reranker=Wrong())
    assert found == fused
    assert trace.warnings == [f"rerank: the model failed ({code}), the fused order stays"]


def test_a_reranker_that_is_late_leaves_the_fused_order(indexed: Store) -> None:
    gate = threading.Event()

    class Slow:
        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            gate.wait(30)
            return [0.0] * len(texts)

    ask(indexed)
    found, trace = ask(indexed, policy=replace(POLICY, seconds=2.0), reranker=Slow())
    gate.set()
    assert found and trace.reranked == []
    assert trace.fallbacks == ["rerank: not done within the time limit"]


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny cross-encoder with random weights."""
    pytest.importorskip("sentence_transformers")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: n for n, word in enumerate([*special, *"abcdefghijklmnopqrstuvwxyz"])}
    words = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("cross-encoder")
    PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", model_max_length=64,
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(5)
    BertForSequenceClassification(
        BertConfig(
            vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=64, num_labels=1,
        )
    ).save_pretrained(folder)  # fmt: skip
    return folder


def test_a_cross_encoder_of_the_users_reranks(indexed: Store, cross_encoder: Path) -> None:
    from search.rerank import load_reranker

    reranker = load_reranker(str(cross_encoder))
    assert isinstance(reranker, CrossEncoderReranker)
    assert load_reranker(str(cross_encoder)) is reranker
    texts = ["annual leave", "x", "leave " * 300]
    scores = reranker.score("annual leave", texts)
    assert len(scores) == 3 and len({round(s, 6) for s in scores}) > 1
    assert np.allclose(scores, reranker.score("annual leave", texts), atol=1e-5)
    found, trace = ask(indexed, reranker=reranker)
    assert trace.warnings == [] and len(trace.reranked) == len(found) == 4


def test_a_reranker_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    from enrich.models import ModelUnavailable
    from search.rerank import load_reranker

    with pytest.raises(ModelUnavailable, match="hf download"):
        load_reranker("nobody/no-such-reranker")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelUnavailable, match="cross-encoder"):
        load_reranker(str(tmp_path / "empty"))


# --- versions -------------------------------------------------------------------------------------


def test_a_version_can_be_named_while_it_is_ready_or_being_built(indexed: Store) -> None:
    (name,) = [row["name"] for row in rows(indexed, "select name from mucluc.index_version")]
    found, trace = ask(indexed, version=name)
    assert found and trace.version == name
    for state, there in (("building", True), ("retired", False), ("dropped", False)):
        with indexed.transaction() as connection:
            connection.execute("update mucluc.index_version set state = %s", [state])
        if there:
            assert ask(indexed, version=name)[0]
            assert ask(indexed, version=name, principals=("role:nobody",))[0] == []
            continue
        with pytest.raises(NoSuchVersion):
            ask(indexed, version=name)
    with pytest.raises(NoSuchVersion):
        ask(indexed, version="v99")
    with pytest.raises(NoSuchVersion):
        ask(indexed, version=name, index="other")


# --- quotes and minus, to the end -----------------------------------------------------------------


def test_quoted_words_must_stand_together_and_excluded_ones_nowhere(indexed: Store) -> None:
    assert {c.uri for c in ask(indexed, '"paid time off" leave')[0]} == {"pto.md"}
    left = ask(indexed, "leave -fourteen")[0]
    assert "leave.md" in {c.uri for c in ask(indexed, "leave", replace(POLICY, collapse=False))[0]}
    assert left and not [c for c in left if "fourteen" in c.text]
    nowhere, trace = ask(indexed, '"paid off time"')
    assert nowhere and trace.fallbacks[0].startswith("quotes: ")
