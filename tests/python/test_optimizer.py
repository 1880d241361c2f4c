"""The optimizer: the library's steps on a PyTorch model."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

import workers as cluster


def make_model(dtype=torch.float32):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(20, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4)).to(dtype)


def batch_of(rank, step):
    torch.manual_seed(1000 * step + rank)
    x = torch.randn(8, 20)
    return x, x[:, :4].argmax(1)


def flat(model):
    return torch.cat([parameter.detach().float().flatten() for parameter in model.parameters()])


def train(model, optimizer, rank, steps, first=0, scheduler=None):
    for step in range(first, first + steps):
        x, y = batch_of(rank, step)
        optimizer.zero_grad()
        F.cross_entropy(model(x.to(next(model.parameters()).dtype)).float(), y).backward()
        optimizer.step()
        if scheduler:
            scheduler.step()


def assert_replicas_agree(tensor, workers):
    everyone = [torch.empty_like(tensor) for _ in range(workers)]
    dist.all_gather(everyone, tensor)
    assert all(torch.equal(tensor, other) for other in everyone)


def synchronous_steps_are_those_of_ddp_with_sgd(rank, workers):
    import syncopate.torch
    ddp = nn.parallel.DistributedDataParallel(make_model(), broadcast_buffers=False)
    sgd = torch.optim.SGD(ddp.parameters(), 0.1, momentum=0.9, weight_decay=1e-3)
    train(ddp, sgd, rank, 10, scheduler=torch.optim.lr_scheduler.StepLR(sgd, 4, 0.5))
    model = make_model()
    ours = syncopate.torch.Optimizer(model, "ssgd", lr=0.1, momentum=0.9, weight_decay=1e-3)
    train(model, ours, rank, 10, scheduler=torch.optim.lr_scheduler.StepLR(ours, 4, 0.5))
    assert ours.param_groups[0]["lr"] == 0.025 and ours.steps == 10
    assert torch.allclose(flat(model), flat(ddp), atol=1e-5), (flat(model) - flat(ddp)).abs().max()
    ours.close()


def delayed_steps_settle_to_the_same_weights_everywhere(rank, workers):
    import syncopate.torch
    for algo, options in (("od-sgd", {}), ("ssd-sgd", {"delay": 4}),
                          ("ssd-sgd", {"select": "topk", "exchange": "gtopk", "density": 0.1,
                                       "residual": "feedback"})):
        straight, watched = make_model(), make_model()
        one = syncopate.torch.Optimizer(straight, algo, lr=0.05, warmup=3, **options)
        train(straight, one, rank, 13)
        one.settle()
        assert_replicas_agree(flat(straight), workers)
        two = syncopate.torch.Optimizer(watched, algo, lr=0.05, warmup=3, **options)
        train(watched, two, rank, 9)
        own = flat(watched)
        with two.settle():
            assert_replicas_agree(flat(watched), workers)
            assert_replicas_agree(watched[1].running_mean, workers)
        assert torch.equal(own, flat(watched)), "settle() left the global weights behind"
        train(watched, two, rank, 4, first=9)
        two.settle()
        assert torch.equal(flat(straight), flat(watched)), f"settling in between changed {algo}"
        one.close()
        two.close()


def running_statistics_are_the_mean_of_all_workers(rank, workers):
    import syncopate.torch
    model = make_model()
    optimizer = syncopate.torch.Optimizer(model, "ssgd", lr=0.1)
    train(model, optimizer, rank, 3)
    own = model[1].running_mean.clone()
    mean = own.clone()
    dist.all_reduce(mean)
    mean /= workers
    assert not torch.allclose(own, mean)
    with optimizer.settle():
        assert torch.allclose(model[1].running_mean, mean, atol=1e-6)
    assert torch.equal(model[1].running_mean, own)
    optimizer.close()


def weights_of_sixteen_bits_are_kept_in_full(rank, workers):
    import syncopate.torch
    model = make_model(torch.bfloat16)
    optimizer = syncopate.torch.Optimizer(model, "ssgd", lr=1e-4, momentum=0)
    before = optimizer._weights.clone()
    train(model, optimizer, rank, 5)
    moved = optimizer._weights - before
    assert moved.any() and (moved.abs() < 2**-9).all()
    assert torch.equal(flat(model), optimizer._weights.to(torch.bfloat16).float())
    optimizer.close()


def a_step_on_settled_weights_is_refused(rank, workers):
    import syncopate
    model = make_model()
    optimizer = syncopate.torch.Optimizer(model, "od-sgd", lr=0.1)
    train(model, optimizer, rank, 2)
    optimizer.settle()
    try:
        train(model, optimizer, rank, 1)
        raise AssertionError("the step was made")
    except syncopate.OptionError as error:
        assert "resume()" in str(error)
    optimizer.resume()
    train(model, optimizer, rank, 1)
    optimizer.close()


def steps_that_are_not_finite_leave_no_trace(rank, workers):
    import syncopate
    for algo in ("ssgd", "gtopk", "strom"):
        straight, disturbed = make_model(), make_model()
        options = {} if algo == "ssgd" else {"density": 0.2}
        one = syncopate.torch.Optimizer(straight, algo, lr=0.1, **options)
        two = syncopate.torch.Optimizer(disturbed, algo, lr=0.1, **options)
        train(straight, one, rank, 6)
        train(disturbed, two, rank, 3)
        before = flat(disturbed)
        hand_over_something_bad(disturbed, two, rank)
        assert torch.equal(before, flat(disturbed)) and two.steps == 3
        train(disturbed, two, rank, 3, first=3)
        assert torch.equal(flat(straight), flat(disturbed)), algo
        one.close()
        two.close()


def hand_over_something_bad(model, optimizer, rank):
    import syncopate
    optimizer.zero_grad()
    model[3].bias.grad[2] = float("nan") if rank == 0 else 1.0
    try:
        optimizer.step()
    except syncopate.NonFiniteError as error:
        assert '"3.bias", entry 2' in str(error), str(error)
        return
    raise AssertionError("the step was made")


def delayed_steps_that_are_not_finite_begin_anew(rank, workers):
    import syncopate
    for algo, options in (("od-sgd", {}), ("ssd-sgd", {"delay": 3, "optimizer_local": "glu"}),
                          ("ssd-sgd", {"select": "topk", "exchange": "gtopk", "density": 0.1,
                                       "residual": "feedback"})):
        model = make_model()
        optimizer = syncopate.torch.Optimizer(model, algo, lr=0.05, warmup=2, **options)
        found = []
        for step in range(12):
            x, y = batch_of(rank, step)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            if step == 6 and rank == workers - 1:
                model[0].weight.grad[1, 1] = float("inf")
            try:
                optimizer.step()
            except syncopate.NonFiniteError:
                found.append(step)
                assert_replicas_agree(flat(model), workers)
        assert found and 6 <= found[0] <= 8, found
        optimizer.settle()
        assert flat(model).isfinite().all()
        assert_replicas_agree(flat(model), workers)
        optimizer.close()


def states_are_saved_after_a_step_that_is_not_finite(rank, workers):
    import syncopate
    model = make_model()
    optimizer = syncopate.torch.Optimizer(model, "od-sgd", lr=0.05, warmup=1)
    train(model, optimizer, rank, 3)
    optimizer.zero_grad()
    model[3].bias.grad[2] = float("nan")
    optimizer.step()  # nobody knows yet
    assert flat(model).isfinite().all()
    try:
        optimizer.state_dict()
        raise AssertionError("a state was saved")
    except syncopate.NonFiniteError:
        assert flat(model).isfinite().all()
    assert torch.equal(optimizer.state_dict()["weights"], flat(model))
    optimizer.close()


def servers_apply_every_gradient_at_once(rank, workers):
    import syncopate.torch
    model = make_model()
    optimizer = syncopate.torch.Optimizer(model, "asgd", lr=0.02, servers=1)
    assert optimizer.is_server == (rank == workers - 1)
    if optimizer.is_server:
        return
    train(model, optimizer, rank, 12)
    optimizer.settle()
    assert optimizer.steps == 12 and optimizer.stats()["bytes_out"] > 0
    optimizer.close()


def a_parameter_without_a_gradient_stays(rank, workers):
    """Not even the gradient of an earlier step moves it."""
    import syncopate.torch
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 4))
    optimizer = syncopate.torch.Optimizer(model, "ssgd", lr=0.1, momentum=0)
    model(torch.randn(2, 6)).sum().backward()
    optimizer.step()
    model.zero_grad(set_to_none=True)
    before = model[1].weight.detach().clone()
    model[0](torch.randn(2, 6)).sum().backward()
    optimizer.step()
    assert torch.equal(model[1].weight, before)
    optimizer.close()


def all_scenes(rank, workers):
    for scene in (synchronous_steps_are_those_of_ddp_with_sgd,
                  delayed_steps_settle_to_the_same_weights_everywhere,
                  running_statistics_are_the_mean_of_all_workers,
                  weights_of_sixteen_bits_are_kept_in_full, a_step_on_settled_weights_is_refused,
                  steps_that_are_not_finite_leave_no_trace,
                  delayed_steps_that_are_not_finite_begin_anew,
                  states_are_saved_after_a_step_that_is_not_finite,
                  a_parameter_without_a_gradient_stays,
                  servers_apply_every_gradient_at_once):
        scene(rank, workers)
        dist.barrier()


def test_weights_with_three_workers():
    cluster.run(__file__, all_scenes, 3)


if __name__ == "__main__":
    cluster.main(globals())
