"""Groups of parameters and schedulers: every field as PyTorch's own optimizers take it."""
import pytest
import torch
from torch import nn

import syncopate
import syncopate.torch
import workers as cluster


@pytest.fixture(scope="module", autouse=True)
def alone():
    syncopate.torch.init()


def make_model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 3))


def groups_of(model):
    """A network whose last layer learns slowly, and whose vectors do not decay."""
    matrices = [each for each in model[:-1].parameters() if each.dim() > 1]
    vectors = [each for each in model.parameters() if each.dim() < 2]
    return [{"params": matrices}, {"params": [model[-1].weight], "lr": 0.001},
            {"params": vectors, "weight_decay": 0.0}]


def flat(model):
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def train(model, optimizer, change, steps=40, rank=0):
    for step in range(steps):
        optimizer.zero_grad()
        inputs = torch.randn(4, 6, generator=torch.Generator().manual_seed(100 * rank + step))
        model(inputs).square().sum().backward()
        optimizer.step()
        change(optimizer, step)


def all_fields_change(optimizer, step):
    for number, group in enumerate(optimizer.param_groups):
        group["lr"] *= 0.9 + 0.05 * number
        group["weight_decay"] *= 0.97
        if "betas" in group:
            group["betas"], group["eps"] = (0.9 - step / 200, 0.99), 1e-8 * (step + 1)
        else:
            group["momentum"] = 0.9 - step / 100


KINDS = {"sgd": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}), "adamw": (torch.optim.AdamW, {})}


@pytest.mark.parametrize("store", ["replicas", "shards"])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_pytorchs_whatever_a_scheduler_changes(kind, store):
    make, settings = KINDS[kind]
    theirs, ours = make_model(), make_model()
    train(theirs, make(groups_of(theirs), lr=0.01, weight_decay=0.1, **settings), all_fields_change)
    optimizer = syncopate.torch.Optimizer(ours, "ssgd", optimizer=kind, lr=0.01, weight_decay=0.1, store=store,
                                          groups=groups_of(ours), **settings)
    train(ours, optimizer, all_fields_change)
    optimizer.close()
    torch.testing.assert_close(flat(ours), flat(theirs), rtol=1e-5, atol=1e-6)


def test_one_cycle_changes_betas_and_momentum():
    for kind, (make, settings) in KINDS.items():
        finals = []
        for is_ours in (True, False):
            model = make_model()
            optimizer = syncopate.torch.Optimizer(model, "ssgd", optimizer=kind, lr=0.01, **settings) if is_ours \
                else make(model.parameters(), 0.01, **{"weight_decay": 0, **settings})
            cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=45)
            train(model, optimizer, lambda _optimizer, _step, cycle=cycle: cycle.step())
            finals.append(flat(model))
            if is_ours:
                optimizer.close()
        torch.testing.assert_close(*finals, rtol=1e-5, atol=1e-6)


def the_parts_of_a_batch_are_one_worker(rank, workers):
    model, alone = make_model(), make_model()
    optimizer = syncopate.torch.Optimizer(model, "ssgd", optimizer="adamw", lr=0.01, weight_decay=0.1,
                                          groups=groups_of(model))
    train(model, optimizer, all_fields_change, 20, rank)
    optimizer.close()
    adam = torch.optim.AdamW(groups_of(alone), lr=0.01, weight_decay=0.1)
    for step in range(20):
        adam.zero_grad()
        for part in range(workers):
            inputs = torch.randn(4, 6, generator=torch.Generator().manual_seed(100 * part + step))
            (alone(inputs).square().sum() / workers).backward()
        adam.step()
        all_fields_change(adam, step)
    torch.testing.assert_close(flat(model), flat(alone), rtol=1e-4, atol=1e-6)


def test_two_workers_are_one_with_the_whole_batch():
    cluster.run(__file__, the_parts_of_a_batch_are_one_worker, 2)


def test_a_state_has_the_groups_in_it():
    finals = []
    for is_cut in (False, True):
        model = make_model()
        make = lambda model=model: syncopate.torch.Optimizer(model, "ssgd", optimizer="adamw", lr=0.01,  # noqa: E731
                                                              weight_decay=0.1, groups=groups_of(model))
        optimizer = make()
        train(model, optimizer, all_fields_change, 10)
        if is_cut:
            saved = optimizer.state_dict()
            optimizer.close()
            optimizer = make()
            optimizer.load_state_dict(saved)
        train(model, optimizer, all_fields_change, 10)
        optimizer.close()
        finals.append(flat(model))
    assert torch.equal(*finals)


def test_a_state_from_before_there_were_groups_is_loaded():
    model = make_model()
    saved = syncopate.torch.Optimizer(model, "ssgd", lr=0.01).state_dict()
    del saved["groups"]
    with pytest.raises(syncopate.StateError, match="neither parameter groups nor a learning rate"):
        syncopate.torch.Optimizer(make_model(), "ssgd", lr=0.5).load_state_dict(saved)
    optimizer = syncopate.torch.Optimizer(make_model(), "ssgd", lr=0.5)
    optimizer.load_state_dict({**saved, "lr": 0.25})
    assert optimizer.param_groups[0]["lr"] == 0.25


def refused(text, call, *arguments, **options):
    with pytest.raises(syncopate.OptionError, match=text):
        call(*arguments, **options)


def test_groups_that_the_library_cannot_use_are_refused():
    model = make_model()
    make, some = syncopate.torch.Optimizer, groups_of(model)
    refused('"0.weight" is in 0 of them', make, model, "ssgd", lr=0.1, groups=some[1:])
    refused('"0.weight" is in 2 of them', make, model, "ssgd", lr=0.1, groups=some + some[:1])
    refused('no field "beta"', make, model, "ssgd", lr=0.1, groups=[{**some[0], "beta": 1}, *some[1:]])
    refused("expected a dictionary with params", make, model, "ssgd", lr=0.1, groups=[{"lr": 1}])
    refused("momentum is 0.5 in one group and 0.9", make, model, "ssgd", lr=0.1,
            groups=[{**some[0], "momentum": 0.5}, *some[1:]])
    refused("only the learning rate of the whole model", make, model, "ssd-sgd", lr=0.1, groups=some)
    optimizer = make(model, "ssgd", lr=0.1, momentum=0.9)
    optimizer.param_groups[0]["momentum"] = 0
    refused("momentum was changed from 0.9 to 0 after 0 steps: .*cannot become 0", train, model, optimizer, None, 1)
    optimizer.param_groups[0]["momentum"] = 0.5
    train(model, optimizer, lambda *_: None, 1)
    optimizer.close()


if __name__ == "__main__":
    cluster.main(globals())
