#!/usr/bin/env python3
"""Holds a JSON document of popgrad to the schema that it names: tests/check_schema.py FILE...

Schemas are the *.schema.json under src and theorems, or in the folder that POPGRAD_SCHEMAS names. A line a file, and the
highest of their exit statuses, 0: valid; 1: not, with the place in the document; 2: no document, or of no
known schema.
"""
import json
import os
import pathlib
import sys

import jsonschema


def schemas():
    here = pathlib.Path(__file__).parent.parent
    given = os.environ.get("POPGRAD_SCHEMAS")
    roots = [pathlib.Path(given)] if given else [here / "src", here / "theorems"]
    found = [json.loads(path.read_text()) for root in roots for path in root.rglob("*.schema.json")]
    return {schema["$id"]: schema for schema in found}


def check(file, known):
    """Status of one file and the line that says why."""
    try:
        document = json.loads(pathlib.Path(file).read_text())
        schema = known["urn:" + document["schema"].replace("popgrad/", "popgrad:schema:").replace("/", ":")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return 2, f"no document of a known schema: {error!r}"
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    resolver = jsonschema.RefResolver.from_schema(schema, store=known)
    for error in kind(schema, resolver=resolver).iter_errors(document):
        return 1, f"{'/'.join(map(str, error.absolute_path)) or 'document'}: {error.message[:200]}"
    return 0, f"valid, {document['schema']}"


def main(files):
    known = schemas()
    worst = 0
    for file in files:
        status, line = check(file, known)
        print(f"{file}: {line}")
        worst = max(worst, status)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
