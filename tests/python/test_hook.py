"""The hook delivers what the C library does, to the bit, however DDP cuts and fills its buckets."""
import threading

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import workers as cluster

STEPS = 5


class Terms(nn.Module):
    """A loss whose gradient is whatever it is given: the sum of parameters times that."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        shapes = {"matrix": (37, 11), "vector": (5,), "number": (), "cube": (3, 4, 5), "long": (4001,)}
        self.names = list(shapes)
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(torch.zeros(shape, dtype=dtype)))

    def forward(self, gradients):
        return sum((getattr(self, name) * gradients[name]).sum() for name in gradients)


def gradients_of(rank, step, dtype=torch.float32):
    torch.manual_seed(100 * step + rank)
    return {name: torch.randn(parameter.shape).to(dtype)
            for name, parameter in Terms().named_parameters()}


def reference(algo, workers, steps, given=None, **options):
    """Every step's mean gradient by name, from C reducers on threads.
    given  [step][rank], of those gradients instead of the usual ones"""
    from syncopate.core import Group, Layout, Reducer, ReducerOptions
    from syncopate.library import C
    from ctypes import byref
    names = {name: p.shape for name, p in reversed(list(Terms().named_parameters()))}
    layout = Layout((name, shape.numel()) for name, shape in names.items())
    chosen = ReducerOptions(algo)
    chosen.set_all(options)
    results = [[] for _ in range(workers)]

    def work(rank, group):
        reducer = Reducer(group, layout, chosen)
        for step in range(steps):
            mine = gradients[step][rank]
            flat = torch.cat([mine[name].float().flatten() for name in names])
            total = torch.empty(layout.size)
            reducer.begin(flat.data_ptr(), chosen.as_dict()["density"])
            C.syn_merged_to_dense(byref(reducer.wait()), total.data_ptr(), layout.size)
            mean = (total * (1 / workers)).split(layout.counts)
            results[rank].append({name: part.view(names[name]) for name, part in zip(names, mean)})
        reducer.close()

    gradients = given or [[gradients_of(rank, step) for rank in range(workers)]
                          for step in range(steps)]
    threads = [threading.Thread(target=work, args=(rank, group))
               for rank, group in enumerate(Group.of_threads(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results[0]


def assert_same(model, expected, words):
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter.grad, expected[name]), (words, name)


def merged_gradients_are_the_librarys(rank, workers):
    import syncopate.torch
    # Kilobyte-sized buckets: after the first step DDP cuts them anew, and there are several.
    dist._DEFAULT_FIRST_BUCKET_BYTES = 2048
    for algo, views in (("ssgd", False), ("topk", False), ("gtopk", False), ("gtopk", True),
                        ("strom", False)):
        options = {} if algo == "ssgd" else {"density": 0.05}
        expected = reference(algo, workers, STEPS, **options)
        ddp = DistributedDataParallel(Terms(), bucket_cap_mb=0.002, gradient_as_bucket_view=views)
        attached = syncopate.torch.attach(ddp, algo, **options)
        cuts = set()
        for step in range(STEPS):
            ddp.zero_grad()
            ddp(gradients_of(rank, step)).backward()
            assert_same(ddp.module, expected[step], (algo, step))
            cuts.add(len(attached._cut))
        assert len(cuts) > 1, "DDP did not cut its buckets anew"
        assert attached.stats()["steps"] == STEPS
        attached.close()


def accumulated_gradients_are_exchanged_once(rank, workers):
    import syncopate.torch
    ddp = DistributedDataParallel(Terms())
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.05)
    halves = {name: gradient / 2 for name, gradient in gradients_of(rank, 0).items()}
    with ddp.no_sync():
        ddp(halves).backward()
    assert attached.steps == 0
    ddp(halves).backward()
    assert_same(ddp.module, reference("gtopk", workers, 1, density=0.05)[0], "no_sync")
    norm = nn.utils.clip_grad_norm_(ddp.parameters(), 0.1)
    assert norm > 0.1 and attached.steps == 1
    attached.close()


def unused_parameters_are_zero(rank, workers):
    import syncopate.torch
    ddp = DistributedDataParallel(Terms(), find_unused_parameters=True)
    attached = syncopate.torch.attach(ddp, "ssgd")
    for step in range(3):  # a parameter that one worker uses, and one that nobody does
        ddp.zero_grad()
        used = {"matrix": torch.ones(37, 11)}
        if rank == step:
            used["vector"] = torch.ones(5)
        ddp(used).backward()
        assert torch.equal(ddp.module.vector.grad, torch.full((5,), 1 / workers))
        assert torch.equal(ddp.module.matrix.grad, torch.ones(37, 11))
        assert ddp.module.cube.grad is None or not ddp.module.cube.grad.any()
    attached.close()


def half_precision_keeps_residuals_in_full(rank, workers):
    import syncopate.torch
    ddp = DistributedDataParallel(Terms(torch.float16))  # gloo knows no bfloat16
    attached = syncopate.torch.attach(ddp, "topk", density=0.01, values="f32")
    given = gradients_of(rank, 0, torch.float16)
    ddp(given).backward()
    flat = torch.cat([given[name].float().flatten() for name in attached.layout.names])
    residual = attached.residual()
    kept = residual != 0
    assert residual.dtype == torch.float32 and torch.equal(residual[kept], flat[kept])
    arrived = sum(int((parameter.grad != 0).sum()) for parameter in ddp.parameters())
    assert 0 < arrived <= workers * int((~kept).sum())
    attached.close()


class Delivered:
    """A bucket as DDP hands it over: some parameters' gradients in memory of their own."""

    def __init__(self, number, is_last, parameters, gradients, dtype):
        self._number, self._is_last, self._parameters = number, is_last, parameters
        self._buffer = torch.cat([gradient.flatten() for gradient in gradients]).to(dtype)

    def index(self):
        return self._number

    def is_last(self):
        return self._is_last

    def parameters(self):
        return self._parameters

    def buffer(self):
        return self._buffer


def buckets_of_any_type_are_merged_in_full_precision(rank, workers):
    """gloo of PyTorch 1.13 knows no bfloat16, so DDP cannot deliver it here: we do."""
    import syncopate.torch
    ddp = DistributedDataParallel(Terms())
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.05)
    named = dict(ddp.module.named_parameters())
    cut = (("long", "vector"), ("cube", "matrix", "number"))
    history = []
    for step, dtypes in enumerate(((torch.bfloat16, torch.float32), (torch.float32, torch.bfloat16),
                                   (torch.float16, torch.bfloat16))):
        types = {name: dtype for names, dtype in zip(cut, dtypes) for name in names}
        everyone = [gradients_of(each, step) for each in range(workers)]
        rounded = [{name: gradient.to(types[name]).float() for name, gradient in given.items()}
                   for given in everyone]
        buckets = [Delivered(i, i == 1, [named[name] for name in names],
                             [everyone[rank][name] for name in names], dtype)
                   for i, (names, dtype) in enumerate(zip(cut, dtypes))]
        futures = [attached.take(bucket) for bucket in buckets]
        history.append(rounded)
        expected = reference("gtopk", workers, len(history), given=history, density=0.05)[-1]
        for names, bucket, future in zip(cut, buckets, futures):
            mean = torch.cat([expected[name].flatten() for name in names]).to(bucket.buffer().dtype)
            assert torch.equal(future.value(), mean), (step, names)
    attached.close()


def mixed_models_are_merged_in_full_precision(rank, workers):
    import syncopate.torch
    model = Terms()
    model.long = nn.Parameter(model.long.half())
    ddp = DistributedDataParallel(model)
    attached = syncopate.torch.attach(ddp, "topk", density=0.05)
    history = []
    for step in range(3):
        everyone = [gradients_of(each, step) for each in range(workers)]
        for given in everyone:
            given["long"] = given["long"].half()
        history.append(everyone)
        ddp.zero_grad()
        ddp(everyone[rank]).backward()
        expected = reference("topk", workers, step + 1, given=history, density=0.05)[-1]
        expected["long"] = expected["long"].half()
        assert_same(ddp.module, expected, step)
    attached.close()


def a_loss_scale_changes_nothing_but_what_overflows(rank, workers):
    """As torch.cuda.amp.GradScaler does it, which is disabled without a GPU."""
    import syncopate.torch
    plain, scaled = DistributedDataParallel(Terms()), DistributedDataParallel(Terms())
    options = {"density": 0.05, "momentum": 0.5}
    one = syncopate.torch.attach(plain, "gtopk", **options)
    two = syncopate.torch.attach(scaled, "gtopk", nonfinite="nan", **options)
    scale, skipped = 2.0**126, 0
    for step in range(STEPS):
        plain.zero_grad()
        plain(gradients_of(rank, step)).backward()
        while True:
            scaled.zero_grad()
            two.loss_scale = scale
            (scaled(gradients_of(rank, step)) * scale).backward()
            found = [parameter.grad / scale for parameter in scaled.parameters()]
            if all(gradient.isfinite().all() for gradient in found):
                break
            scale, skipped = scale / 16, skipped + 1
        for gradient, parameter in zip(found, plain.parameters()):
            assert torch.equal(gradient, parameter.grad), step
        scale /= 2
    assert skipped > 0 and one.steps == two.steps == STEPS
    one.close()
    two.close()


def buckets_of_the_library_overlap_to_the_same_bits(rank, workers):
    import syncopate.torch
    ddp = DistributedDataParallel(Terms(), bucket_cap_mb=0.002)
    attached = syncopate.torch.attach(ddp, "ssgd", bucket_bytes=4096)
    expected = reference("ssgd", workers, STEPS)
    for step in range(STEPS):
        ddp.zero_grad()
        ddp(gradients_of(rank, step)).backward()
        for name, parameter in ddp.module.named_parameters():
            assert torch.allclose(parameter.grad, expected[step][name], atol=1e-6)
    attached.close()


def gradients_that_are_not_finite_change_nothing(rank, workers):
    import syncopate.torch
    expected = reference("gtopk", workers, 2, density=0.05)
    for mode in ("raise", "nan"):
        ddp = DistributedDataParallel(Terms())
        attached = syncopate.torch.attach(ddp, "gtopk", density=0.05, nonfinite=mode)
        ddp(gradients_of(rank, 0)).backward()
        ddp.zero_grad()
        nonfinite = gradients_of(rank, 7)
        if rank == workers - 1:
            nonfinite["cube"][1, 2, 3] = float("inf")
        try:
            ddp(nonfinite).backward()
            assert mode == "nan"
            assert all(parameter.grad.isnan().all() for parameter in ddp.parameters())
        except RuntimeError as error:
            assert mode == "raise" and 'tensor "cube", entry 33' in str(error), str(error)
        ddp.zero_grad()
        ddp(gradients_of(rank, 1)).backward()
        assert_same(ddp.module, expected[1], mode)
        attached.close()


def one_contiguous_bucket_is_not_copied(rank, workers):
    import syncopate.torch
    ddp = DistributedDataParallel(nn.Sequential(nn.Linear(9, 7), nn.ReLU(), nn.Linear(7, 5)))
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.1)
    for _ in range(3):
        ddp(torch.randn(4, 9)).sum().backward()
        first, attached._flat = attached._flat, None
    assert first is None, "the gradient was copied though it lay in one piece"
    attached.close()


def all_scenes(rank, workers):
    for scene in (merged_gradients_are_the_librarys, accumulated_gradients_are_exchanged_once,
                  unused_parameters_are_zero, half_precision_keeps_residuals_in_full,
                  buckets_of_any_type_are_merged_in_full_precision,
                  mixed_models_are_merged_in_full_precision,
                  a_loss_scale_changes_nothing_but_what_overflows,
                  buckets_of_the_library_overlap_to_the_same_bits,
                  gradients_that_are_not_finite_change_nothing, one_contiguous_bucket_is_not_copied):
        scene(rank, workers)
        dist.barrier()


def test_gradients_with_four_workers():
    cluster.run(__file__, all_scenes, 4)


def test_gradients_with_three_workers():
    cluster.run(__file__, merged_gradients_are_the_librarys, 3)


if __name__ == "__main__":
    cluster.main(globals())
