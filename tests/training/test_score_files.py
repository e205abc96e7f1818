"""Files of scores: what is read, and that everything wrong is said, with its place, and no more."""

from __future__ import annotations

import io
import math
import pickle
import random
import sys
import zipfile

import numpy as np
import pytest

import tollens
from tollens.training.scores import files as score_files
from tollens.training.scores.audit import audit_scores, fixed_size_bounds
from tollens.training.scores.files import CanaryScores, PairScores, read_scores

PAIRS = "in,out\n1.5,0.25\n-2,1e-3\n3,.5\n"


def written(folder, name, content):
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, encoding="utf-8")
    return path


def findings(path):
    with pytest.raises(tollens.UsageError) as raised:
        read_scores(path)
    return raised.value.findings


# What is read


@pytest.mark.parametrize(
    "text",
    [
        PAIRS,
        PAIRS.replace(",", ";"),
        PAIRS.replace(",", "\t"),
        PAIRS.replace("\n", "\r\n"),
        "\ufeff" + PAIRS,
        PAIRS.replace("in,out", "With, Without"),
        PAIRS.replace("in,out", "Member,Non-Member"),
        PAIRS.replace("in,out", "x,x_prime"),
        PAIRS.replace("in,out", "a,b"),
        PAIRS.removeprefix("in,out\n"),
        "out,in,step\n0.25,1.5,1\n1e-3,-2,2\n.5,3,3\n",
        "name,in,out\nfirst,1.5,0.25\n\nsecond,-2,1e-3\nthird,3,.5",
        'in,out\n"1.5","0.25"\n -2 , 1e-3\n+3,.5\n',
    ],
)
def test_pairs_are_read(tmp_path, text):
    read = read_scores(written(tmp_path, "s.csv", text))
    assert isinstance(read, PairScores)
    assert read.inside.tolist() == [1.5, -2.0, 3.0]
    assert read.outside.tolist() == [0.25, 0.001, 0.5]


@pytest.mark.parametrize(
    "text",
    [
        "score,included\n0.5,1\n-1,0\n2,1\n",
        "included,score\n1,0.5\n0,-1\n1,2\n",
        "id,score,member\n7,0.5,True\n8,-1,false\n9,2,TRUE\n",
        "Score;Label\n0.5;1.0\n-1;0.0\n2;1\n",
        "score,in\n0.5,1\n-1,0\n2,1\n",
    ],
)
def test_canaries_are_read(tmp_path, text):
    read = read_scores(written(tmp_path, "s.CSV", text))
    assert isinstance(read, CanaryScores)
    assert read.scores.tolist() == [0.5, -1.0, 2.0]
    assert read.included.tolist() == [True, False, True]


def test_infinite_scores_are_read_and_remarked(tmp_path):
    read = read_scores(written(tmp_path, "s.csv", "in,out\ninf,-Infinity\n1,2\n"))
    assert read.inside[0] == math.inf
    assert "2 scores are infinite" in " ".join(read.remarks)


def test_how_the_columns_were_read_is_remarked(tmp_path):
    read = read_scores(written(tmp_path, "s.csv", "1,2\n3,4\n"))
    assert read.remarks == ("of s.csv, 'column 1' was read as in and 'column 2' as out",)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.float16, ">f8"])
def test_npy_pairs_are_read(tmp_path, kind):
    np.save(tmp_path / "s.npy", np.array([[1, 2], [3, 5]], dtype=kind))
    read = read_scores(tmp_path / "s.npy")
    assert (read.inside.tolist(), read.outside.tolist()) == ([1.0, 3.0], [2.0, 5.0])


def test_structured_npy_is_read_by_names(tmp_path):
    rows = np.array([(0.5, True), (1.5, False)], dtype=[("score", "f4"), ("included", "?")])
    np.save(tmp_path / "s.npy", rows)
    read = read_scores(tmp_path / "s.npy")
    assert read.included.tolist() == [True, False]
    assert read.scores.tolist() == [0.5, 1.5]


def test_parquet_is_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"step": [1, 2], "out": [0.5, 1.0], "in": [2, 3], "blob": [b"a", b"b"]})
    parquet.write_table(table, tmp_path / "s.parquet")
    read = read_scores(tmp_path / "s.parquet")
    assert (read.inside.tolist(), read.outside.tolist()) == ([2.0, 3.0], [0.5, 1.0])
    table = pa.table({"score": pa.array([1.0, 2.0], pa.float32()), "included": [True, False]})
    parquet.write_table(table, tmp_path / "c.parquet")
    read = read_scores(tmp_path / "c.parquet")
    assert read.included.tolist() == [True, False]


# What is refused, with its place


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("in,out\n", "has no rows of scores"),
        ("in,out\n1,2\n,3\n", "line 3, column 'in': no score (NaN or missing)"),
        ("in,out\n1,2\nnan,3\n", "line 3, column 'in': no score (NaN or missing)"),
        ("in,out\n1,2\n4,N/A\n", "line 3, column 'out': no score (NaN or missing)"),
        ("in,out\n1,abc\n", "line 2, column 'out': 'abc', which is no number"),
        ("in;out\n1,5;2\n", "'1,5', which is no number; write decimals with a point"),
        ("in,out\n1_0,2\n", "'1_0', which is no number"),
        ("in,out\n١,2\n", "which is no number"),
        ("in,out\n0x10,2\n", "'0x10', which is no number"),
        ("in,out\n1,2\n3\n", "line 3: 1 columns where the first line has 2"),
        ("in,out\n1,2\n3,4,5\n", "line 3: 3 columns where the first line has 2"),
        ("in,in,out\n1,2,3\n", "two columns are called in"),
        ("a,b,c\n1,2,3\n", "3 columns (a, b, c), 3 of them of numbers; give two columns"),
        ("a\n1\n", "1 columns (a), 1 of them of numbers"),
        ("a,b\nx,1\n", "2 columns (a, b), 1 of them of numbers"),
        ("0.5,1\n2,0\n", "column 2 holds only 0 and 1; is it membership or a score?"),
        ("score,included\n1,2\n", "line 2, column 'included': '2'; membership is 0, 1, true"),
        ("score,included\n1,\n", "membership is 0, 1, true or false"),
        ("score,included\n1,1\n2,1\n", "all 2 canaries are in; some must be in, some out"),
        ("score,included\n1,0\n2,0\n", "all 2 canaries are out"),
        ("score,included\nx,1\n1,0\n", "line 2, column 'score': 'x', which is no number"),
        ("in,out\n" + "1" * 500 + ",2\n", "which is no number"),
        ('in,out\n"' + "1" * 200_000, "field larger than field limit"),
        (",".join("a" * 300) + "\n", "300 columns; 200 are the most"),
        ("<html><body>404</body></html>\n", "1 columns"),
    ],
)
def test_what_is_wrong_in_a_csv_is_said(tmp_path, text, message):
    found = " | ".join(findings(written(tmp_path, "s.csv", text)))
    assert message in found
    assert "s.csv" in found


def test_all_findings_are_gathered_and_the_rest_counted(tmp_path):
    rows = "".join(f"x{i},{i}\n" for i in range(100))
    found = findings(written(tmp_path, "s.csv", "in,out\n" + rows))
    assert len(found) == 13
    assert found[-1] == "and 88 more of this kind"
    two = findings(written(tmp_path, "t.csv", "in,out\n,1\n2,3\n4,y\n"))
    assert len(two) == 2


def test_other_encodings_are_named(tmp_path):
    for content in ("in,out\n1,2\n".encode("utf-16"), "in,öut\n1,2\n".encode("latin-1")):
        assert "is not UTF-8 (byte " in findings(written(tmp_path, "s.csv", content))[0]


@pytest.mark.parametrize("name", ["s.csv", "s.npy", "s.parquet"])
def test_places_that_are_no_files(tmp_path, name):
    assert "does not exist" in findings(tmp_path / name)[0]
    (tmp_path / name).mkdir()
    assert "is no file" in findings(tmp_path / name)[0]


def test_ends_that_are_not_known(tmp_path):
    assert "ends in .csv, .parquet, .npy" in findings(written(tmp_path, "s.txt", "1"))[0]


@pytest.mark.parametrize("name", ["s.csv", "s.npy"])
def test_large_files_are_not_even_opened(tmp_path, name, monkeypatch):
    monkeypatch.setattr(score_files, "MOST_BYTES", 10)
    assert "is the most that is read" in findings(written(tmp_path, name, PAIRS))[0]


def test_too_many_rows_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(score_files, "MOST_ROWS", 2)
    assert "more than 2 rows" in findings(written(tmp_path, "s.csv", PAIRS))[0]
    np.save(tmp_path / "s.npy", np.zeros((3, 2)))
    assert "3 rows; 2 are the most" in findings(tmp_path / "s.npy")[0]


class Trap:
    """An object whose pickle runs code when it is read."""

    def __reduce__(self):
        return (sys.exit, ("it was run",))


def test_pickled_objects_are_refused_and_never_run(tmp_path):
    np.save(tmp_path / "s.npy", np.array([Trap(), 1], dtype=object), allow_pickle=True)
    assert "holds pickled Python objects" in findings(tmp_path / "s.npy")[0]
    rows = np.array([(1.0, Trap())], dtype=[("in", "f8"), ("out", "O")])
    np.save(tmp_path / "t.npy", rows, allow_pickle=True)
    assert "holds pickled Python objects" in findings(tmp_path / "t.npy")[0]
    assert "is no npy file" in findings(written(tmp_path, "u.npy", pickle.dumps(Trap())))[0]


def test_shapes_that_are_none_of_scores(tmp_path):
    for shape, hint in (((5,), ""), ((2, 5), "is it transposed?"), ((3, 2, 2), ""), ((), "")):
        np.save(tmp_path / "s.npy", np.zeros(shape))
        found = findings(tmp_path / "s.npy")[0]
        assert "has shape" in found
        assert hint in found
    np.save(tmp_path / "s.npy", np.array([[1.5, 0], [2.5, 1]]))
    assert "column 2 holds only 0 and 1" in findings(tmp_path / "s.npy")[0]
    np.save(tmp_path / "s.npy", np.zeros((3, 2), dtype=complex))
    assert "0 of them of numbers" in findings(tmp_path / "s.npy")[0]
    np.save(tmp_path / "s.npy", np.array([[1.0, math.nan], [2.0, 3.0]]))
    assert "row 1, column 2: no score" in findings(tmp_path / "s.npy")[0]
    np.save(tmp_path / "s.npy", np.zeros((0, 2)))
    assert "s.npy" in findings(tmp_path / "s.npy")[0]


def test_no_damaged_npy_or_csv_gets_further_than_a_usage_error(tmp_path):
    """Cut off anywhere, or with bytes changed, it is read or refused."""
    whole = io.BytesIO()
    np.save(whole, np.arange(40.0).reshape(20, 2))
    rng = random.Random(0)
    for name, content in (("s.npy", whole.getvalue()), ("s.csv", PAIRS.encode())):
        for turn in range(150):
            damaged = bytearray(content)
            if turn % 2:
                damaged = damaged[: rng.randrange(len(damaged))]
            for _ in range(rng.randrange(4)):
                if damaged:
                    damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            try:
                read_scores(written(tmp_path, name, bytes(damaged)))
            except tollens.UsageError as error:
                assert name in str(error)


def test_a_header_that_promises_more_than_there_is_takes_no_memory(tmp_path):
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000000, 2), }"
    padded = head + b" " * (118 - len(head) - 1) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + b"\x00" * 64
    assert "s.npy is damaged or cut off" in findings(written(tmp_path, "s.npy", content))[0]


def test_an_archive_of_arrays_is_no_npy_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "s.npy", "w") as archive:
        archive.writestr("a.npy", b"")
    assert "is no npy file" in findings(tmp_path / "s.npy")[0]


def test_parquet_that_is_wrong(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    assert "is no Parquet file" in findings(written(tmp_path, "s.parquet", b"PAR1" * 20))[0]
    parquet.write_table(pa.table({"in": [1.0, None], "out": [1, None]}), tmp_path / "s.parquet")
    found = findings(tmp_path / "s.parquet")
    assert "row 2, column 'in': no score" in found[0]
    assert "row 2, column 'out': no score" in found[1]
    parquet.write_table(pa.table({"in": ["a"], "out": [1.0]}), tmp_path / "s.parquet")
    assert "'a', which is no number" in findings(tmp_path / "s.parquet")[0]
    parquet.write_table(pa.table({"a": [[1.0]], "b": [1.0]}), tmp_path / "s.parquet")
    assert "1 of them of numbers" in findings(tmp_path / "s.parquet")[0]
    whole = bytearray((tmp_path / "s.parquet").read_bytes())
    rng = random.Random(1)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            read_scores(written(tmp_path, "t.parquet", bytes(damaged)))
        except tollens.UsageError as error:
            assert "t.parquet" in str(error)


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = findings(written(tmp_path, "s.parquet", b"PAR1"))
    assert 'pip install "tollens[parquet]"' in found[0]


# The audit of what was read


def test_arrays_are_audited_like_files(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(2.0, size=200), rng.normal(size=200)
    np.save(tmp_path / "s.npy", np.column_stack([x, y]))
    from_file = audit_scores(tmp_path / "s.npy", "epsilon=0.5", alpha=0.01)
    from_arrays = audit_scores(PairScores(x, y), "epsilon=0.5", alpha=0.01)
    assert from_file.log_e_value == from_arrays.log_e_value
    assert from_file.mechanism == "s.npy"
    stream = tollens.Audit("epsilon=0.5", alpha=0.01)
    stream.update(x, y)
    assert stream.log_e_value == from_file.log_e_value
    assert stream.epsilon_lower == from_file.epsilon_lower


@pytest.mark.parametrize("included", [None, True])
def test_verdicts_on_scores_turn_into_json_and_back(included):
    rng = np.random.default_rng(1)
    for shift in (0.0, 3.0):
        bits = rng.random(300) < 0.5
        scores = rng.normal(shift * bits)
        made = CanaryScores(scores, bits) if included else PairScores(scores + shift, scores[::-1])
        verdict = audit_scores(made, "epsilon=1, delta=1e-6", alpha=0.05)
        back = tollens.Verdict.from_json(verdict.to_json())
        assert back == verdict
        assert str(back) == str(verdict)


def test_a_verdict_on_one_run_tells_no_lies_about_pairs():
    rng = np.random.default_rng(2)
    bits = rng.random(400) < 0.5
    for scores in (rng.normal(3.0 * bits), rng.normal(size=400)):
        verdict = audit_scores(CanaryScores(scores, bits), "epsilon=1", alpha=0.05)
        assert (verdict.pairs, verdict.runs) == (0, 1)
        assert verdict.evidence.method == "one-run"
        text = str(verdict)
        assert "400 canaries of one run" in text
        assert "pairs of runs (refuted" not in text
        assert f"{bits.sum():,} of them in" in text
        assert "fair coin" in text


def test_scores_that_are_all_equal_decide_nothing():
    bits = np.arange(100) % 2 == 0
    verdict = audit_scores(CanaryScores(np.ones(100), bits), "epsilon=1", alpha=0.05)
    assert verdict.outcome is tollens.Outcome.UNDECIDED
    pairs = audit_scores(PairScores(np.ones(100), np.ones(100)), "epsilon=1", alpha=0.05)
    assert pairs.outcome is tollens.Outcome.UNDECIDED


def test_common_noise_is_on_the_callers_word():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=120)
    made = PairScores(1.0 + noise, noise)
    common = audit_scores(made, "epsilon=0.5", alpha=0.05, coupling="common")
    assert common.refuted
    assert not any("Gaussian fit" in note for note in common.notes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"claim": None}, "no claim was given; say what was promised"),
        ({"claim": 3}, "the claim is a int"),
        ({"alpha": 2}, "alpha is 2"),
        ({"delta": -1}, "delta is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"coupling": "auto"}, "coupling is 'auto'"),
        ({"scores": 5}, "scores is a int"),
        ({"scores": PairScores(np.ones(3), np.ones(4))}, "of shapes (3,) and (4,)"),
        ({"scores": PairScores(np.ones(3), np.full(3, math.nan))}, "must not be NaN"),
        ({"scores": CanaryScores(np.ones(3), np.array([1, 2, 0]))}, "included must hold true"),
        ({"scores": PairScores(np.ones(20), np.zeros(20)), "alpha": 1e-6}, "can never refute"),
    ],
)
def test_wrong_settings_are_said(settings, message):
    given = {"scores": PairScores(np.ones(3), np.ones(3)), "claim": "mu=1", **settings}
    with pytest.raises(tollens.UsageError) as raised:
        audit_scores(**given)
    assert message in str(raised.value)


def test_bounds_beside_a_verdict_are_labelled_and_can_be_left_out():
    rng = np.random.default_rng(4)
    pairs = PairScores(rng.normal(2.0, size=200), rng.normal(size=200))
    bits = rng.random(400) < 0.5
    canaries = CanaryScores(rng.normal(2.0 * bits), bits)
    for made, names in (
        (pairs, ("every size: normal", "Gaussian fit", "Clopper-Pearson", "Clopper-Pearson")),
        (canaries, ("binomial", "f-DP")),
    ):
        verdict = audit_scores(made, "epsilon=1", alpha=0.05)
        beside = [note for note in verdict.notes if note.startswith("not part of the verdict")]
        assert len(beside) == len(names)
        for note, name in zip(beside, names, strict=True):
            assert name in note
            assert "assumes" in note
        without = audit_scores(made, "epsilon=1", alpha=0.05, bounds=False)
        assert not any("not part of the verdict" in note for note in without.notes)
        of_fixed_size = [name for name in names if "every size" not in name]
        assert len(fixed_size_bounds(made)) == len(of_fixed_size)
    tiny = PairScores(np.arange(3.0), np.arange(3.0))
    assert fixed_size_bounds(tiny) == []
    endless = PairScores(np.array([math.inf, *pairs.inside]), np.array([0.0, *pairs.outside]))
    assert len(fixed_size_bounds(endless)) == 2
