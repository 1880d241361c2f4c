"""What cannot be done is refused before the first step, in words that help."""
import copy
import io
import math
import os
import struct
import warnings
import zlib

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import syncopate
import syncopate.torch


@pytest.fixture(scope="module", autouse=True)
def alone():
    syncopate.torch.init()


@pytest.fixture
def ddp():
    return DistributedDataParallel(nn.Linear(3, 2))


def refuses(match, call, *arguments, **options):
    with pytest.raises(syncopate.OptionError, match=match) as caught:
        call(*arguments, **options)
    return str(caught.value)


def test_an_unknown_method_lists_those_there_are(ddp):
    text = refuses("gtop", syncopate.torch.attach, ddp, "gtop")
    assert all(name in text for name in syncopate.recipes())


def test_an_unknown_option_lists_those_there_are(ddp):
    text = refuses("did you mean density", syncopate.torch.attach, ddp, densty=0.1)
    assert "bucket_bytes" in text and "exchange" in text
    text = refuses("did you mean delay", syncopate.torch.Optimizer, nn.Linear(3, 2), lr=1, dlay=3)
    assert "optimizer_local" in text and "momentum" in text


def test_values_out_of_range_are_named_with_what_was_expected(ddp):
    refuses('density: "2" is not valid; expected', syncopate.torch.attach, ddp, density=2)
    refuses("nonfinite", syncopate.torch.attach, ddp, nonfinite="ignore")
    refuses("transport", syncopate.torch.attach, ddp, transport="pigeon")
    refuses("density_warmup", syncopate.torch.attach, ddp, density_warmup=-1)
    refuses("lr: 0", syncopate.torch.Optimizer, nn.Linear(3, 2), lr=0)
    refuses("lr: fast", syncopate.torch.Optimizer, nn.Linear(3, 2), lr="fast")
    refuses("scaler", syncopate.torch.attach, ddp, scaler=65536)


@pytest.mark.parametrize("density", [0, -0.1, True, "much", float("nan")])
def test_a_density_that_is_no_share_is_refused(ddp, density):
    refuses("density: .* expected a number above 0", syncopate.torch.attach, ddp, density=density)
    refuses("density: .* expected a number above 0", syncopate.torch.Optimizer, nn.Linear(3, 2), "gtopk",
            lr=0.1, density=density)


@pytest.mark.parametrize("warmup", [10.5, "10", None, True])
def test_a_density_warmup_that_is_no_number_of_steps_is_refused(ddp, warmup):
    refuses(f"density_warmup: {warmup!r} is not valid; expected a whole number", syncopate.torch.attach,
            ddp, density_warmup=warmup)


def test_a_density_warmup_falls_in_four_equal_parts(ddp):
    for density in (0.001, 0.0001):  # above and below what a fifth part would have
        attached = syncopate.torch.attach(ddp, "gtopk", density=density, density_warmup=8)
        found = [attached.density.at(step) for step in range(10)]
        attached.detach()
        assert found == [0.25, 0.25, 0.0625, 0.0625, 2**-6, 2**-6, 2**-8, 2**-8, density, density]


@pytest.mark.parametrize("bucket_bytes", [0, 4096])
def test_each_step_sends_the_share_that_the_warmup_has_for_it(bucket_bytes):
    ddp = DistributedDataParallel(nn.Linear(64, 64, bias=False))
    attached = syncopate.torch.attach(ddp, "topk", density=2**-10, density_warmup=8, bucket_bytes=bucket_bytes)
    sgd = torch.optim.SGD(ddp.parameters(), 1e-6)
    sent = []
    for _ in range(10):
        ddp(torch.randn(16, 64)).square().sum().backward()
        sent.append(attached.stats()["selected"])
        sgd.step()
        sgd.zero_grad()
    attached.detach()
    assert sent == [1024, 1024, 256, 256, 64, 64, 16, 16, 4, 4]  # of 4,096


def test_a_density_that_has_no_effect_is_refused(ddp):
    refuses("sends everything", syncopate.torch.attach, ddp, "ssgd", density=0.1)
    refuses("sends everything", syncopate.torch.Optimizer, nn.Linear(3, 2), "ssd-sgd", lr=1, density=0.1)
    refuses("density_warmup: 7 has no effect", syncopate.torch.attach, ddp, "strom", density_warmup=7)


def test_a_method_that_is_no_name_is_refused(ddp):
    text = refuses("algo: None is not valid", syncopate.torch.attach, ddp, None)
    assert "gtopk" in text
    refuses("algo: None is not valid", syncopate.torch.Optimizer, nn.Linear(3, 2), None, lr=0.1)


def test_parameters_instead_of_the_model_are_refused():
    refuses(r"Optimizer\(model, \.\.\.\) instead of", syncopate.torch.Optimizer,
            nn.Linear(3, 2).parameters(), lr=0.1)
    refuses("expects the model itself, not a list", syncopate.torch.Optimizer,
            list(nn.Linear(3, 2).parameters()), lr=0.1)


def test_two_methods_on_one_model_are_refused(ddp):
    model = nn.Linear(3, 2)
    first = syncopate.torch.Optimizer(model, "ssgd", lr=0.1)
    refuses('parameter "weight" is exchanged already, by an Optimizer', syncopate.torch.Optimizer, model,
            lr=0.1)
    refuses("exchanged already", syncopate.torch.attach, DistributedDataParallel(model))
    first.close()
    syncopate.torch.Optimizer(model, "ssgd", lr=0.1).close()
    attached = syncopate.torch.attach(ddp)
    refuses("by an Attached", syncopate.torch.Optimizer, ddp.module, lr=0.1)
    attached.close()


def test_a_second_communication_hook_is_refused(ddp):
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    ddp.register_comm_hook(None, allreduce_hook)
    refuses("communication hook already", syncopate.torch.attach, ddp)


def test_a_momentum_that_changes_while_steps_are_under_way_is_refused():
    model = nn.Linear(3, 2)
    optimizer = syncopate.torch.Optimizer(model, "ssd-sgd", lr=0.1, momentum=0.9)
    torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 10)
    optimizer.zero_grad()
    model(torch.ones(1, 3)).sum().backward()
    refuses("momentum was changed from 0.9 to 0.95 .*cycle_momentum=False", optimizer.step)
    optimizer.close()


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="PyTorch before 2")
def test_what_compile_made_of_a_wrapped_model_is_refused(ddp):
    compiled = torch.compile(ddp)
    refuses(r"attach\(ddp, \.\.\.\) first, then torch.compile", syncopate.torch.attach, compiled)
    refuses("module", syncopate.torch.Optimizer, compiled, lr=0.1)
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.5)
    torch.compile(ddp, backend="eager")(torch.ones(1, 3)).sum().backward()
    assert attached.steps == 1
    attached.close()


def test_a_sharded_model_is_refused():
    try:
        from torch.distributed.fsdp import fully_shard
    except (ImportError, ValueError):  # ValueError: 1.13's cannot be imported by Python 3.11
        pytest.skip("PyTorch without FSDP2")
    from torch.distributed.device_mesh import init_device_mesh
    model = fully_shard(nn.Linear(3, 2), mesh=init_device_mesh("cpu", (1,)))
    refuses("shards the weights", syncopate.torch.attach, model)
    refuses("shards the weights", syncopate.torch.Optimizer, model, lr=0.1)


def test_a_model_of_a_sharded_class_is_refused():
    class FSDPModule:
        """What fully_shard() of PyTorch 2.4 and later mixes into a model's class."""

    class FSDPLinear(FSDPModule, nn.Linear):
        pass
    refuses("shards the weights", syncopate.torch.attach, FSDPLinear(3, 2))
    refuses("shards the weights", syncopate.torch.Optimizer, FSDPLinear(3, 2), lr=0.1)


def test_copies_of_a_model_that_is_attached_go_their_own_way(ddp):
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.5)
    for copied in (copy.deepcopy(ddp), torch.optim.swa_utils.AveragedModel(ddp).module):
        copied(torch.ones(1, 3)).sum().backward()
        assert all(torch.equal(parameter.grad, torch.ones_like(parameter))
                   for parameter in copied.parameters())
    assert attached.steps == 0
    attached.close()


class Scaler(torch.cuda.amp.GradScaler):
    """One that is at work without a GPU."""

    def __init__(self, scale):
        super().__init__(enabled=False)
        self._enabled, self._scale = True, torch.tensor(scale)


def test_a_scaler_that_nobody_told_of_is_refused_in_backward():
    scaler = Scaler(1024.0)
    model = nn.Linear(3, 2)
    ddp = DistributedDataParallel(model)
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.5)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="multiplies the loss by 1024.*scaler=scaler"):
            (ddp(torch.ones(1, 3)).sum() * 1024).backward()
    attached.close()
    told = syncopate.torch.attach(ddp, "gtopk", density=0.25, scaler=scaler)
    ddp.zero_grad()
    (ddp(torch.ones(1, 3)).sum() * 1024).backward()
    assert told.loss_scale == 1024 and told.residual().max() == 1
    told.close()
    third = syncopate.torch.attach(ddp, "gtopk", density=0.25)
    third.loss_scale = 1  # the scaler is somebody else's
    ddp(torch.ones(1, 3)).sum().backward()
    third.close()
    scaler._enabled = False  # exceptions that were caught may keep it alive


def test_an_optimizer_that_sparse_gradients_do_not_suit_is_warned_of_once():
    for make, count in ((torch.optim.AdamW, 1), (torch.optim.SGD, 0)):
        ddp = DistributedDataParallel(nn.Linear(3, 2))
        optimizer = make(ddp.parameters(), lr=0.1)
        attached = syncopate.torch.attach(ddp, "gtopk", density=0.5)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(3):
                optimizer.zero_grad()
                ddp(torch.ones(1, 3)).sum().backward()
                optimizer.step()
        assert [str(each.message).split()[0] for each in told] == ["AdamW"] * count
        attached.close()


def test_what_does_not_go_together_is_refused_with_the_reason(ddp):
    refuses("select all", syncopate.torch.attach, ddp, "gtopk", select="all", residual="none")


def test_methods_with_delays_are_referred_to_the_optimizer(ddp):
    refuses("syncopate.torch.Optimizer", syncopate.torch.attach, ddp, "ssd-sgd")


def test_a_model_that_is_not_wrapped_cannot_be_attached_to():
    refuses("DistributedDataParallel, not a Linear", syncopate.torch.attach, nn.Linear(3, 2))


def test_a_wrapped_model_has_no_second_exchange(ddp):
    refuses("module", syncopate.torch.Optimizer, ddp, lr=0.1)


def test_attaching_twice_is_refused(ddp):
    first = syncopate.torch.attach(ddp, "topk")
    refuses("attached already", syncopate.torch.attach, ddp, "topk")
    first.close()
    syncopate.torch.attach(ddp, "topk").close()


def test_a_model_without_parameters_is_refused():
    refuses("no parameters", syncopate.torch.Optimizer, nn.ReLU(), lr=0.1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
def test_parameters_of_other_types_are_refused_by_name(dtype):
    model = nn.ParameterDict({"odd": nn.Parameter(torch.zeros(3, dtype=dtype))})
    text = refuses('parameter "odd"', syncopate.torch.Optimizer, model, lr=0.1)
    assert str(dtype)[6:] in text and "float32" in text
    if dtype == torch.float64:  # DDP itself refuses complex ones
        refuses('parameter "odd"', syncopate.torch.attach, DistributedDataParallel(model))


def test_parameters_elsewhere_than_in_host_memory_are_refused_by_name():
    model = nn.Linear(3, 2, device="meta")  # as a GPU's, on a machine that has none
    refuses('parameter "weight" is on meta', syncopate.torch.Optimizer, model, lr=0.1)


def test_sparse_gradients_are_refused_by_the_name_of_their_module():
    model = nn.Sequential(nn.Embedding(5, 3, sparse=True), nn.Linear(3, 2))
    refuses('module "0" makes sparse gradients', syncopate.torch.Optimizer, model, lr=0.1)
    refuses('module "0" makes sparse gradients', syncopate.torch.attach, DistributedDataParallel(model))


def test_a_group_of_parameters_that_comes_later_is_refused():
    optimizer = syncopate.torch.Optimizer(nn.Linear(3, 2), "ssgd", lr=0.1)
    refuses("groups=", optimizer.add_param_group, {"params": [nn.Parameter(torch.zeros(1))]})
    optimizer.close()


def test_a_state_of_something_else_is_refused(ddp):
    attached = syncopate.torch.attach(ddp, "topk")
    for state, words in (({}, "not a state"), ([], "no states"),
                         ({**attached.state_dict(), "rank": 1, "workers": 2}, "worker 1 of 2"),
                         ({**attached.state_dict(), "tensors": {"other": 7}}, "another model")):
        with pytest.raises(syncopate.StateError, match=words):
            attached.load_state_dict(state)
    damaged = attached.state_dict()
    damaged["parts"]["reducer"][60] += 1
    with pytest.raises(syncopate.StateError, match="checksum"):
        attached.load_state_dict(damaged)
    attached.close()


def test_files_that_are_damaged_or_foreign_are_refused_by_name(ddp, tmp_path):
    attached = syncopate.torch.attach(ddp, "topk")
    path = syncopate.torch.save(str(tmp_path), attached, model=ddp.state_dict(), note=(1.5, None, "x"))
    whole = open(path, "rb").read()
    assert syncopate.torch.load(str(tmp_path), attached)["note"] == (1.5, None, "x")
    pickled = io.BytesIO()
    torch.save({"state": attached.state_dict()}, pickled)
    damaged = "is damaged: its checksum does not match"
    for content, words in ((whole[:-1], damaged), (whole[:10], "not a file"), (b"", "not a file"),
                           (whole[:99] + bytes([whole[99] ^ 1]) + whole[100:], damaged),
                           (whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:], damaged),  # in a weight
                           (whole[:8] + b"\2" + whole[9:], "version 2"),
                           (pickled.getvalue(), "not a file"), (resealed(whole, b'["dict", ["'), "does not contain a state"),
                           (resealed(whole, b'["tuple"]'), "does not contain a state"),
                           (resealed(whole, b'["tensor", "float32", [9], 0, 36]'), "does not contain a state")):
        with open(path, "wb") as file:
            file.write(content)
        with pytest.raises(syncopate.StateError, match=words) as caught:
            syncopate.torch.load(str(tmp_path), attached)
        assert path in str(caught.value)
    attached.close()


def resealed(whole, text):
    """A file with another text and nothing behind it, its checksum right."""
    content = whole[:16] + struct.pack("<Q", len(text)) + text
    return content + struct.pack("<I", zlib.crc32(content))


def test_what_is_not_plain_data_is_not_saved(ddp, tmp_path):
    attached = syncopate.torch.attach(ddp, "topk")
    for more, words in ((lambda: 1, "is a function"), ({"a": [object()]}, r"\['a'\]\[0\] is a object"),
                        (torch.eye(2).to_sparse(), "cannot be saved")):
        refuses(words, syncopate.torch.save, str(tmp_path), attached, more=more)
    assert not os.listdir(tmp_path)
    refuses("keep: 1", syncopate.torch.save, str(tmp_path), attached, keep=1)
    attached.close()


def test_plain_data_comes_back_as_it_was(tmp_path):
    from syncopate.torch import plain
    path = str(tmp_path / "file")
    value = {"none": None, "yes": True, 3: -2**70, "text": "ä\n", "floats": [0.1, -0.0, 1e-320],
             "odd": (float("inf"), float("-inf")), "bytes": b"\0\xff", "empty": ({}, [], (), "", b"")}
    plain.write(path, value)
    found = plain.read(path)
    assert repr(found) == repr(value) and list(found) == list(value)
    for dtype in plain.DTYPES.values():
        tensor = torch.arange(12).reshape(3, 4).to(dtype)
        for each in (tensor, tensor.t(), tensor[1:1], tensor[1, 1]):
            plain.write(path, [each])
            back, = plain.read(path)
            assert back.dtype == dtype and back.shape == each.shape and torch.equal(back, each)
    plain.write(path, float("nan"))
    assert math.isnan(plain.read(path))


def test_an_empty_directory_has_no_states(ddp, tmp_path):
    attached = syncopate.torch.attach(ddp, "topk")
    with pytest.raises(syncopate.StateError, match="no complete set"):
        syncopate.torch.load(str(tmp_path), attached)
    attached.close()
