#!/usr/bin/python3
"""A small GPT, trained with AdamW on letters or words of any text: cosine schedule, clipping, accumulation, bfloat16.

    python3 -m syncopate.torch.run --nproc_per_node 4 examples/torch_gpt.py --algo outer --every 30
    mpirun -n 4 /usr/bin/python3 examples/torch_gpt.py --algo ddp --text my.txt --level words

Everything about Syncopate is in torch_gpt_method.py. Without --text it reads the Brown corpus, whose validation
part is held out; with your own file, the last tenth is held out.
"""
import argparse
import collections
import json
import math
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

import syncopate.torch
import torch_gpt_method
import torch_run

WINDOWS = 256  # windows of held-out text


class Block(nn.Module):
    """Causal self-attention, then a feed-forward network."""

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
    """Tokens [batch][length] to scores [batch][length][kinds]; the head shares the embedding's weights."""

    def __init__(self, kinds, length, layers=2, width=128, heads=4):
        super().__init__()
        self.tokens, self.places = nn.Embedding(kinds, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, kinds, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:  # as in GPT-2: weights that add to the residual stream are smaller in deep networks
                deep = name.endswith(("project.weight", "think.2.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if deep else 0.02)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places.weight[:tokens.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def read_texts(flags):
    """(training, held-out) as lists of letters or words."""
    if flags.text:
        with open(flags.text, encoding="utf-8", errors="replace") as file:
            whole = file.read()
        texts = [whole[:-len(whole) // 10], whole[-len(whole) // 10:]]
    else:
        paths = [torch_run.find(flags.data_dir, "brown", f"ptb.{part}.txt") for part in ("train", "valid")]
        texts = [open(path, encoding="utf-8").read() for path in paths]
    return [text.replace("\n", " <eos> ").split() for text in texts] if flags.level == "words" else texts


def numbered(texts, most):
    """The texts as token numbers, and the number of kinds; rare and new tokens are kind 0."""
    frequent = collections.Counter(texts[0]).most_common(most - 1)
    number = {token: i + 1 for i, (token, _) in enumerate(frequent)}
    return [torch.tensor([number.get(token, 0) for token in text], dtype=torch.int32) for text in texts], \
        len(number) + 1


def batches(text, flags, rank):
    """This worker's random windows, endlessly."""
    generator = torch.Generator().manual_seed(1000 * flags.seed + rank)
    while True:
        starts = torch.randint(len(text) - flags.length, (flags.batch, 1), generator=generator)
        windows = text[starts + torch.arange(flags.length + 1)].long()
        yield windows[:, :-1], windows[:, 1:]


def has_bfloat16():
    """Whether the processor multiplies bfloat16 in hardware. Some only claim to, so a child process tries it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            if "avx512_bf16" not in file.read():
                return False
    except OSError:
        return False
    child = os.fork()
    if child == 0:
        layer, some = nn.Linear(64, 64).bfloat16(), torch.ones(64, 64, dtype=torch.bfloat16)
        layer(some).sum().backward()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def loss_of(model, inputs, wanted, flags):
    """The mean loss per token; matrix products in 16 bits if requested, everything else in 32."""
    with torch.autocast("cpu", torch.bfloat16, enabled=flags.dtype == "bfloat16"):
        scores = model(inputs)
    return F.cross_entropy(scores.float().flatten(0, 1), wanted.flatten())


@torch.no_grad()
def evaluate(model, text, flags):
    """The mean loss per token on windows of held-out text, the same on every worker."""
    starts = torch.linspace(0, len(text) - flags.length - 1, WINDOWS).long().view(-1, 1)
    windows = text[starts + torch.arange(flags.length + 1)].long()
    losses = [loss_of(model, part[:, :-1], part[:, 1:], flags).item() for part in windows.split(32)]
    return sum(losses) / len(losses)


def groups_of(model, decay):
    """As usual with AdamW, matrices decay and vectors do not."""
    parameters = list(model.parameters())
    return [{"params": [each for each in parameters if each.dim() > 1], "weight_decay": decay},
            {"params": [each for each in parameters if each.dim() < 2], "weight_decay": 0.0}]


def schedule_of(flags):
    """The factor of the learning rate in a step: a linear warm-up, then a cosine down to a tenth."""
    def share(step):
        if step < flags.warmup:
            return (step + 1) / flags.warmup
        part = (step - flags.warmup) / max(flags.steps - flags.warmup, 1)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * min(part, 1.0)))
    return share


def read_flags():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    torch_gpt_method.add_flags(parser)
    parser.add_argument("--text", help="your own text file")
    parser.add_argument("--data-dir", default=os.environ.get("SYNCOPATE_DATA", "data"))
    parser.add_argument("--level", choices=("letters", "words"), default="letters")
    for name, value in {"kinds": 10000, "layers": 2, "width": 128, "heads": 4, "length": 64, "batch": 8,
                        "steps": 1000, "accumulate": 1, "warmup": 50, "seed": 1, "threads": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lr", type=float, default=1e-3, help="peak learning rate")
    parser.add_argument("--decay", type=float, default=0.1, help="weight decay")
    parser.add_argument("--clip", type=float, default=1.0, help="maximum norm of the gradient; 0: no clipping")
    parser.add_argument("--dtype", choices=("auto", "float32", "bfloat16"), default="auto",
                        help="auto: bfloat16 if the processor multiplies it in hardware")
    parser.add_argument("--out", help="directory for settings.json, metrics.jsonl and summary.json")
    flags = parser.parse_args()
    if flags.dtype == "auto":
        flags.dtype = "bfloat16" if has_bfloat16() else "float32"
    return flags


def step_of(method, data, flags):
    """One step: gradients of several batches add up, with an exchange only at the last. Returns the mean loss."""
    total = 0.0
    for last in [False] * (flags.accumulate - 1) + [True]:
        with method.passing(last):
            loss = loss_of(method.model, *next(data), flags) / flags.accumulate
            loss.backward()
        total += loss.item()
    if flags.clip:
        nn.utils.clip_grad_norm_(method.model.parameters(), flags.clip)
    method.optimizer.step()
    method.optimizer.zero_grad()
    return total


def main():
    flags = read_flags()
    rank, workers = syncopate.torch.init()
    torch.set_num_threads(flags.threads)
    torch.manual_seed(flags.seed)
    (text, held_out), kinds = numbered(read_texts(flags), flags.kinds)
    if min(len(text), len(held_out)) <= flags.length:
        raise SystemExit(f"the text is too short: its last tenth has {len(held_out)} {flags.level}; expected more "
                         f"than --length {flags.length}")
    model = Gpt(kinds, flags.length, flags.layers, flags.width, flags.heads)
    method = torch_gpt_method.Method(model, groups_of(model, flags.decay), flags)
    schedule = torch.optim.lr_scheduler.LambdaLR(method.optimizer, schedule_of(flags))
    data = batches(text, flags, rank)
    metrics = method.metrics(flags)
    tokens = flags.batch * flags.length * flags.accumulate
    began = time.perf_counter()
    for step in range(flags.steps):
        loss, lr = step_of(method, data, flags), schedule.get_last_lr()[0]
        schedule.step()
        if metrics:
            metrics.step(loss, tokens, lr)
        if rank == 0 and (step + 1) % 50 == 0:
            print(f"step {step + 1} of {flags.steps}: loss {loss:.4f}", flush=True)
    seconds = time.perf_counter() - began
    with method.evaluating():
        loss = evaluate(model, held_out, flags)
    if metrics:
        metrics.evaluated(loss)
        metrics.finish()
    summary = {"algo": flags.algo, "workers": workers, "parameters": method.parameters, "steps": flags.steps,
               "seconds": seconds, "ms_per_step": 1e3 * seconds / flags.steps, "valid_loss": loss,
               **method.cost(flags.steps)}
    method.close()
    if rank == 0:
        print(json.dumps(summary), flush=True)


if __name__ == "__main__":
    main()
