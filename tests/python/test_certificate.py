"""The checker of certificates under drawn mutations: accepted, rejected or no certificate, in one line."""

import copy
import importlib.util
import json
import pathlib
import random

import pytest

checker_file = pathlib.Path(__file__).resolve().parents[2] / "theorems/topic/tests/check_certificate.py"
spec = importlib.util.spec_from_file_location("check_certificate", checker_file)
checker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checker)

# What no field holds: types, forms, sizes. (A number may be another one: a lower bound that is less is true.)
strange = [None, True, [], {}, "", "x", "1e1000000000", "1/0", "0.5", float("inf"), float("nan"), 1e200,
           10**60, "7" * 5000, ["0", "1", "2"], [["0"]], {"alpha": 1}]


@pytest.fixture(scope="module")
def certificate(program, tmp_path_factory):
    file = tmp_path_factory.mktemp("certificate") / "c.json"
    status, out, _ = program("landscape", "topic", "--T=3", "--tau=2", "--v=2", "--at=1,1/2", "--at=3,3", "-o", file)
    assert status == 0, out
    return json.loads(file.read_text())


def verdict(text, folder):
    file = folder / "changed.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    said, status = checker.verdict(file)
    first, *rest = said.split("\n")
    assert (first == "accepted") == (status == 0) and status in (0, 1, 2)
    assert status == 0 or not rest
    assert "Error" not in said and "Traceback" not in said
    return status, said


def places(node, path=()):
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, item in items:
        yield from places(item, path + (key,))


def without_numbers(node):
    if isinstance(node, dict):
        return {key: without_numbers(item) for key, item in node.items()}
    if isinstance(node, list):
        return [without_numbers(item) for item in node]
    is_text = isinstance(node, str) and not node.strip("-").replace("/", "").replace(".", "").isdigit()
    return node if is_text or node is None or isinstance(node, bool) else "number"


def parent_of(data, path):
    for key in path[:-1]:
        data = data[key]
    return data


def test_what_was_made_is_accepted(certificate, tmp_path):
    assert verdict(json.dumps(certificate), tmp_path)[0] == 0


def test_a_field_of_another_kind_is_refused(certificate, tmp_path):
    draw = random.Random(1)
    where = [path for path in places(certificate) if path and path[0] not in ("version", "command", "points")]
    for path in draw.sample(where, 60) + [("points",), ("points", 0), ("points", 1, "value")]:
        for value in draw.sample(strange, 5):
            if path == ("points",) and value == []:
                continue
            data = copy.deepcopy(certificate)
            parent_of(data, path)[path[-1]] = value
            status, said = verdict(json.dumps(data), tmp_path)
            assert status != 0, (path, value)


def test_fields_that_are_more_less_or_twice_are_refused(certificate, tmp_path):
    draw = random.Random(2)
    inside = [path for path in places(certificate) if path]
    objects = [path for path in places(certificate) if isinstance(
        parent_of(certificate, path + (0,)) if path else certificate, dict)]
    for path in draw.sample(inside, 60):
        less = copy.deepcopy(certificate)
        if isinstance(parent_of(less, path), dict):
            del parent_of(less, path)[path[-1]]
            assert verdict(json.dumps(less), tmp_path)[0] != 0, path
    for path in objects:
        more = copy.deepcopy(certificate)
        (parent_of(more, path + (0,)) if path else more)["remark"] = "1"
        assert verdict(json.dumps(more), tmp_path)[0] != 0, path
    text = json.dumps(certificate)
    for name in ("lower", "upper", "minimum", "value", "T", "p_m", "minimisers", "points", "certificate", "W_V"):
        twice = text.replace(f'"{name}": ', f'"{name}": "1", "{name}": ', 1)
        status, said = verdict(twice, tmp_path)
        assert status == 2 and f"'{name}' occurs twice" in said


@pytest.mark.parametrize("path, value", [
    (("parameters", "tau"), 100), (("parameters", "p_c"), "-1/2"), (("parameters", "p_r"), "9/5"),
    (("parameters", "p_m"), "0"), (("parameters", "v"), 0), (("parameters", "T"), 10**9), (("parameters", "T"), True),
    (("certificate", "on_line"), "false"), (("certificate", "on_line"), 1), (("points",), {}),
    (("certificate", "box", "alpha"), ["1", "1"]), (("certificate", "box", "beta"), ["0", "1", "2"]),
    (("certificate", "leaves"), []), (("certificate", "leaves", 0), ["A", "above", "x"]),
    (("points", 1, "value"), float("inf")), (("points", 1, "alpha"), 1e200), (("points", 0, "alpha"), 1.0),
    (("certificate", "lower"), "1e1000000000"), (("value",), "mixture:1e1000000000"), (("value",), "x\naccepted"),
    (("minimum", "value"), float("-inf")), (("certificate", "evidence"), "certified"),
])
def test_known_ways_around_are_closed(certificate, tmp_path, path, value):
    data = copy.deepcopy(certificate)
    parent_of(data, path)[path[-1]] = value
    assert verdict(json.dumps(data), tmp_path)[0] in (1, 2)


def test_what_is_no_json_is_no_certificate(certificate, tmp_path):
    draw = random.Random(3)
    # Draws are at the same places whatever the version is.
    text = json.dumps({**certificate, "command": "", "version": ""}).encode()
    for wrong in (b"", b"{}", b"[]", b"3", b"[" * 100000, b'{"a":' * 100000, b"\xff\xfe", text + b"{}", text + b"\0"):
        assert verdict(wrong, tmp_path)[0] == 2
    assert checker.verdict(tmp_path / "none.json")[1] == 2
    assert checker.verdict(tmp_path)[1] == 2
    for _ in range(60):  # of bytes: mostly no JSON, else another number
        changed = bytearray(text)
        at = draw.randrange(len(changed))
        if draw.random() < 0.5:
            changed[at] = draw.randrange(256)
        else:
            del changed[at:at + draw.randrange(1, 9)]
        status, _ = verdict(bytes(changed), tmp_path)
        if status == 0:  # only remarks, spaces, and numbers that are true as well, such as a lower bound that is less
            remade = json.loads(changed)
            remade["command"], remade["version"] = certificate["command"], certificate["version"]
            assert without_numbers(remade) == without_numbers(certificate)
