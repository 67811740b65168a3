"""Each node of examples/dataflow that has a body, evaluated in numpy at small extents: what crates/graph/tests/nodes.rs compares with.

    python bench/graph_nodes.py            writes crates/graph/tests/fixtures/graph_nodes.json
    python bench/graph_nodes.py --check    says whether that file is what it would write

One rule makes extents small: one greater than 6 becomes 6. Where operands are parts of each other along a dimension (slices,
concatenations, padding), that is the whole's, and lengths and positions of parts are scaled with it, rounded down; a length is at least 1.
Of an attention at most two heads of keys stay, of queries at most three for each; of rows that are kept two groups of three columns.
Needs numpy alone.
"""

import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
GRAPHS = ROOT / "examples" / "dataflow"
FIXTURE = ROOT / "crates" / "graph" / "tests" / "fixtures" / "graph_nodes.json"
MOST = 6


def small(shape):
    return [min(extent, MOST) for extent in shape]


def part(length, whole):
    return max(1, length * MOST // whole) if whole > MOST else length


def position(at, whole):
    return at * MOST // whole if whole > MOST else at


def cut(name, attributes, inputs, outputs):
    """Small shapes, with attributes that fit them."""
    if name == "slice":
        assert all(step in (0, 1) for step in attributes["steps"])
        whole = inputs[0]
        starts = [position(at, e) for at, e in zip(attributes["starts"], whole)]
        output = [part(length, e) if step else min(length, MOST) for length, e, step in zip(outputs[0], whole, attributes["steps"])]
        return {**attributes, "starts": starts}, [small(whole)], [output]
    if name == "concat":
        axis, whole = attributes["axis"], outputs[0]
        own = [small(shape) for shape in inputs]
        for shape, full in zip(own, inputs):
            shape[axis] = part(full[axis], whole[axis])
        output = small(whole)
        output[axis] = sum(shape[axis] for shape in own)
        return attributes, own, [output]
    if name == "pad":
        whole = outputs[0]
        before = [position(at, e) for at, e in zip(attributes["before"], whole)]
        after = [position(at, e) for at, e in zip(attributes["after"], whole)]
        own = [part(length, e) for length, e in zip(inputs[0], whole)]
        output = [b + e + a for b, e, a in zip(before, own, after)]
        return {"before": before, "after": after}, [own], [output]
    if name in ("attention", "attention_gradient"):
        first = 1 if name == "attention_gradient" else 0
        heads, groups = inputs[first][1], inputs[first + 1][1]
        few = {groups: min(groups, 2)}
        few[heads] = few[groups] * min(heads // groups, 3)
        own = [[[s[0], few[s[1]], *small(s[2:])] for s in side] for side in (inputs, outputs)]
        return attributes, *own
    if name == "cached_mat_mul":
        (_, groups, rows, _), kept, new = inputs
        few, columns = min(groups, 2), min(kept[2] // groups, 3)
        length, start = min(kept[1], MOST), position(attributes["start"], kept[1])
        summed, made = (columns, length) if attributes["transpose_right"] else (length, columns)
        own = [[kept[0], few, min(rows, MOST), summed], [kept[0], length, few * columns], [kept[0], part(new[1], kept[1]), few * columns]]
        return {**attributes, "start": start}, own, [[*own[0][:3], made]]
    own = [small(shape) for shape in outputs]
    if name == "lower_pairs":
        axis = attributes["axis"]
        own[0][axis] = len(pairs(min(inputs[0][axis], MOST), attributes["diagonal"]))
    return attributes, [small(shape) for shape in inputs], own


def pairs(extent, diagonal):
    return [(i, j) for i in range(extent) for j in range(extent) if j <= i + diagonal]


def operand(place, shape, positive):
    at = np.arange(int(np.prod(shape)))
    values = ((at * 37 + place * 101 + 11) % 97) / 97.0 * 2.0 - 1.0
    return (np.abs(values) + 0.25 if positive else values).reshape(shape)


def positions(place, shape, extent):
    """Whole numbers below an extent."""
    return np.floor((operand(place, shape, False) + 1.0) / 2.0 * extent)


def sought(name, attributes, inputs, outputs):
    """Which operands are positions, and below what."""
    if name in ("gather", "scatter", "scatter_add"):
        whole, last = (inputs[0], len(inputs)) if name == "gather" else (outputs[0], len(inputs) - 1)
        return [(place, whole[attributes["axis"] + place - 1]) for place in range(1, last)]
    if name == "embedding_bag":
        return [(1, inputs[0][0]), (2, inputs[1][0])]
    return [(1, outputs[0][0]), (3, inputs[0][0])] if name == "embedding_bag_gradient" else []


def slope(name, at):
    """Of a function: at its argument for silu, else where its result is that."""
    if name == "silu":
        sigmoid = 1.0 / (1.0 + np.exp(-at))
        return sigmoid * (1.0 + at * (1.0 - sigmoid))
    return {"relu": lambda: (at > 0.0).astype(float), "sigmoid": lambda: at * (1.0 - at)}[name]()


def function(name, x):
    if isinstance(name, dict):
        return x ** name["power"]
    return {
        "relu": lambda: np.maximum(x, 0.0),
        "sigmoid": lambda: 1.0 / (1.0 + np.exp(-x)),
        "silu": lambda: x / (1.0 + np.exp(-x)),
        "neg": lambda: -x,
    }[name]()


def products(attributes, queries, keys):
    """Of the rows of queries and keys, scaled; queries see no keys after them where that is asked for."""
    scale = attributes.get("scale") or queries.shape[-1] ** -0.5
    scores = np.einsum("bhmd,bhnd->bhmn", queries, keys) * scale
    return np.where(np.tri(*scores.shape[2:]), scores, -np.inf) if attributes.get("causal") else scores


def attention(attributes, queries, keys, values):
    keys, values = (np.repeat(own, queries.shape[1] // own.shape[1], axis=1) for own in (keys, values))
    powers = np.exp(products(attributes, queries, keys))
    total = powers.sum(axis=-1)
    return [np.einsum("bhmn,bhne->bhme", powers / total[..., None], values), np.log(total)]


def attention_gradient(attributes, slope, queries, keys, values, result, logarithms, outputs):
    sharing = queries.shape[1] // keys.shape[1]
    keys, values = (np.repeat(own, sharing, axis=1) for own in (keys, values))
    weights = np.exp(products(attributes, queries, keys) - logarithms[..., None])
    of_weights = np.einsum("bhme,bhne->bhmn", slope, values)
    scale = attributes.get("scale") or queries.shape[-1] ** -0.5
    of_products = weights * (of_weights - (slope * result).sum(axis=-1, keepdims=True)) * scale
    own = [
        np.einsum("bhmn,bhnd->bhmd", of_products, keys),
        np.einsum("bhmn,bhmd->bhnd", of_products, queries),
        np.einsum("bhmn,bhme->bhne", weights, slope),
    ]
    # Of each head, or of those together that share keys.
    return [o if list(o.shape) == s else o.reshape(s[0], s[1], sharing, *s[2:]).sum(axis=2) for o, s in zip(own, outputs)]


def evaluated(name, attributes, x, outputs):
    if name == "attention":
        return attention(attributes, *x)[: len(outputs)]
    if name == "attention_gradient":
        return attention_gradient(attributes, *x, outputs)
    if name == "unary":
        return [function(attributes, x[0])]
    if name == "binary":
        of = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[attributes]
        return [np.broadcast_to(of(x[0], x[1]), outputs[0])]
    if name == "gradient":
        return [np.broadcast_to(x[0] * slope(attributes, x[1]), outputs[0])]
    if name == "gather":
        # Positions of neighbouring dimensions stay where these are.
        return [x[0][(slice(None),) * attributes["axis"] + tuple(own.astype(int) for own in x[1:])]]
    if name in ("scatter", "scatter_add"):
        assert all(own.ndim == 1 for own in x[1:-1])
        sums = np.broadcast_to(x[0], outputs[0]).copy()
        at = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}.get(attributes.get("kind", "add"))
        assert at, "of equal positions numpy promises no last one"
        at.at(sums, (slice(None),) * attributes["axis"] + tuple(own.astype(int) for own in x[1:-1]), x[-1])
        return [sums]
    if name == "cached_mat_mul":
        left, kept, new = x
        kept = kept.copy()
        kept[:, attributes["start"] : attributes["start"] + new.shape[1]] = new
        parts = kept.reshape(*kept.shape[:2], left.shape[1], -1)
        return [np.einsum("bgmd,bngd->bgmn" if attributes["transpose_right"] else "bgmn,bngd->bgmd", left, parts)]
    if name == "lower_pairs":
        rows, columns = np.array(pairs(x[0].shape[attributes["axis"]], attributes["diagonal"])).T
        return [x[0][(slice(None),) * attributes["axis"] + (rows, columns)]]
    if name == "embedding_bag":
        rows, chosen, begins = x[0], x[1].astype(int), x[2].astype(int)
        ends = [*begins[1:], len(chosen)]
        bag = np.concatenate([np.full(end - begin, own) for own, (begin, end) in enumerate(zip(begins, ends))])
        sums = np.stack([rows[chosen[begin:end]].sum(axis=0) for begin, end in zip(begins, ends)])
        return [sums, bag, np.zeros(len(begins)), np.zeros(len(begins))][: len(outputs)]
    if name == "embedding_bag_gradient":
        sums = np.zeros(outputs[0])
        np.add.at(sums, x[1].astype(int), x[0][x[3].astype(int)])
        return [sums]
    if name == "layer_normalization_gradient":
        given, data, mean, deviation, scale = x[:5]
        over, rows = tuple(range(attributes["axis"], data.ndim)), tuple(range(attributes["axis"]))
        normal, scaled = (data - mean) * deviation, given * scale
        along, level = (own.mean(axis=over, keepdims=True) for own in (scaled * normal, scaled))
        own = [deviation * (scaled - level - normal * along), (given * normal).sum(axis=rows), given.sum(axis=rows)]
        return own[: len(outputs)]
    if name == "mat_mul":
        # A bias, which alone has one dimension, comes last or first.
        x = [a for a in x if a.ndim > 1] + [a for a in x if a.ndim == 1]
        left = np.swapaxes(x[0], -1, -2) if attributes["transpose_left"] else x[0]
        right = np.swapaxes(x[1], -1, -2) if attributes["transpose_right"] else x[1]
        return [left @ right + (x[2] if len(x) > 2 else 0.0)]
    if name == "reduce":
        of = {"sum": np.sum, "mean": np.mean, "max": np.max}[attributes["kind"]]
        return [of(x[0], axis=tuple(attributes["axes"]), keepdims=attributes["keep"])]
    if name == "softmax":
        powers = np.exp(x[0] - x[0].max(axis=attributes["axis"], keepdims=True))
        return [powers / powers.sum(axis=attributes["axis"], keepdims=True)]
    if name == "layer_normalization":
        over = tuple(range(attributes["axis"], x[0].ndim))
        mean = x[0].mean(axis=over, keepdims=True)
        deviation = 1.0 / np.sqrt(x[0].var(axis=over, keepdims=True) + attributes["epsilon"])
        return [(x[0] - mean) * deviation * x[1] + x[2], mean, deviation][: len(outputs)]
    if name == "transpose":
        return [np.transpose(x[0], attributes["permutation"])]
    if name == "slice":
        taken = zip(attributes["starts"], attributes["steps"], outputs[0])
        return [x[0][np.ix_(*[at + step * np.arange(e) for at, step, e in taken])]]
    if name == "concat":
        return [np.concatenate(x, axis=attributes["axis"])]
    if name == "pad":
        return [np.pad(x[0], list(zip(attributes["before"], attributes["after"])))]
    raise ValueError(name)


def main():
    cases, places, nodes = [], {}, {}
    for file in sorted(GRAPHS.glob("*.json")):
        graph = json.loads(file.read_text())
        tensors = graph["tensors"]
        own = nodes[file.stem] = {}
        for node in graph["nodes"]:
            body = node.get("body")
            if body is None or body == "alias":
                continue
            ((name, attributes),) = [(body, {})] if isinstance(body, str) else body.items()
            shapes = [[tensors[t]["shape"] for t in node[side]] for side in ("inputs", "outputs")]
            attributes, inputs, outputs = cut(name, attributes, *shapes)
            known = [tensors[t].get("value") for t in node["inputs"]]
            key = json.dumps([name, attributes, inputs, outputs, known])
            if key not in places:
                positive = name == "unary" and isinstance(attributes, dict) and attributes["power"] < 0
                x = [operand(place, shape, positive) for place, shape in enumerate(inputs)]
                for place, extent in sought(name, attributes, inputs, outputs):
                    x[place] = positions(place, inputs[place], extent)
                if name == "embedding_bag":
                    x[2] = np.sort(x[2])
                    x[2][0] = 0
                x = [np.full(shape, float(value)) if value is not None else own_x for shape, value, own_x in zip(inputs, known, x)]
                found = evaluated(name, attributes, x, outputs)
                assert [list(array.shape) for array in found] == outputs, (file.stem, node["id"])
                places[key] = len(cases)
                values = [[float(f"{v:.10g}") for v in array.ravel()] for array in found]
                cases.append({"inputs": inputs, "outputs": outputs, "values": values})
            own[str(node["id"])] = places[key]
    text = json.dumps({"made_by": "bench/graph_nodes.py", "nodes": nodes})[:-1]
    text += ', "cases": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]}\n"
    if "--check" in sys.argv:
        same = FIXTURE.read_text() == text
        print("the same" if same else f"{FIXTURE} is another one")
        sys.exit(0 if same else 1)
    FIXTURE.write_text(text)
    print(f"{sum(map(len, nodes.values()))} nodes, {len(cases)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
