"""Holds plans and predictions against the schemas: check_schema.py PLAN_SCHEMA RESULT_SCHEMA
PLAN.yaml... RESULT.json..., the plan schema against plans that it must refuse, and what other
commands write: NAME.schema beside NAME.*.out in the folder of the schemas."""
import copy
import glob
import json
import os
import sys

import jsonschema
import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same by libyaml, ten times as fast
wrong = 0

# Most of a result's thousands of members are numbers and words: those that hold are let through
# here, by the checks that jsonschema makes, without the objects that it makes for each.
LEAF = {"description", "default", "type", "minimum"}
CHECKS = jsonschema.Draft202012Validator.VALIDATORS


def holds(validator, value, schema):
    return (isinstance(schema.get("type"), str) and LEAF.issuperset(schema)
            and validator.is_type(value, schema["type"])
            and ("minimum" not in schema or value >= schema["minimum"]))


def properties(validator, schemas, value, schema):
    if isinstance(value, dict):
        schemas = {name: member for name, member in schemas.items()
                   if name in value and not holds(validator, value[name], member)}
    return CHECKS["properties"](validator, schemas, value, schema)


def any_of(validator, schemas, value, schema):
    if any(holds(validator, value, one) for one in schemas):
        return []
    return CHECKS["anyOf"](validator, schemas, value, schema)


Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator,
                                         {"properties": properties, "anyOf": any_of})


def say(*words):
    global wrong
    wrong += 1
    print(*words)


def validator(path):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return Validator(schema)


plan_schema, result_schema = validator(sys.argv[1]), validator(sys.argv[2])
plans = []
results = 0
seen = set()  # members of the results, by dotted name


def note_members(value, name=""):
    if isinstance(value, dict):
        for key, member in value.items():
            seen.add(name + key)
            note_members(member, f"{name}{key}.")
    elif isinstance(value, list):
        for item in value:
            note_members(item, name[:-1] + "[].")


for path in sys.argv[3:]:
    with open(path, encoding="utf-8") as file:
        value = yaml.load(file, Loader=LOADER) if path.endswith(".yaml") else json.load(file)
    schema = plan_schema if path.endswith(".yaml") else result_schema
    for error in schema.iter_errors(value):
        place = "/".join(str(part) for part in error.absolute_path)
        best = jsonschema.exceptions.best_match([error])
        say(f"{path}: {place}: {best.message[:200]}")
    if schema is plan_schema:
        plans.append(value)
    else:
        results += 1
        note_members(value)
        if results % 8 != 1:  # one table refuses them all
            continue
        value["memory"]["unheard_of"] = 1
        if result_schema.is_valid(value):
            say(f"{path}: a member that no table has is let through")

# The contract that programs rely on: each of its members is in one of these results at least.
with open(os.path.join(os.path.dirname(__file__), "contract.txt"), encoding="utf-8") as file:
    for line in file:
        group, members = line.split(":")
        for member in members.split():
            if f"{group}.{member}" not in seen:
                say(f"contract: no result has {group}.{member}")

# What the other commands write: each is held, and each with a member that nobody writes refused.
folder = os.path.dirname(sys.argv[1])
for name in ("run", "search", "pools", "frontier", "check", "compare", "validate", "explain", "report"):
    schema = validator(os.path.join(folder, f"{name}.schema"))
    written = sorted(glob.glob(os.path.join(folder, f"{name}.*.out")))
    if not written:
        say(f"{name}: nothing was written to check")
    for path in written:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        for error in schema.iter_errors(value):
            best = jsonschema.exceptions.best_match([error])
            place = "/".join(str(part) for part in error.absolute_path)
            say(f"{os.path.basename(path)}: {place}: {best.message[:200]}")
        changed = copy.deepcopy(value)
        (changed[0] if isinstance(changed, list) else changed)["unheard_of"] = []
        if schema.is_valid(changed):
            say(f"{os.path.basename(path)}: a member that no table has is let through")

if not plans or not results:
    say("no plan or no result to check")

# What the reader refuses, the schema refuses too.
BAD = [("workload", "micro_batch", -1), ("workload", "mode", "trane"), ("moe", "pth", "deepep"),
       ("workload", "sequence_length", 0), ("parallel", "zero", 4), ("memory", "fraction", 1.5),
       ("memory", "reserve", "2 GiBs"), ("parallel", "sp", "maybe"), ("moe", "buffer", -1),
       ("parallel", "order", {"a": 1})]
for group, key, value in BAD:
    plan = copy.deepcopy(plans[0]) if plans else {}
    plan.setdefault(group, {})[key] = value
    if plan_schema.is_valid(plan):
        say(f"{group}.{key}: {value!r} is let through")
plan = copy.deepcopy(plans[0]) if plans else {}
plan.pop("model", None)
if plan_schema.is_valid(plan):
    say("a plan without a model is let through")
sys.exit(wrong > 0)
