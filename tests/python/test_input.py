"""What cannot be done is refused before the first step, in words that help."""
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


def test_what_does_not_go_together_is_refused_with_the_reason(ddp):
    refuses("select all", syncopate.torch.attach, ddp, "gtopk", select="all", residual="none")


def test_methods_with_delays_are_referred_to_the_optimizer(ddp):
    refuses("syncopate.torch.Optimizer", syncopate.torch.attach, ddp, "ssd-sgd")


def test_a_model_that_is_not_wrapped_cannot_be_attached_to():
    refuses("DistributedDataParallel, not a Linear", syncopate.torch.attach, nn.Linear(3, 2))


def test_a_wrapped_model_has_no_second_exchange(ddp):
    refuses("module", syncopate.torch.Optimizer, ddp, lr=0.1)


def test_attaching_twice_is_refused(ddp):
    syncopate.torch.attach(ddp, "topk").close()
    refuses("attached already", syncopate.torch.attach, ddp, "topk")


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


def test_a_second_group_of_parameters_is_refused():
    optimizer = syncopate.torch.Optimizer(nn.Linear(3, 2), "ssgd", lr=0.1)
    refuses("one learning rate", optimizer.add_param_group, {"params": [nn.Parameter(torch.zeros(1))]})
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


def test_an_empty_directory_has_no_states(ddp, tmp_path):
    attached = syncopate.torch.attach(ddp, "topk")
    with pytest.raises(syncopate.StateError, match="no complete set"):
        syncopate.torch.load(str(tmp_path), attached)
    attached.close()
