"""Holds plans and predictions against the schemas: check_schema.py PLAN_SCHEMA RESULT_SCHEMA
PLAN.yaml... RESULT.json..., and the plan schema against plans that it must refuse."""
import copy
import json
import sys

import jsonschema
import yaml

wrong = 0


def say(*words):
    global wrong
    wrong += 1
    print(*words)


def validator(path):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


plan_schema, result_schema = validator(sys.argv[1]), validator(sys.argv[2])
plans = []
results = 0
for path in sys.argv[3:]:
    with open(path, encoding="utf-8") as file:
        value = yaml.safe_load(file) if path.endswith(".yaml") else json.load(file)
    schema = plan_schema if path.endswith(".yaml") else result_schema
    for error in schema.iter_errors(value):
        place = "/".join(str(part) for part in error.absolute_path)
        best = jsonschema.exceptions.best_match([error])
        say(f"{path}: {place}: {best.message[:200]}")
    if schema is plan_schema:
        plans.append(value)
    else:
        results += 1
        value["memory"]["unheard_of"] = 1
        if result_schema.is_valid(value):
            say(f"{path}: a member that no table has is let through")

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
