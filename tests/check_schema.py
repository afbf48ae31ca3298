#!/usr/bin/env python3
"""Holds a JSON document of popgrad to the schema that it names: tests/check_schema.py FILE...

Schemas are the *.schema.json under src, or in the folder that POPGRAD_SCHEMAS names. Exit status 0: valid;
1: not, with the place in the document; 2: no document, or of no known schema.
"""
import json
import os
import pathlib
import sys

import jsonschema


def schemas():
    root = os.environ.get("POPGRAD_SCHEMAS", pathlib.Path(__file__).parent.parent / "src")
    found = [json.loads(path.read_text()) for path in pathlib.Path(root).rglob("*.schema.json")]
    return {schema["$id"]: schema for schema in found}


def main(files):
    known = schemas()
    for file in files:
        try:
            document = json.loads(pathlib.Path(file).read_text())
            schema = known["urn:" + document["schema"].replace("popgrad/", "popgrad:schema:").replace("/", ":")]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            print(f"{file}: no document of a known schema: {error!r}")
            return 2
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        resolver = jsonschema.RefResolver.from_schema(schema, store=known)
        for error in kind(schema, resolver=resolver).iter_errors(document):
            print(f"{file}: {'/'.join(map(str, error.absolute_path)) or 'document'}: {error.message[:200]}")
            return 1
        print(f"{file}: valid, {document['schema']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
