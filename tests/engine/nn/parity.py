#!/usr/bin/python3
"""Holds the engine's models against PyTorch's: same weights and examples in, same losses, gradients and weights out.

    parity.py DUMP_STEP [MODEL...]

Every gradient tensor of the first step must agree to 1e-4 of its norm with PyTorch's in double precision, losses
and weights of several steps of SGD to 1e-3 with those in single precision. Exits with 77 (skipped) where there is no PyTorch.

Where a value is so near to zero that rounding decides whether ReLU passes it, or two are so near that it decides
which is the maximum, no two programs in single precision agree: one such value changes a gradient tensor by 1e-3 to
5e-2 of its norm. So a draw of weights and images counts only if the reference is sure of it: its own gradient must
stay within the tolerance when the weights move by as much as rounding moves values. Ours has no say in that, and on
the first draw that counts it must be right. Images are small, which makes such draws frequent.
"""
import copy
import subprocess
import sys

from pytorch import check, models, np, torch

GRADIENT_TOLERANCE = 1e-4
STEP_TOLERANCE = 1e-3

# model: batch, height and width or time, steps, learning rate, first draw to try (those before it do not count)
CASES = {
    "mlp": (8, 28, 10, 0.1, 0),
    "lenet": (8, 28, 10, 0.05, 0),
    "resnet20": (3, 8, 10, 0.01, 0),
    "resnet56": (3, 8, 10, 0.001, 0),
    "resnet110": (3, 8, 10, 0.001, 8),
    "vgg16": (3, 32, 10, 0.00001, 9),
    "alexnet": (2, 224, 2, 0.01, 1),
    "resnet20-a": (3, 8, 10, 0.01, 0),
    "resnet18": (2, 48, 10, 0.0001, 0),
    "resnet50": (2, 48, 10, 0.0001, 0),
    "lstm-small": (3, 7, 10, 0.5, 0),
    "lstm": (2, 3, 2, 0.5, 0),
    "gpt": (3, 37, 10, 0.5, 0),
}
DRAWS = 16

# How far rounding moves a value, relatively, and how often that is tried.
ROUNDING = 3e-6
TRIALS = 2

MASK = (1 << 64) - 1


def mix(x):
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


class HashedDropout(torch.nn.Module):
    """The engine's dropout: the mask is a hash of seed, step, number of the layer and position in memory."""

    step = 0

    def __init__(self, rate, node, order):
        super().__init__()
        self.rate, self.node, self.order = rate, node, order

    def forward(self, x):
        positions, arrange = self.order(tuple(x.shape))
        h = np.arange(positions, dtype=np.uint32)
        key = np.uint32(mix((mix((mix(1) + HashedDropout.step) & MASK) + self.node) & MASK) & 0xffffffff)
        with np.errstate(over="ignore"):
            h = h * np.uint32(0x9e3779b9) + key
            h = (h ^ (h >> np.uint32(16))) * np.uint32(0x7feb352d)
            h = (h ^ (h >> np.uint32(15))) * np.uint32(0x846ca68b)
            h = h ^ (h >> np.uint32(16))
        keep = arrange(h >= np.uint32(self.rate * 2**32))
        return x * torch.from_numpy(keep.astype(np.float32)) * np.float32(1 / (1 - self.rate))


def padded(channels):
    return (channels + 7) // 8 * 8


def rows_order(shape):
    """[rows][channels], rows padded to multiples of eight."""
    rows, channels = shape
    return rows * padded(channels), lambda m: m.reshape(rows, -1)[:, :channels]


def sequence_order(shape):
    """[batch][time][channels], which the engine has as [time][batch][channels]."""
    batch, steps, channels = shape
    return (batch * steps * padded(channels),
            lambda m: m.reshape(steps, batch, -1)[:, :, :channels].transpose(1, 0, 2))


def alexnet_order(shape):
    """256 channels of 6x6, flattened, which the engine has in blocks of eight channels."""
    batch = shape[0]
    return batch * 9216, lambda m: m.reshape(batch, 32, 6, 6, 8).transpose(0, 1, 4, 2, 3).reshape(batch, -1)


def make_model(name):
    if name == "alexnet":
        numbers = iter(((14, alexnet_order), (17, rows_order)))
        return models.AlexNet(dropout=lambda rate: HashedDropout(rate, *next(numbers)))
    if name == "lstm":
        numbers = iter((2, 4, 6))
        return models.Lstm(1500, 0.65, dropout=lambda rate: HashedDropout(rate, next(numbers), sequence_order))
    return models.MODELS[name]()


def relative(ours, theirs):
    scale = np.linalg.norm(theirs)
    return float(np.linalg.norm(ours - theirs) / (scale if scale > 0 else 1))


def gradients_of(model, x, labels):
    """Of the first step, in memory of their own: the next call leaves them alone."""
    HashedDropout.step = 0
    if isinstance(model, models.Lstm):
        model.carry = [None, None]
    model.zero_grad(set_to_none=True)
    torch.nn.functional.cross_entropy(model(x), labels.flatten().long()).backward()
    return {key: p.grad.numpy().ravel() for key, p in model.named_parameters()}


def sure_gradients(model, x, labels):
    """The model's gradients in double precision, if rounding cannot change them by more than the tolerance; or None.
    There is one copy of the model, whose weights move: fresh memory for the largest ones costs more than computing."""
    moved = copy.deepcopy(model).double()
    expected = gradients_of(moved, x, labels)
    for _ in range(TRIALS):
        with torch.no_grad():
            for p, own in zip(moved.parameters(), model.parameters()):
                p.copy_(torch.randn_like(own)).mul_(ROUNDING).add_(1).mul_(own)
        found = gradients_of(moved, x, labels)
        if max(relative(found[key], expected[key]) for key in expected) > GRADIENT_TOLERANCE:
            return None
    return expected


def reference(model, inputs, labels, rate):
    """Losses of all steps; leaves the model with its last weights."""
    losses = []
    for step, (x, y) in enumerate(zip(inputs, labels)):
        HashedDropout.step = step
        model.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), y.flatten().long())
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in model.parameters():
                p -= rate * p.grad
    return losses


def vary_norms(model):
    """Weights and biases of batch and layer norm that are not all ones and zeros. What is added to a shortcut is small
    beside it, as in a trained network; otherwise rounding errors grow with every block. The two models with the
    most values have them farther from ReLU's kink, or else no draw would do."""
    has_three = isinstance(model, models.ResNet) and isinstance(model.layer1[0], models.Bottleneck)
    last = ".bn3" if has_three else ".bn2"
    is_large = isinstance(model, (models.ResNet, models.Vgg16))
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            scale = 0.2 if name.startswith("layer") and last in name else 1.0
            with torch.no_grad():
                if is_large:
                    module.weight.uniform_(0.4 * scale, 0.6 * scale)
                    module.bias.uniform_(scale, 2 * scale).mul_(torch.randn_like(module.bias).sign())
                else:
                    module.weight.uniform_(0.5 * scale, 1.5 * scale)
                    module.bias.uniform_(-0.5 * scale, 0.5 * scale)
        if isinstance(module, torch.nn.LayerNorm):
            with torch.no_grad():
                module.weight.uniform_(0.5, 1.5)
                module.bias.uniform_(-0.5, 0.5)


def random_examples(model, batch, size):
    if isinstance(model, models.LANGUAGE_MODELS):
        return tuple(torch.randint(model.classes, (batch, size)) for _ in range(2))
    return torch.randn(batch, model.image[0], size, size), torch.randint(model.classes, (batch,))


def draw(name):
    """A model, examples of some steps, and gradients of the first that the reference is sure of."""
    batch, size, steps, _, first = CASES[name]
    for seed in range(first, first + DRAWS):
        torch.manual_seed(seed)
        model = make_model(name)
        vary_norms(model)
        examples = [random_examples(model, batch, size) for _ in range(steps)]
        x, labels = examples[0]
        gradients = sure_gradients(model, to_double(x), labels)
        if gradients:
            return model, examples, gradients
    raise RuntimeError(f"{name}: no draw of {DRAWS} is good enough to compare with")


def to_double(x):
    return x.double() if x.is_floating_point() else x


def compare(name, dump_step, directory):
    batch, size, steps, rate, _ = CASES[name]
    model, examples, gradients = draw(name)
    lines = subprocess.run([dump_step, "layout", name], check=True, capture_output=True, text=True).stdout
    layout = [(line.split()[0], int(line.split()[1])) for line in lines.splitlines()]
    parameters = dict(model.named_parameters())
    if sorted(key for key, _ in layout) != sorted(parameters):
        return [f"tensors differ: {sorted(set(key for key, _ in layout) ^ set(parameters))}"]
    np.concatenate([parameters[key].detach().numpy().ravel() for key, _ in layout]).tofile(
        directory / "weights.f32")
    inputs, labels = zip(*examples)
    kind, dtype = ("tokens.i32", np.int32) if isinstance(model, models.LANGUAGE_MODELS) else ("images.f32", np.float32)
    np.stack([x.numpy() for x in inputs]).astype(dtype).tofile(directory / kind)
    np.stack([y.numpy() for y in labels]).astype(np.int32).tofile(directory / "labels.i32")
    subprocess.run([dump_step, "run", name, directory, str(batch), str(size), str(steps), str(rate)],
                   check=True)
    losses = reference(model, inputs, labels, rate)

    complaints, worst_gradient, worst_weight = [], 0.0, 0.0
    ours_gradient = np.fromfile(directory / "gradient.f32", np.float32)
    ours_final = np.fromfile(directory / "final.f32", np.float32)
    at = 0
    for key, count in layout:
        error = relative(ours_gradient[at:at + count], gradients[key])
        worst_gradient = max(worst_gradient, error)
        if not error <= GRADIENT_TOLERANCE:
            complaints.append(f"gradient of {key}: off by {error:.2e} of its norm")
        error = relative(ours_final[at:at + count], parameters[key].detach().numpy().ravel())
        worst_weight = max(worst_weight, error)
        if not error <= STEP_TOLERANCE:
            complaints.append(f"{key} after {steps} steps: off by {error:.2e} of its norm")
        at += count
    for step, (ours, theirs) in enumerate(zip(np.fromfile(directory / "losses.f64", np.float64), losses)):
        if not abs(ours - theirs) <= (GRADIENT_TOLERANCE if step == 0 else STEP_TOLERANCE) * abs(theirs):
            complaints.append(f"loss of step {step}: {ours:.7f}; PyTorch has {theirs:.7f}")
    running = {key: b.numpy() for key, b in model.named_buffers() if not key.endswith("num_batches_tracked")}
    if running:
        ours = np.fromfile(directory / "statistics.f32", np.float32)
        theirs = np.concatenate([value.ravel() for value in running.values()])
        # The order of layers is the same in both but where a shortcut is listed: compare as sets of values.
        error = relative(np.sort(ours), np.sort(theirs))
        if not error <= STEP_TOLERANCE:
            complaints.append(f"running statistics: off by {error:.2e} of their norm")
    print(f"{name}: gradients within {worst_gradient:.1e}, weights after {steps} steps within "
          f"{worst_weight:.1e}", flush=True)
    return complaints


def main():
    dump_step, names = sys.argv[1], sys.argv[2:] or list(CASES)
    check(names, lambda name, directory: compare(name, dump_step, directory))


if __name__ == "__main__":
    main()
