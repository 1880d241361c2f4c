"""States: a run that is resumed comes to the bits it would have come to, and no gradient is lost when the
number of workers changes. And the files that tell of a run."""
import json
import os

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import workers as cluster
from test_optimizer import batch_of, flat, make_model, train

HALF = 6


def make_hooked(algo, **options):
    import syncopate.torch
    ddp = DistributedDataParallel(make_model(), broadcast_buffers=False)
    sgd = torch.optim.SGD(ddp.parameters(), 0.05, momentum=0.9)
    if algo != "strom":
        options["density_warmup"] = 4
    return ddp, sgd, syncopate.torch.attach(ddp, algo, density=0.05, **options)


def hooks_resume_exactly(rank, workers, directory):
    import syncopate.torch
    for algo, options in (("gtopk", {"momentum": 0.5}), ("topk", {}), ("strom", {})):
        place = os.path.join(directory, algo)
        straight, sgd, attached = make_hooked(algo, **options)
        train(straight, sgd, rank, HALF)
        syncopate.torch.save(place, attached, model=straight.state_dict(), sgd=sgd.state_dict())
        train(straight, sgd, rank, HALF, first=HALF)
        attached.close()
        dist.barrier()
        resumed, sgd, attached = make_hooked(algo, **options)
        more = syncopate.torch.load(place, attached)
        resumed.load_state_dict(more["model"])
        sgd.load_state_dict(more["sgd"])
        assert attached.steps == HALF
        train(resumed, sgd, rank, HALF, first=HALF)
        assert torch.equal(flat(straight), flat(resumed)), f"{algo} resumed elsewhere"
        attached.close()


def optimizers_resume_exactly(rank, workers, directory):
    import syncopate.torch
    for algo in ("ssd-sgd", "gtopk"):
        place = os.path.join(directory, f"optimizer-{algo}")
        options = {"lr": 0.05, **({"warmup": 2} if algo == "ssd-sgd" else {"density": 0.05})}
        straight, resumed = make_model(), make_model()
        optimizer = syncopate.torch.Optimizer(straight, algo, **options)
        train(straight, optimizer, rank, HALF)
        syncopate.torch.save(place, optimizer, statistics=straight.state_dict())
        train(straight, optimizer, rank, HALF, first=HALF)
        optimizer.settle()
        optimizer.close()
        dist.barrier()
        optimizer = syncopate.torch.Optimizer(resumed, algo, **options)
        more = syncopate.torch.load(place, optimizer)
        for name, buffer in resumed.named_buffers():
            buffer.copy_(more["statistics"][name])
        train(resumed, optimizer, rank, HALF, first=HALF)
        optimizer.settle()
        assert torch.equal(flat(straight), flat(resumed)), f"{algo} resumed elsewhere"
        optimizer.close()


def servers_resume_exactly(rank, workers, directory):
    """The last process is a server; workers save what it holds."""
    import syncopate.torch
    for algo in ("ssgd", "ssd-sgd"):
        place = os.path.join(directory, f"servers-{algo}")
        options = {"lr": 0.05, "servers": 1, **({"warmup": 2} if algo == "ssd-sgd" else {})}
        ends = []
        for first in (0, HALF):
            model = make_model()
            optimizer = syncopate.torch.Optimizer(model, algo, **options)
            if not optimizer.is_server:
                if first > 0:
                    more = syncopate.torch.load(place, optimizer)
                    for name, buffer in model.named_buffers():
                        buffer.copy_(more["statistics"][name])
                    assert optimizer.steps == HALF
                else:
                    train(model, optimizer, rank, HALF)
                    syncopate.torch.save(place, optimizer, statistics=model.state_dict())
                train(model, optimizer, rank, HALF, first=HALF)
                optimizer.settle()
                ends.append(flat(model))
                optimizer.close()
            dist.barrier()
        assert not ends or torch.equal(*ends), f"{algo} resumed elsewhere"


def leave_states(rank, workers, directory):
    """What the next scene, with another number of workers, finds: states, and the sum of residuals."""
    import syncopate.torch
    ddp, sgd, attached = make_hooked("topk")
    train(ddp, sgd, rank, HALF)
    syncopate.torch.save(os.path.join(directory, "hook"), attached)
    total = attached.residual().clone()
    dist.all_reduce(total)
    if rank == 0:
        torch.save(total / workers, os.path.join(directory, "mean.pt"))
    attached.close()
    model = make_model()
    optimizer = syncopate.torch.Optimizer(model, "ssd-sgd", lr=0.05, warmup=2)
    train(model, optimizer, rank, HALF)
    syncopate.torch.save(os.path.join(directory, "optimizer"), optimizer)
    optimizer.settle()
    if rank == 0:
        torch.save(flat(model), os.path.join(directory, "weights.pt"))
    optimizer.close()


def find_states(rank, workers, directory):
    import syncopate.torch
    ddp, sgd, attached = make_hooked("topk")
    syncopate.torch.load(os.path.join(directory, "hook"), attached)
    total = attached.residual().clone()
    dist.all_reduce(total)
    expected = torch.load(os.path.join(directory, "mean.pt"))
    assert attached.steps == HALF and torch.allclose(total / workers, expected, atol=1e-6)
    train(ddp, sgd, rank, 2)
    attached.close()
    model = make_model()
    optimizer = syncopate.torch.Optimizer(model, "ssd-sgd", lr=0.05, warmup=2)
    syncopate.torch.load(os.path.join(directory, "optimizer"), optimizer)
    assert torch.equal(flat(model), torch.load(os.path.join(directory, "weights.pt")))
    train(model, optimizer, rank, 5)
    optimizer.settle()
    optimizer.close()


def workers_on_file_systems_of_their_own_resume(rank, workers, directory):
    """Each sees its own files only; and one of them was stopped before it had saved the last time."""
    import syncopate.torch
    for kind in ("hook", "optimizer"):
        place = os.path.join(directory, f"own-{kind}-{rank}")

        def make():
            if kind == "hook":
                return make_hooked("gtopk")
            model = make_model()
            optimizer = syncopate.torch.Optimizer(model, "ssd-sgd", lr=0.05, warmup=2)
            return model, optimizer, optimizer
        model, optimizer, source = make()
        for first in range(0, 8, 2):
            train(model, optimizer, rank, 2, first=first)
            path = syncopate.torch.save(place, source, mine=rank)
            names = sorted(os.listdir(place))
            assert len(names) == min(first // 2 + 1, 2) and names[-1] == os.path.basename(path), names
        if rank == 1:
            os.remove(path)
        source.close()
        dist.barrier()
        _, _, source = make()
        assert syncopate.torch.load(place, source) == {"mine": rank} and source.steps == 6
        source.close()


def a_worker_that_is_gone_is_named_to_those_that_load(rank, workers, directory):
    import syncopate.torch
    place = os.path.join(directory, "gone")
    model, optimizer, attached = make_hooked("gtopk")
    train(model, optimizer, rank, 2)
    syncopate.torch.save(place, attached)
    if rank == 1:
        attached.close()
    else:
        try:
            syncopate.torch.load(place, attached)
            raise AssertionError("loaded without worker 1")
        except syncopate.Error as error:
            assert "worker 1" in str(error), error
        attached.close()
    dist.barrier()


def old_states_are_removed_but_not_those_that_are_needed(rank, workers, directory):
    import syncopate.torch
    place = os.path.join(directory, "pruned")
    ddp, sgd, attached = make_hooked("topk")
    left = f"of-{workers + 1:05d}.state"  # by one worker more
    if rank == 0:
        os.makedirs(place)
        for other in range(workers + 1):
            open(os.path.join(place, f"step-{1:012d}-rank-{other:05d}-{left}"), "wb").close()
        open(os.path.join(place, "notes.txt"), "w", encoding="utf-8").close()
    dist.barrier()
    for count in range(1, 5):
        train(ddp, sgd, rank, 1)
        dist.barrier()
        syncopate.torch.save(place, attached, keep=None if count == 2 else 3)
        dist.barrier()
        kept = {name[:17] for name in os.listdir(place)} - {"notes.txt"}
        assert kept == {f"step-{step:012d}" for step in range(max(1, count - 2), count + 1)}, kept
        assert any(left in name for name in os.listdir(place)) == (count < 4)
    assert len(os.listdir(place)) == 3 * workers + 1
    attached.close()


class Writer:
    """As TensorBoard's SummaryWriter."""

    def __init__(self):
        self.told = []

    def add_scalar(self, name, value, step):
        self.told.append((name, value, step))


def files_tell_of_a_run(rank, workers, directory):
    import syncopate.torch
    ddp, sgd, attached = make_hooked("gtopk")
    writer = Writer()
    metrics = syncopate.torch.Metrics(os.path.join(directory, "run"), attached, steps_per_epoch=10,
                                      log_every=5, also=writer, model="small", data="noise", batch=8)
    seen = []
    for step in range(10):
        x, y = batch_of(rank, step)
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        sgd.step()
        metrics.step(loss.item(), 8, lr=0.05, accuracy=0.5)
        stats = attached.stats()
        seen.append([loss.item(), stats["bytes_out"], stats["bytes_in"], stats["selected"]])
    if rank == 0:
        torch.save(seen, os.path.join(directory, "seen.pt"))
    metrics.evaluated(0.25, 0.75)
    summary = metrics.finish()
    assert [each for each in writer.told if each[0] in ("lr", "test_loss")] == (
        [("lr", 0.05, 5), ("lr", 0.05, 10), ("test_loss", 0.25, 10)] if rank == 0 else [])
    assert summary["steps"] == 10 and summary["ratio_to_dense"] > 1
    stats = attached.stats()
    assert stats["bytes_out"] > 0 and stats["residual_norm"] > 0 and 0 < stats["density"] < 0.1
    attached.close()


def all_scenes(rank, workers, directory):
    for scene in (hooks_resume_exactly, optimizers_resume_exactly, servers_resume_exactly,
                  workers_on_file_systems_of_their_own_resume, a_worker_that_is_gone_is_named_to_those_that_load,
                  old_states_are_removed_but_not_those_that_are_needed, leave_states,
                  files_tell_of_a_run):
        scene(rank, workers, directory)
        dist.barrier()


def test_states_and_files(tmp_path):
    cluster.run(__file__, all_scenes, 3, tmp_path)
    lines = [json.loads(line) for line in open(tmp_path / "run" / "metrics.jsonl", encoding="utf-8")]
    assert [line["step"] for line in lines] == [5, 10, 10]
    assert {"loss", "lr", "step_ms", "bytes_out", "density", "threshold", "residual_norm"} <= set(lines[0])
    assert abs(lines[0]["images_per_s"] * lines[0]["step_ms"] / 1e3 - 3 * 8) < 1e-6  # of all workers
    seen = torch.tensor(torch.load(tmp_path / "seen.pt"), dtype=torch.float64)  # by the first worker, step by step
    for line, five in zip(lines, (seen[:5], seen[5:])):
        told = [line[name] for name in ("loss", "bytes_out", "bytes_in", "entries")]
        assert torch.allclose(torch.tensor(told, dtype=torch.float64), five.mean(0), rtol=1e-6), (told, five)
    assert lines[2]["test_accuracy"] == 0.75 and lines[2]["epoch"] == 1
    summary = json.load(open(tmp_path / "run" / "summary.json", encoding="utf-8"))
    settings = json.load(open(tmp_path / "run" / "settings.json", encoding="utf-8"))
    assert abs(summary["bytes_out_per_step"] / seen[:, 1].mean().item() - 1) < 1e-6
    assert summary["algo"] == settings["algo"] == "gtopk" and summary["model"] == "small"
    assert abs(summary["images_per_s"] * summary["ms_per_step"] / 1e3 - 3 * 8) < 1e-6
    cluster.run(__file__, find_states, 2, tmp_path)
    os.remove(next((tmp_path / "hook").iterdir()))
    codes, outputs = cluster.finish(cluster.start(__file__, find_states, 1, tmp_path))
    assert codes == [1] and "no complete set" in outputs[0] and "2 of 3 workers" in outputs[0]


if __name__ == "__main__":
    cluster.main(globals())
