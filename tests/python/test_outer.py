"""Outer: local steps with an outer update. What arrives, what is lost (nothing), and who is told."""
import copy

import pytest
import torch
import torch.distributed as dist
from torch import nn

import syncopate
import syncopate.torch
from workers import main, run

STEPS = 12


def model_of(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def part_of(step, rank, workers):
    """This worker's part of a step's batch."""
    generator = torch.Generator().manual_seed(step)
    inputs, labels = torch.randn(8, 6, generator=generator), torch.randint(3, (8,), generator=generator)
    return inputs[rank::workers], labels[rank::workers]


def train(model, optimizer, steps, rank, workers):
    for step in steps:
        optimizer.zero_grad()
        inputs, labels = part_of(step, rank, workers)
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()


def weights_of(model):
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def everyones(outer, weights):
    """All workers' weights, as whole numbers that are equal if the bits are."""
    return outer.gather(weights.view(torch.int32).long().tolist())


def with_parts(rank, workers):
    model, alone = model_of(seed=rank + 1), model_of()  # the first worker's weights count
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    outer = syncopate.torch.Outer(model, sgd, every=1, density=1, values="f32")
    train(model, sgd, range(STEPS), rank, workers)
    train(alone, torch.optim.SGD(alone.parameters(), 0.1), range(STEPS), 0, 1)
    assert torch.allclose(weights_of(model), weights_of(alone), atol=1e-6)
    outer.close()


def test_parts_of_a_batch_are_one_worker_with_all_of_it():
    run(__file__, with_parts, 2)


def sums(rank, workers, *flags):
    model = model_of()
    adamw = torch.optim.AdamW(model.parameters(), 0.01)
    outer = syncopate.torch.Outer(model, adamw, every=3, density=1 if "whole" in flags else 0.1, outer_momentum=0,
                                  delayed="delayed" in flags)
    first, learned, seen = weights_of(model), torch.zeros(outer.layout.size), 0
    for step in range(STEPS):
        train(model, adamw, [step], rank, workers)
        if (step + 1) % 3 == 0:
            learned += outer._common.learned
            seen += 1
    with outer.settle():
        common = weights_of(model)
    assert outer.stats()["exchanges"] == seen == 4
    rows = everyones(outer, common)
    assert all(each == rows[0] for each in rows)
    whole = [torch.tensor(each, dtype=torch.int32).view(torch.float32)
             for each in everyones(outer, learned - outer.residual())]
    assert torch.allclose(sum(whole) / workers, first - common, atol=1e-5)
    assert (first - common).abs().max() > 1e-3
    outer.close()


@pytest.mark.parametrize("flags", [("whole",), ("delayed",)])
def test_replicas_are_identical_and_nothing_is_lost(flags):
    run(__file__, sums, 2, *flags)


def nesterov(rank, workers):
    model, alone = model_of(), model_of()
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    outer = syncopate.torch.Outer(model, sgd, every=2, values="f32", outer_lr=0.7, outer_momentum=0.9)
    train(model, sgd, range(STEPS), rank, workers)
    slow = torch.optim.SGD(alone.parameters(), 0.7, momentum=0.9, nesterov=True)
    for first in range(0, STEPS, 2):  # what PyTorch's own makes of the same differences
        copies = [copy.deepcopy(alone) for _ in range(workers)]
        for place, each in enumerate(copies):
            train(each, torch.optim.SGD(each.parameters(), 0.1), (first, first + 1), place, workers)
        for parameter, *others in zip(alone.parameters(), *(each.parameters() for each in copies)):
            parameter.grad = parameter.detach() - sum(others).detach() / workers
        slow.step()
    assert torch.allclose(weights_of(model), weights_of(alone), atol=1e-5)
    outer.close()


def test_the_outer_step_is_nesterovs_as_pytorch_makes_it():
    run(__file__, nesterov, 2)


def updates(rank, workers):
    model = model_of()
    ddp = nn.parallel.DistributedDataParallel(model)
    adamw = torch.optim.AdamW(ddp.parameters(), 0.01)
    outer = syncopate.torch.attach(ddp, optimizer=adamw)
    assert outer.every == 4 and outer.options["values"] == "q2" and outer.lr_factor == 2 ** 0.5
    first = weights_of(model)
    for step in range(3):
        train(ddp, adamw, range(4 * step, 4 * step + 4), rank, workers)
        mine = everyones(outer, torch.cat([each.grad.flatten() for each in model.parameters()]))
        assert mine[0] != mine[1]  # gradients stay with their workers
        rows = everyones(outer, weights_of(model))
        assert rows[0] == rows[1] and not torch.equal(weights_of(model), first)
    outer.close()
    train(ddp, adamw, [3], rank, workers)
    whole = [torch.empty(6 * 16) for _ in range(workers)]
    dist.all_gather(whole, model[0].weight.grad.flatten())
    assert torch.equal(whole[0], whole[1])  # and are DDP's again
    dist.barrier()


def test_attach_sends_updates_for_adamw():
    run(__file__, updates, 2)


def stretched(rank, workers):
    for kind, factor in ((torch.optim.AdamW, 2 ** 0.5), (torch.optim.SGD, 1.0)):
        model, alone = model_of(), model_of()
        optimizer, own = kind(model.parameters(), 0.01), kind(alone.parameters(), 0.01 * factor)
        outer = syncopate.torch.Outer(model, optimizer, every=STEPS + 1)
        schedules = [torch.optim.lr_scheduler.ExponentialLR(each, 0.5) for each in (optimizer, own)]
        for step in range(3):
            train(model, optimizer, [step], rank, workers)
            train(alone, own, [step], rank, workers)
            [each.step() for each in schedules]
        assert optimizer.param_groups[0]["lr"] == 0.01 / 8
        assert torch.allclose(weights_of(model), weights_of(alone), atol=1e-6)
        outer.close()


def test_steps_of_adam_are_as_long_as_with_the_mean_gradient():
    run(__file__, stretched, 2)


def test_a_step_that_raises_leaves_the_learning_rate_to_the_next():
    model, adamw, _ = alone()
    outer = syncopate.torch.Outer(model, adamw, every=9, lr_factor=2)

    def fail():
        raise RuntimeError("no loss")
    with pytest.raises(RuntimeError):
        adamw.step(fail)
    train(model, adamw, range(2), 0, 1)
    assert adamw.param_groups[0]["lr"] == 0.01
    outer.close()


def test_values_have_four_bits_or_what_fits_into_a_fiftieth_of_the_bytes():
    for every, values in ((4, "q2"), (6, "q2"), (7, "q4"), (12, "q4"), (13, "q4"), (100, "q4")):
        model, adamw, _ = alone()
        outer = syncopate.torch.Outer(model, adamw, every=every)
        assert (outer.options["values"], outer.options["residual"]) == (values, "feedback")
        outer.close()


def normalised(rank, workers):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    outer = syncopate.torch.Outer(model, sgd, every=2)
    train(model, sgd, range(4), rank, workers)
    mine = model[1].running_mean.clone()
    rows = torch.stack([torch.tensor(each, dtype=torch.int32).view(torch.float32) for each in everyones(outer, mine)])
    with outer.settle():
        assert torch.allclose(model[1].running_mean, rows.mean(0)) and not torch.equal(rows[0], rows[1])
        settled = everyones(outer, model[1].running_mean)
        assert settled[0] == settled[1]
    assert torch.equal(model[1].running_mean, mine)
    outer.close()


def test_running_statistics_are_the_mean_of_all_workers_while_settled():
    run(__file__, normalised, 2)


def expect(text, call, *arguments, **named):
    with pytest.raises(syncopate.OptionError) as caught:
        call(*arguments, **named)
    assert text in str(caught.value), str(caught.value)


def telling(rank, workers):
    model = model_of()
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    expect("every is 2 on worker 0 and 3 on worker 1", syncopate.torch.Outer, model, sgd, every=2 + rank)

    outer = syncopate.torch.Outer(model, sgd, every=2)
    if rank == 1:
        sgd.zero_grad()  # a step is begun and left out
    expect("the number of zero_grad calls is 2 on worker 0 and 3 on worker 1", train, model, sgd, range(2), rank,
           workers)
    outer.close()

    outer = syncopate.torch.Outer(model, sgd, every=2)
    sgd.zero_grad()
    if rank == 1:
        outer.skip()
    else:
        sgd.step()
    train(model, sgd, [1], rank, workers)
    assert outer.stats()["exchanges"] == 1 and outer.stats()["skipped"] == rank
    model[0].bias.requires_grad_(rank == 0)  # frozen, on one worker
    expect('"0.bias" was frozen' if rank else "worker 1 cannot continue", train, model, sgd, range(2), rank, workers)
    outer.close()


def test_workers_that_differ_are_told_all_in_the_same_call():
    run(__file__, telling, 2)


def changing(rank, workers):
    """Parameters that are added to an optimizer, everywhere, or taken from it, on one worker."""
    def add(sgd):
        sgd.add_param_group({"params": [nn.Parameter(torch.zeros(2))]})

    def take(sgd):
        if rank == 1:
            sgd.param_groups[0]["params"].pop()

    own = "the optimizer has other parameters than when Outer was created"
    for change, text in ((add, own), (take, own if rank else "worker 1 cannot continue")):
        model = model_of()
        sgd = torch.optim.SGD(model.parameters(), 0.1)
        outer = syncopate.torch.Outer(model, sgd, every=2)
        train(model, sgd, range(2), rank, workers)
        change(sgd)
        expect(text, train, model, sgd, range(2), rank, workers)
        outer.close()


def test_an_optimizer_whose_parameters_change_is_told():
    run(__file__, changing, 2)


def leaving(rank, workers):
    """One worker has a batch less, and closes. The other must not wait for it for torch.distributed's half hour."""
    model = model_of()
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    outer = syncopate.torch.Outer(model, sgd, every=2, timeout_ms=1000)
    if rank == 1:
        train(model, sgd, range(3), rank, workers)
        outer.close()
    else:
        with pytest.raises(syncopate.PeerError, match="worker 1"):
            train(model, sgd, range(4), rank, workers)
    dist.barrier()


def test_a_worker_that_makes_fewer_steps_and_leaves_is_named():
    run(__file__, leaving, 2)


class Scaler:
    """As a GradScaler: step() or not, then update()."""

    def __init__(self, skipped):
        self.skipped, self.step_number = skipped, 0

    def get_scale(self):
        return 1.0

    def step(self, optimizer):
        if self.step_number not in self.skipped:
            optimizer.step()
        self.step_number += 1

    def update(self):
        """As GradScaler's."""


def scaled(rank, workers):
    model = model_of()
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    scaler = Scaler([1, 3] if rank == 0 else [2])
    outer = syncopate.torch.Outer(model, sgd, every=2, scaler=scaler)
    for step in range(4):
        sgd.zero_grad()
        inputs, labels = part_of(step, rank, workers)
        nn.functional.cross_entropy(model(inputs), labels).backward()
        scaler.step(sgd)
        scaler.update()
    assert outer.stats()["exchanges"] == 2 and outer.stats()["skipped"] == (2 if rank == 0 else 1)
    outer.close()


def test_steps_that_a_scaler_skips_count():
    run(__file__, scaled, 2)


def saved(rank, workers, folder):
    finals = []
    for is_resumed in (False, True):
        model = model_of()
        adamw = torch.optim.AdamW(model.parameters(), 0.01)
        outer = syncopate.torch.Outer(model, adamw, every=3, density=0.1, outer_momentum=0.5, delayed=True)
        if is_resumed:
            more = syncopate.torch.load(folder, outer)
            adamw.load_state_dict(more["adamw"])
        else:
            train(model, adamw, range(7), rank, workers)
            syncopate.torch.save(folder, outer, adamw=adamw.state_dict())
        train(model, adamw, range(7, STEPS), rank, workers)
        finals.append(weights_of(model))
        outer.close()
    assert torch.equal(*finals)


def test_a_run_goes_on_to_the_same_bits(tmp_path):
    run(__file__, saved, 2, tmp_path)


def alone(**options):
    syncopate.torch.init()
    model = model_of()
    return model, torch.optim.AdamW(model.parameters(), 0.01), options


@pytest.mark.parametrize("options, text", [
    ({"every": 0}, "every: 0 is not valid"), ({"every": 2.5}, "every: 2.5 is not valid"),
    ({"density": 0}, "density: 0 is not valid"), ({"density": 1.5}, "density: 1.5 is not valid"),
    ({"outer_lr": -1}, "outer_lr: -1 is not valid"), ({"outer_momentum": 1}, "outer_momentum: 1 is not valid"),
    ({"lr_factor": 0}, "lr_factor: 0 is not valid"), ({"values": "f32", "forget": 0.1}, "forget"),
    ({"values": "q3"}, "q3"), ({"colour": 1}, 'no option "colour"')])
def test_odd_values_are_refused_with_what_was_expected(options, text):
    model, adamw, _ = alone()
    expect(text, syncopate.torch.Outer, model, adamw, **options)


def test_one_worker_trains_with_a_delay_as_without_anybody():
    model, adamw, _ = alone()
    outer = syncopate.torch.Outer(model, adamw, every=3, values="f32", outer_momentum=0, delayed=True)
    plain = model_of()
    train(model, adamw, range(STEPS), 0, 1)
    train(plain, torch.optim.AdamW(plain.parameters(), 0.01), range(STEPS), 0, 1)
    assert torch.allclose(weights_of(model), weights_of(plain), atol=1e-5)
    outer.close()


@pytest.mark.parametrize("warmup, expected", [(0, [0.01] * 4), (2, [0.25] + [0.01] * 3),
                                              (6, [0.25, 0.25 ** 3, 0.01, 0.01]),
                                              (12, [0.25, 0.25 ** 2, 0.25 ** 3, 0.01])])
def test_an_exchange_has_the_density_of_its_first_step(warmup, expected):
    model, adamw, _ = alone()
    outer = syncopate.torch.Outer(model, adamw, every=3, density=0.01, density_warmup=warmup)
    seen, begin = [], outer.reducer.begin
    outer.reducer.begin = lambda gradient, density: (seen.append(density), begin(gradient, density))[1]
    train(model, adamw, range(12), 0, 1)
    assert seen == expected
    outer.close()


def test_a_share_of_what_waits_is_forgotten_with_each_exchange():
    model, _, _ = alone()
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    outer = syncopate.torch.Outer(model, sgd, every=1, density=0.1, values="f32", forget=0.25,
                                  outer_momentum=0)
    train(model, sgd, [0], 0, 1)
    waited = outer.residual().clone()
    sgd.param_groups[0]["lr"] = 0.0  # nothing more is learned: what waits is sent or shrinks
    train(model, sgd, [1], 0, 1)
    waits = outer.residual()
    left = waits != 0
    assert left.any() and torch.allclose(waits[left], 0.75 * waited[left], rtol=1e-5)
    outer.close()


class LivingScaler(torch.cuda.amp.GradScaler):
    """One that is at work, also without a GPU."""

    def __init__(self):
        super().__init__(enabled=False)
        self._scale = torch.tensor(1024.0)

    def is_enabled(self):
        return True

    def get_scale(self):
        return 1024.0


def test_a_scaler_that_nobody_told_of_is_found():
    model, adamw, _ = alone()
    outer = syncopate.torch.Outer(model, adamw, every=1)
    scaler = LivingScaler()
    expect("multiplies the loss by 1024, and skips steps", train, model, adamw, [0], 0, 1)
    outer.close()
    scaler._scale = None  # others need not be told of it


def test_an_optimizer_of_other_parameters_is_refused():
    model, _, _ = alone()
    expect("not in the model", syncopate.torch.Outer, model, torch.optim.SGD(model_of().parameters(), 0.1))


def test_close_leaves_the_optimizer_as_it_was():
    model, adamw, _ = alone()
    outer = syncopate.torch.Outer(model, adamw, every=1)
    schedule = torch.optim.lr_scheduler.StepLR(adamw, 1, 0.5)  # wraps step() after Outer has
    train(model, adamw, range(2), 0, 1)
    schedule.step()
    outer.close()
    train(model, adamw, range(2), 0, 1)
    assert outer.exchanges == 2
    with pytest.raises(syncopate.ClosedError):
        outer.exchange()
    syncopate.torch.Outer(model, adamw, every=1).close()


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="PyTorch 2 has torch.compile")
def test_a_compiled_model_is_exchanged():
    model, adamw, _ = alone()
    compiled = torch.compile(model, backend="eager")
    outer = syncopate.torch.Outer(compiled, adamw, every=2)
    train(compiled, adamw, range(4), 0, 1)
    assert outer.exchanges == 2
    outer.close()


if __name__ == "__main__":
    main({each.__name__: each for each in (with_parts, sums, nesterov, updates, stretched, normalised,
                                                   telling, changing, leaving, scaled, saved)})
