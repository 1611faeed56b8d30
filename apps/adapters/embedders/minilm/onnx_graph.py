"""Build the model as an ONNX graph with 8-bit weights, directly from the float weights.

The graph takes the ids of one text and returns its vector.  One text at a time, because activations are quantised with
one scale per run: in a batch, a text's vector would depend on the other texts.  It also needs no padding mask, and on
one thread it is no slower.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from apps.adapters.embedders.minilm.graph_file import INPUT, OUTPUT
from apps.adapters.embedders.minilm.weights import (
    DIMENSIONS,
    HEADS,
    LAYER_NORM_EPSILON,
    Layer,
    Linear,
    ModelWeights,
    Norm,
)

# Operators that onnxruntime adds to the standard: fused and quantised ones.
_EXTENSIONS: Final = "com.microsoft"
_OPSET: Final = 20
_EXTENSIONS_OPSET: Final = 1
_IR_VERSION: Final = 9
# Seven bits of the eight: processors without VNNI add two products of an unsigned and a signed byte in sixteen bits,
# which 2 * 255 * 64 just fits and 2 * 255 * 127 overflows, silently.
_LARGEST_WEIGHT: Final = 64


def build_graph(weights: ModelWeights) -> bytes:
    """Return the serialised graph.  Input: ids, int64, (1, tokens).  Output: unit vector, float32, (1, 384)."""
    graph = _Graph()
    tokens = _add_layers(graph, weights)
    total = graph.add("ReduceSum", [tokens, graph.constant(np.array([1], np.int64))], keepdims=0)
    # The mean's divisor cancels when the sum is brought to unit length.
    length = graph.add("ReduceL2", [total, graph.constant(np.array([1], np.int64))], keepdims=1)
    graph.add("Div", [total, length], outputs=[OUTPUT])
    return graph.serialise([1, DIMENSIONS])


def build_token_graph(weights: ModelWeights) -> bytes:
    """The same without the mean.  Output: the last layer's token vectors, float32, shape (1, tokens, 384)."""
    graph = _Graph()
    graph.add("Identity", [_add_layers(graph, weights)], outputs=[OUTPUT])
    return graph.serialise([1, "tokens", DIMENSIONS])


def _add_layers(graph: "_Graph", weights: ModelWeights) -> str:
    tokens = _embed_words(graph, weights)
    for layer in weights.layers:
        tokens = _add_layer(graph, tokens, layer)
    return tokens


class _Graph:
    """Graph builder: collects nodes and constants; every result is named by its number."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, array: NDArray[Any]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, operator: str, inputs: Sequence[str], *, outputs: Sequence[str] = (), **attributes: Any) -> str:
        """Append a standard operator and return the name of its first output."""
        return self._append(operator, inputs, outputs, "", attributes)

    def add_extension(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Append one of onnxruntime's own operators and return the name of its output."""
        return self._append(operator, inputs, (), _EXTENSIONS, attributes)

    def _append(
        self, operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str, attributes: dict[str, Any]
    ) -> str:
        names = list(outputs) or [f"n{len(self._nodes)}"]
        self._nodes.append(helper.make_node(operator, list(inputs), names, domain=domain, **attributes))
        return names[0]

    def serialise(self, shape: Sequence[int | str]) -> bytes:
        """shape: of the output."""
        ids = helper.make_tensor_value_info(INPUT, TensorProto.INT64, [1, "tokens"])
        output = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, list(shape))
        graph = helper.make_graph(self._nodes, "minilm", [ids], [output], self._constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_EXTENSIONS, _EXTENSIONS_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        serialised: bytes = model.SerializeToString()
        return serialised


def _embed_words(graph: _Graph, weights: ModelWeights) -> str:
    # One scale per word: a single one for 30,000 words would be set by the few largest.
    quantised, scales = _quantise(weights.words, axis=1)
    steps = graph.add("Gather", [graph.constant(quantised), INPUT])
    scale = graph.add("Gather", [graph.constant(scales), INPUT])
    words = graph.add("Mul", [graph.add("Cast", [steps], to=TensorProto.FLOAT), scale])
    zero, one, two = (graph.constant(np.array([number], np.int64)) for number in (0, 1, 2))
    token_count = graph.add("Slice", [graph.add("Shape", [INPUT]), one, two])
    positions = graph.add("Slice", [graph.constant(weights.positions), zero, token_count, zero])
    scale_and_shift = _norm_constants(graph, weights.norm)
    return graph.add(
        "LayerNormalization", [graph.add("Add", [words, positions]), *scale_and_shift], epsilon=LAYER_NORM_EPSILON
    )


def _add_layer(graph: _Graph, tokens: str, layer: Layer) -> str:
    attended = _attend(graph, tokens, layer.qkv)
    tokens = _add_and_normalise(graph, tokens, attended, layer.attention_out, layer.attention_norm)
    hidden = graph.add_extension("BiasGelu", [_multiply(graph, tokens, layer.up), graph.constant(layer.up.bias)])
    return _add_and_normalise(graph, tokens, hidden, layer.down, layer.norm)


def _attend(graph: _Graph, tokens: str, qkv: Linear) -> str:
    matrix, scales = _quantise(qkv.matrix, axis=0)
    steps, step_size, zero_point = f"{tokens}.steps", f"{tokens}.step_size", f"{tokens}.zero_point"
    graph.add("DynamicQuantizeLinear", [tokens], outputs=[steps, step_size, zero_point])
    no_mask = ""
    return graph.add_extension(
        "QAttention",
        [
            steps,
            graph.constant(matrix),
            graph.constant(qkv.bias),
            step_size,
            graph.constant(scales.reshape(-1)),
            no_mask,
            zero_point,
            graph.constant(np.zeros(scales.size, np.int8)),
        ],
        num_heads=HEADS,
    )


def _add_and_normalise(graph: _Graph, tokens: str, update: str, linear: Linear, norm: Norm) -> str:
    product = _multiply(graph, update, linear)
    return graph.add_extension(
        "SkipLayerNormalization",
        [product, tokens, *_norm_constants(graph, norm), graph.constant(linear.bias)],
        epsilon=LAYER_NORM_EPSILON,
    )


def _multiply(graph: _Graph, rows: str, linear: Linear) -> str:
    """rows @ matrix; the operator that follows adds the bias."""
    matrix, scales = _quantise(linear.matrix, axis=0)
    return graph.add_extension(
        "DynamicQuantizeMatMul", [rows, graph.constant(matrix), graph.constant(scales.reshape(-1))]
    )


def _norm_constants(graph: _Graph, norm: Norm) -> tuple[str, str]:
    return graph.constant(norm.scale), graph.constant(norm.shift)


def _quantise(matrix: NDArray[np.float32], *, axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Integers and scales whose product is close to the matrix; the scales keep ``axis``, with length 1."""
    scales = np.abs(matrix).max(axis=axis, keepdims=True) / np.float32(_LARGEST_WEIGHT)
    # A row of zeros stays zeros whatever it is divided by.
    scales[scales == 0] = 1
    return np.rint(matrix / scales).astype(np.int8), scales
