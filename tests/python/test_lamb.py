"""The core's LAMB against its formula in double precision; PyTorch has none to compare with."""
import pytest
import torch
from torch import nn

import syncopate
import syncopate.torch
import workers as cluster


class Reference(torch.optim.Optimizer):
    """The formula, with one tensor's norms for each tensor."""

    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (beta1, beta2), decay = group["betas"], group["weight_decay"]
            for each in group["params"]:
                own = self.state.setdefault(each, {"t": 0, "m": torch.zeros_like(each), "v": torch.zeros_like(each)})
                own["t"] += 1
                own["m"] = beta1 * own["m"] + (1 - beta1) * each.grad
                own["v"] = beta2 * own["v"] + (1 - beta2) * each.grad ** 2
                mean, square = own["m"] / (1 - beta1 ** own["t"]), own["v"] / (1 - beta2 ** own["t"])
                update = mean / (square.sqrt() + group["eps"]) + decay * each
                lengths = each.norm(), update.norm()
                each -= group["lr"] * (lengths[0] / lengths[1] if min(lengths) > 0 else 1) * update


def make_model(dtype=torch.float32):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 3)).to(dtype)


def groups_of(model):
    return [{"params": [each for each in model.parameters() if each.dim() > 1]},
            {"params": [each for each in model.parameters() if each.dim() < 2], "weight_decay": 0.0, "lr": 0.004}]


def flat(model):
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def step(model, optimizer, seeds, dtype=torch.float32):
    """One step; the gradient is the mean over these batches."""
    optimizer.zero_grad()
    for seed in seeds:
        inputs = torch.randn(4, 6, generator=torch.Generator().manual_seed(seed)).to(dtype)
        (model(inputs).square().sum() / len(seeds)).backward()
    optimizer.step()


@pytest.mark.parametrize("settings", [{}, {"weight_decay": 0.1}, {"beta1": 0.8, "beta2": 0.95, "eps": 1e-3}])
def test_fifty_steps_under_a_schedule_follow_the_formula(settings):
    syncopate.torch.init()
    ours, theirs = make_model(), make_model(torch.float64)
    optimizer = syncopate.torch.Optimizer(ours, "ssgd", optimizer="lamb", lr=0.01, groups=groups_of(ours), **settings)
    reference = Reference(groups_of(theirs), 0.01, (settings.get("beta1", 0.9), settings.get("beta2", 0.999)),
                          settings.get("eps", 1e-8), settings.get("weight_decay", 0.0))
    for number in range(50):
        step(ours, optimizer, [number])
        for mine, other in zip(ours.parameters(), theirs.parameters()):  # only the steps are compared
            other.grad = mine.grad.double()
        reference.step()
        torch.testing.assert_close(flat(ours).double(), flat(theirs), rtol=1e-6, atol=1e-6)
        for group in (*optimizer.param_groups, *reference.param_groups):
            group["lr"] *= 0.97
    optimizer.close()


def the_parts_of_a_batch_are_one_worker(rank, workers):
    for options in ({"algo": "ssgd"}, {"algo": "topk", "density": 1.0, "momentum_form": "global"}):
        ours, theirs = make_model(), make_model(torch.float64)
        optimizer = syncopate.torch.Optimizer(ours, optimizer="lamb", lr=0.01, weight_decay=0.1, **options)
        reference = Reference(theirs.parameters(), 0.01, weight_decay=0.1)
        for number in range(20):
            step(ours, optimizer, [100 * rank + number])
            step(theirs, reference, [100 * part + number for part in range(workers)], torch.float64)
        optimizer.close()
        torch.testing.assert_close(flat(ours).double(), flat(theirs), rtol=1e-4, atol=1e-5)


def test_two_workers_are_one_with_the_whole_batch():
    cluster.run(__file__, the_parts_of_a_batch_are_one_worker, 2)


def test_stores_that_divide_tensors_are_refused():
    with pytest.raises(syncopate.OptionError, match="lamb needs the norms of whole tensors, but store shards"):
        syncopate.torch.Optimizer(make_model(), "ssgd", optimizer="lamb", lr=0.01, store="shards")


if __name__ == "__main__":
    cluster.main(globals())
