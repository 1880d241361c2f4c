"""The built-in models in PyTorch: the same layers, arithmetic and, with `--names pytorch`, names of tensors, so that
PyTorch can use what `syncopate export` writes.

    from syncopate import models
    model = models.load("weights.safetensors")     # or .npz, with the model's name: load("weights.npz", "lenet")
    scores = model(images)

Needs PyTorch and, for .npz, NumPy. The models adapt to the image size and the number of classes, as the engine's do.
"""
import json
import math
import struct

import torch
from torch import nn
from torch.nn import functional as F


class ModelError(ValueError):
    """A file does not contain weights, or contains those of another model."""


class Mlp(nn.Module):
    def __init__(self, image=(1, 28, 28), classes=10):
        super().__init__()
        self.image, self.classes = image, classes
        self.fc1 = nn.Linear(math.prod(image), 512)
        self.fc2 = nn.Linear(512, 512)
        self.fc3 = nn.Linear(512, classes)

    def forward(self, x):
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


class LeNet(nn.Module):
    def __init__(self, image=(1, 28, 28), classes=10):
        super().__init__()
        self.image, self.classes = image, classes
        channels, height, width = image
        self.conv1 = nn.Conv2d(channels, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(50 * math.prod(((side - 4) // 2 - 4) // 2 for side in (height, width)), 500)
        self.fc2 = nn.Linear(500, classes)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions, with a 1x1 convolution on the shortcut if the shape changes."""
    widening = 1

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = self.shortcut(inputs, outputs, stride)

    def shortcut(self, inputs, outputs, stride):
        return projection(inputs, outputs, stride)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class PaddedBlock(BasicBlock):
    """The same with a shortcut without weights: every second pixel, and channels of zeros (option A)."""

    def shortcut(self, inputs, outputs, stride):
        return Subsample(outputs - inputs, stride) if stride > 1 else None


class Subsample(nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.channels, self.stride = channels, stride

    def forward(self, x):
        half = self.channels // 2
        return F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, half, half))


class Bottleneck(nn.Module):
    """1x1, 3x3 with the stride, 1x1 to four times the channels."""
    widening = 4

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = projection(inputs, 4 * width, stride)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


def projection(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


def add_stages(model, block, inputs, stages):
    """Add layer1, layer2, ...: (width, number of blocks) each; all but the first halve the image. Returns the channels."""
    for stage, (width, count) in enumerate(stages, 1):
        layers = []
        for i in range(count):
            layers.append(block(inputs, width, 2 if stage > 1 and i == 0 else 1))
            inputs = block.widening * width
        setattr(model, f"layer{stage}", nn.Sequential(*layers))
    return inputs


class CifarResNet(nn.Module):
    def __init__(self, depth, block=BasicBlock, image=(3, 32, 32), classes=10):
        super().__init__()
        self.image, self.classes = image, classes
        self.conv1 = nn.Conv2d(image[0], 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        blocks = (depth - 2) // 6
        self.fc = nn.Linear(add_stages(self, block, 16, [(16, blocks), (32, blocks), (64, blocks)]), classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class ResNet(nn.Module):
    """ResNet-18 and ResNet-50, with torchvision's names."""

    def __init__(self, block, counts, image=(3, 224, 224), classes=1000):
        super().__init__()
        self.image, self.classes = image, classes
        self.conv1 = nn.Conv2d(image[0], 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.fc = nn.Linear(add_stages(self, block, 64, list(zip((64, 128, 256, 512), counts))), classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Vgg16(nn.Module):
    def __init__(self, image=(3, 32, 32), classes=10):
        super().__init__()
        self.image, self.classes = image, classes
        self.features = nn.Sequential()
        inputs = image[0]
        for stage, (outputs, count) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)), 1):
            for i in range(1, count + 1):
                self.features.add_module(f"conv{stage}_{i}", nn.Conv2d(inputs, outputs, 3, 1, 1, bias=False))
                self.features.add_module(f"bn{stage}_{i}", nn.BatchNorm2d(outputs))
                self.features.add_module(f"relu{stage}_{i}", nn.ReLU(inplace=True))
                inputs = outputs
            self.features.add_module(f"pool{stage}", nn.MaxPool2d(2))
        self.fc = nn.Linear(512 * (image[1] // 32) * (image[2] // 32), classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def alexnet_side(side):
    """Pixels per side after five convolutions and three poolings."""
    side = (side + 4 - 11) // 4 + 1
    for _ in range(3):
        side = (side - 3) // 2 + 1
    return side


class AlexNet(nn.Module):
    """In one column, with torchvision's names; unlike torchvision's, without pooling to 6x6 before the inner
    products, which makes no difference at 224x224."""

    def __init__(self, image=(3, 224, 224), classes=1000, dropout=nn.Dropout):
        super().__init__()
        self.image, self.classes = image, classes
        self.features = nn.Sequential(
            nn.Conv2d(image[0], 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, 1, 2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, 1, 1), nn.ReLU(), nn.Conv2d(384, 256, 3, 1, 1), nn.ReLU(),
            nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(3, 2))
        self.classifier = nn.Sequential(
            dropout(0.5), nn.Linear(256 * alexnet_side(image[1]) * alexnet_side(image[2]), 4096), nn.ReLU(),
            dropout(0.5), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, classes))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Lstm(nn.Module):
    """Embedding, two LSTM layers, inner product; the hidden state is carried over from batch to batch (carry) until
    it is reset to [None, None]. Scores are [batch * time][words]."""

    def __init__(self, hidden, rate, image=None, classes=10000, dropout=nn.Dropout):
        super().__init__()
        del image  # not used by text models
        self.classes = classes
        self.embedding = nn.Embedding(classes, hidden)
        self.lstm0 = nn.LSTM(hidden, hidden, batch_first=True)
        self.lstm1 = nn.LSTM(hidden, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)
        self.drop0, self.drop1, self.drop2 = (dropout(rate) if rate else nn.Identity() for _ in range(3))
        self.carry = [None, None]

    def forward(self, tokens):
        x = self.drop0(self.embedding(tokens))
        x, state0 = self.lstm0(x, self.carry[0])
        x, state1 = self.lstm1(self.drop1(x), self.carry[1])
        self.carry = [tuple(t.detach() for t in state) for state in (state0, state1)]
        return self.fc(self.drop2(x)).flatten(0, 1)


class GptBlock(nn.Module):
    """Causal self-attention, then a feed-forward network, each after a layer norm and added to what it read."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_look, self.norm_think = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.think = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def look(self, x):
        batch, length, width = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if hasattr(F, "scaled_dot_product_attention"):
            seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:  # PyTorch 1.13
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            seen = scores.masked_fill(later, -math.inf).softmax(-1) @ value
        return self.project(seen.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.look(self.norm_look(x))
        return x + self.think(self.norm_think(x))


class Gpt(nn.Module):
    """Tokens [batch][time], at most `length` of each text, to scores [batch * time][words] by the words' own vectors.
    Nothing is carried over from batch to batch."""

    def __init__(self, layers=2, width=128, heads=4, length=64, image=None, classes=10000):
        super().__init__()
        del image  # not used by text models
        self.classes = classes
        self.tokens, self.places = nn.Embedding(classes, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(GptBlock(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:  # as in GPT-2: weights that add to the residual stream are smaller in deep networks
                deep = name.endswith(("project.weight", "think.2.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if deep else 0.02)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places.weight[:tokens.shape[1]]
        return F.linear(self.norm(self.blocks(x)), self.tokens.weight).flatten(0, 1)


# By name; each takes image=(channels, height, width) and classes=number.
MODELS = {
    "mlp": Mlp, "lenet": LeNet, "vgg16": Vgg16, "alexnet": AlexNet,
    "resnet20": lambda **how: CifarResNet(20, **how), "resnet56": lambda **how: CifarResNet(56, **how),
    "resnet110": lambda **how: CifarResNet(110, **how),
    "resnet20-a": lambda **how: CifarResNet(20, PaddedBlock, **how),
    "resnet56-a": lambda **how: CifarResNet(56, PaddedBlock, **how),
    "resnet110-a": lambda **how: CifarResNet(110, PaddedBlock, **how),
    "resnet18": lambda **how: ResNet(BasicBlock, (2, 2, 2, 2), **how),
    "resnet50": lambda **how: ResNet(Bottleneck, (3, 4, 6, 3), **how),
    "lstm-small": lambda **how: Lstm(200, 0.0, **how), "lstm": lambda **how: Lstm(1500, 0.65, **how),
    "gpt": Gpt,
}

LANGUAGE_MODELS = (Lstm, Gpt)  # these read tokens

MOST_HEADER_BYTES = 100_000_000


def read_safetensors(path):
    """Tensors by name, and the file's metadata."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    length = struct.unpack_from("<Q", data)[0] if len(data) >= 8 else 0
    if not 2 <= length <= min(MOST_HEADER_BYTES, len(data) - 8):
        raise ModelError(f"{path}: not a safetensors file")
    header = json.loads(data[8:8 + length].decode())
    about = header.pop("__metadata__", {})
    tensors = {}
    for name, row in header.items():
        if row["dtype"] != "F32":
            raise ModelError(f"{path}: {name} has type {row['dtype']}; expected F32")
        begin, _ = row["data_offsets"]
        tensors[name] = torch.frombuffer(data, dtype=torch.float32, count=math.prod(row["shape"]),
                                         offset=8 + length + begin).reshape(row["shape"]).clone()
    return tensors, about


def read_npz(path):
    import numpy
    with numpy.load(path) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}, {}


def load(path, model=None, **how):
    """The model that the weights belong to, with these weights, in evaluation mode (eval()).

    model, image, classes: override the file's metadata; an .npz file has none.
    Weights of AlexNet and of residual networks need `syncopate export --names pytorch`."""
    tensors, about = (read_npz if str(path).endswith(".npz") else read_safetensors)(path)
    model = model or about.get("model")
    if model not in MODELS:
        raise ModelError(f"{path}: model {model!r}; expected one of {', '.join(MODELS)}")
    if "classes" in about:
        how.setdefault("classes", int(about["classes"]))
    if "image" in about:
        how.setdefault("image", tuple(int(size) for size in about["image"].split("x")))
    made = MODELS[model](**how)
    try:
        made.load_state_dict(tensors)
    except RuntimeError as error:
        raise ModelError(f"{path}: not weights of {model}, or exported without --names pytorch: {error}") from None
    return made.eval()
