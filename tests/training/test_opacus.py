"""The tap on Opacus: training is what it was, the accountant counts, bad input is named."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from opacus import PrivacyEngine  # noqa: E402
from opacus.utils.batch_memory_manager import BatchMemoryManager  # noqa: E402

import tollens.opacus  # noqa: E402
from tollens.errors import UsageError  # noqa: E402
from tollens.training.report import TrainingReport  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

RECORDS, FEATURES = 120, 6


@pytest.fixture(autouse=True)
def _weights_of_models_are_the_same_in_every_order_of_tests():
    torch.manual_seed(0)


class Setup:
    """A small private training: `step_all` takes steps, `weights` is what came out."""

    def __init__(self, model=None, *, poisson=True, mode="hooks", batch=12, **settings):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        x = torch.tensor(rng.normal(size=(RECORDS, FEATURES)), dtype=torch.float32)
        y = torch.tensor(rng.integers(0, 3, RECORDS))
        model = model or torch.nn.Linear(FEATURES, 3)
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.SGD(trained, lr=0.1)
        loader = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(x, y), batch_size=batch, shuffle=True
        )
        self.engine = PrivacyEngine(accountant="rdp")
        self.model, self.optimizer, self.loader = self.engine.make_private(
            module=model, optimizer=optimizer, data_loader=loader, poisson_sampling=poisson,
            grad_sample_mode=mode,
            **{"noise_multiplier": 1.0, "max_grad_norm": 1.0, **settings},
        )  # fmt: skip
        self.loss = torch.nn.CrossEntropyLoss()

    def step_all(self, steps, virtual=None):
        done = 0
        while done < steps:
            if virtual:
                with BatchMemoryManager(
                    data_loader=self.loader, max_physical_batch_size=virtual,
                    optimizer=self.optimizer,
                ) as loader:  # fmt: skip
                    done += self.epoch(loader, steps - done)
            else:
                done += self.epoch(self.loader, steps - done)
        return self

    def epoch(self, loader, most):
        done = 0
        for x, y in loader:
            self.optimizer.zero_grad()
            self.loss(self.model(x), y).backward()
            before = self.counted
            self.optimizer.step()
            done += self.counted - before
            if done >= most:
                break
        return done

    @property
    def counted(self):
        return sum(entry[2] for entry in self.engine.accountant.history)

    @property
    def weights(self):
        return torch.cat([p.detach().reshape(-1) for p in self.model.parameters()])


def watched(setup, steps=20, *, virtual=None, **settings):
    with tollens.opacus.watch(setup.optimizer, setup.engine, **settings) as w:
        setup.step_all(steps, virtual)
    return w


class TestTraining:
    @pytest.mark.parametrize("mode", ["hooks", "functorch", "ew"])
    @pytest.mark.parametrize("virtual", [None, 5])
    @pytest.mark.parametrize("poisson", [True, False])
    def test_is_bit_identical_to_a_run_that_is_not_watched(self, mode, virtual, poisson):
        plain = Setup(mode=mode, poisson=poisson).step_all(15, virtual)
        setup = Setup(mode=mode, poisson=poisson)
        w = watched(setup, 15, virtual=virtual)
        assert torch.equal(plain.weights, setup.weights)
        assert setup.engine.accountant.history == plain.engine.accountant.history
        assert w.audit.projection.pairs == 15
        assert math.isclose(w.report().largest_sensitivity, 1.0, abs_tol=1e-4)
        assert not w.audit.notes

    def test_goes_on_as_before_after_the_block(self):
        setup, plain = Setup(), Setup().step_all(20)
        hook = setup.optimizer.step_hook
        watched(setup, 10)
        assert setup.optimizer.step_hook is hook
        assert "pre_step" not in vars(setup.optimizer) and "add_noise" not in vars(setup.optimizer)
        assert len(setup.engine.accountant) == 1 and setup.counted == 10
        setup.step_all(10)
        assert setup.counted == plain.counted == 20

    def test_a_generator_of_its_own_is_put_back_too(self):
        plain = Setup(noise_generator=torch.Generator().manual_seed(5)).step_all(15)
        setup = Setup(noise_generator=torch.Generator().manual_seed(5))
        w = watched(setup, 15)
        assert torch.equal(plain.weights, setup.weights)
        assert not w.audit.notes

    def test_batches_are_counted_whole(self):
        sizes = []
        setup = Setup(poisson=False, batch=12)
        with tollens.opacus.watch(setup.optimizer, setup.engine) as w:
            keep = w._read
            w._read = lambda looked, size: (sizes.append(size), keep(looked, size))
            setup.step_all(10, virtual=5)
        assert sizes == [12] * 10

    def test_every_second_step(self):
        w = watched(Setup(), 20, every=2)
        assert (w.audit.steps, w.audit.projection.pairs) == (20, 10)

    def test_an_exception_in_the_loop_leaves_the_optimizer_as_it_was(self):
        setup = Setup()
        with pytest.raises(KeyError), tollens.opacus.watch(setup.optimizer, setup.engine):
            raise KeyError("mine")
        assert "pre_step" not in vars(setup.optimizer)
        watched(setup, 3)


class TestModels:
    def test_frozen_parameters(self):
        model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 4), torch.nn.Linear(4, 3))
        for p in model[0].parameters():
            p.requires_grad = False
        w = watched(Setup(model), 10)
        assert w.audit.projection.pairs == 10 and not w.broken

    @pytest.mark.parametrize("mode", ["hooks", "functorch", "ew"])
    def test_tied_parameters(self, mode):
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Linear(FEATURES, FEATURES, bias=False)
                self.second = torch.nn.Linear(FEATURES, FEATURES, bias=False)
                self.second.weight = self.first.weight
                self.last = torch.nn.Linear(FEATURES, 3)

            def forward(self, x):
                return self.last(torch.relu(self.second(torch.relu(self.first(x)))))

        w = watched(Setup(Tied(), mode=mode), 10)
        assert w.audit.projection.pairs == 10 and not w.broken

    def test_empty_batches(self):
        setup = Setup(batch=1)  # rate 1/120: most batches are empty
        w = watched(setup, 30)
        assert w.audit.steps == 30 and not w.broken

    def test_gradients_that_are_not_finite(self):
        setup = Setup()
        loss, calls = setup.loss, iter(range(100))
        setup.loss = lambda out, y: loss(out, y) * (math.nan if next(calls) == 4 else 1.0)
        for group in setup.optimizer.param_groups:
            group["lr"] = 0.0
        w = watched(setup, 12)
        (found,) = [f for f in w.findings if f.part == "gradients"]
        assert found.level == "warning" and "8 steps had gradients that are not" in found.text
        assert w.audit.steps == 12 and not w.refuted

    def test_per_layer_clipping_as_the_library_does_it_is_right(self):
        setup = Setup(clipping="per_layer", max_grad_norm=[0.6, 0.8])
        w = watched(setup, 20)
        assert not w.broken and w.report().largest_sensitivity == pytest.approx(1.0, abs=1e-4)

    def test_noise_from_a_generator_out_of_reach_is_said(self):
        setup = Setup()
        own = torch.Generator().manual_seed(3)

        def add_noise():
            for p in setup.optimizer.params:
                noise = torch.normal(0.0, 1.0, p.shape, generator=own)
                p.grad = p.summed_grad.view_as(p) + noise

        setup.optimizer.add_noise = add_noise
        w = watched(setup, 30)
        assert any("could not be replayed" in note for note in w.report().notes)
        assert w.audit.projection.pairs == 30 and not w.broken
        assert setup.optimizer.add_noise is add_noise

    def test_ghost_clipping_is_watched_without_a_canary(self):
        warnings.simplefilter("ignore")
        setup = Setup.__new__(Setup)
        torch.manual_seed(0)
        x, y = torch.randn(RECORDS, FEATURES), torch.randint(0, 3, (RECORDS,))
        setup.engine = PrivacyEngine(accountant="rdp")
        model = torch.nn.Linear(FEATURES, 3)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=12)
        setup.model, setup.optimizer, setup.loss, setup.loader = setup.engine.make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            criterion=torch.nn.CrossEntropyLoss(), data_loader=loader, noise_multiplier=1.0,
            max_grad_norm=1.0, grad_sample_mode="ghost",
        )  # fmt: skip
        w = watched(setup, 10)
        assert any("ghost clipping" in note for note in w.report().notes)
        assert w.audit.projection.pairs == 0 and w.audit.noise.numbers == 10 * 21


class TestFaults:
    def test_noise_halved_is_found_at_once_and_training_stops(self):
        setup = Setup()
        setup.optimizer.add_noise = with_noise(setup.optimizer, lambda noise: 0.5 * noise)
        w = watched(setup, 50, stop=True)
        assert w.refuted and w.audit.steps <= 20
        assert w.audit.part == "noise scale"
        bound = float(w.findings[0].text.split("at most ")[1].split()[0])
        assert 0.5 <= bound < 1.0

    @pytest.mark.parametrize("layers", [1, 5])
    def test_clipping_each_tensor_to_the_whole_norm_shows_in_full(self, layers):
        widths = [FEATURES] * layers
        setup = Setup(torch.nn.Sequential(*(torch.nn.Linear(w, FEATURES) for w in widths)))

        def clip_and_accumulate():
            for p in setup.optimizer.params:
                rows = p.grad_sample
                norms = rows.flatten(1).norm(dim=1)
                p.summed_grad = torch.einsum("i,i...", (1.0 / norms).clamp(max=1.0), rows)

        setup.optimizer.clip_and_accumulate = clip_and_accumulate
        w = watched(setup, 2)
        seen = w.report().largest_sensitivity
        assert seen == pytest.approx(math.sqrt(2 * layers), rel=1e-3)

    def test_no_noise_on_one_parameter(self):
        setup = Setup()
        keep = type(setup.optimizer).add_noise

        def add_noise():
            keep(setup.optimizer)
            bias = setup.optimizer.params[1]
            bias.grad = bias.summed_grad.clone()

        setup.optimizer.add_noise = add_noise
        w = watched(setup, 3)
        assert "1 of 2 parameters got no noise" in w.findings[0].text

    def test_a_hook_that_took_the_accountants_place(self):
        setup = Setup()
        setup.optimizer.attach_step_hook(lambda optimizer: None)
        with tollens.opacus.watch(setup.optimizer, setup.engine) as w:
            for x, y in setup.loader:
                setup.optimizer.zero_grad()
                setup.loss(setup.model(x), y).backward()
                setup.optimizer.step()
        (found,) = [f for f in w.findings if f.part == "accountant"]
        assert found.step == 1 and "counted 0 steps" in found.text and w.broken

    def test_a_multiplier_that_the_accountant_does_not_know(self):
        setup = Setup()
        step = setup.engine.accountant.step
        setup.engine.accountant.step = lambda **told: step(**{**told, "noise_multiplier": 1.5})
        w = watched(setup, 2)
        assert "1.5" in next(f.text for f in w.findings if f.part == "accountant")

    def test_a_layer_that_mixes_the_batch(self):
        class Mixing(torch.nn.Module):
            def forward(self, x):
                return x - x.mean(dim=0, keepdim=True) * 5.0

        model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 4), Mixing(), torch.nn.Linear(4, 3))
        right = torch.nn.Sequential(torch.nn.Linear(FEATURES, 4), torch.nn.Linear(4, 3))
        for made, fine in ((right, True), (model, False)):
            setup = Setup(made)
            before = setup.weights.clone(), torch.get_rng_state()
            rng = np.random.default_rng(1)
            x = torch.tensor(rng.normal(size=(9, FEATURES)), dtype=torch.float32)
            y = torch.tensor(rng.integers(0, 3, 9))
            with tollens.opacus.watch(setup.optimizer, setup.engine) as w:
                value = w.check_inputs(
                    setup.model,
                    lambda b, s=setup: s.loss(s.model(b[0]), b[1]).backward(),
                    (x[:8], y[:8]),
                    (x, y),
                )
                assert torch.equal(before[0], setup.weights)
                assert torch.equal(before[1], torch.get_rng_state())
                assert (value <= 1 + 1e-4) == fine
                assert w.broken != fine and bool(w.findings) != fine
                setup.step_all(2)
            assert w.broken != fine
            assert [part.name for part in w.report().parts][-1] == "sampling"


class TestRelease:
    """What becomes of the noisy sum, up to the inner optimiser."""

    def found(self, name, changed, steps=8, **settings):
        setup = Setup(**settings)
        plain = type(setup.optimizer)

        class Changed(plain):
            pass

        setattr(Changed, name, changed)
        setup.optimizer.__class__ = Changed
        w = watched(setup, steps)
        return [(f.level, f.step) for f in w.findings if f.part == "release"], w

    def test_division_by_the_size_of_each_batch_is_a_fault(self):
        def scale_grad(self):
            for p in self.params:
                p.grad /= len(self.grad_samples[0])

        found, w = self.found("scale_grad", scale_grad)
        assert found[0][0] == "fault" and found[0][1] <= 5 and w.broken
        found, w = self.found("scale_grad", scale_grad, poisson=False)
        assert found == []  # all batches are of one size

    def test_a_public_factor_of_any_size_is_none(self):
        def scale_grad(self):
            for p in self.params:
                p.grad *= -3.0

        assert self.found("scale_grad", scale_grad)[0] == []

    def test_gradients_that_change_after_the_noise_are_a_warning(self):
        def scale_grad(self):
            for p in self.params:
                p.grad += p.summed_grad

        assert self.found("scale_grad", scale_grad)[0] == [("warning", 1)]

    @pytest.mark.parametrize(("spread", "level"), [(0.0, "fault"), (1.0, "warning")])
    def test_steps_that_do_not_call_add_noise(self, spread, level):
        def pre_step(self, closure=None):
            self.clip_and_accumulate()
            for p in self.params:
                p.grad = p.summed_grad + spread * torch.randn_like(p)
            self.scale_grad()
            self.step_hook(self)
            return True

        found, w = self.found("pre_step", pre_step)
        assert found == [(level, 1)] and w.broken == (level == "fault")
        assert w.audit.projection.pairs == 0

    @pytest.mark.parametrize("settings", [{"every": 3}, {}])
    @pytest.mark.parametrize("virtual", [None, 5])
    def test_correct_training_has_none_and_no_note(self, settings, virtual):
        w = watched(Setup(), 15, virtual=virtual, **settings)
        assert not [f for f in w.findings if f.part == "release"] and not w.audit.notes


class TestReport:
    def test_says_what_was_read_from_the_engine(self):
        setup = Setup()
        w = watched(setup, 30)
        report = w.report()
        assert report.run.accountant == "RDPAccountant"
        assert report.run.printed == setup.engine.get_epsilon(1e-5)
        assert report.run.points[-1][0] == 30
        assert str(report.claim) == "mu=1"
        assert {part.name for part in report.parts} == {
            "projection", "noise scale", "noise reuse", "sampling",
        }  # fmt: skip
        assert TrainingReport.from_json(report.to_json()) == report
        assert all(type(value) is float for value in w.metrics().values())
        assert "does not show that it is private" in str(report)

    def test_a_claim_of_ones_own(self):
        w = watched(Setup(), 60, claim="mu=0.2", alpha=0.05)
        assert w.refuted and w.audit.part == "projection"

    def test_the_size_is_private_if_one_says_so(self):
        # 120 records in batches of 16: rate 1/8, divided by 15; with 128 - 1 it is 15 as well
        for private, level in ((False, "warning"), (True, "fault")):
            w = watched(Setup(batch=16), 2, private_size=private)
            (found,) = [f for f in w.findings if f.part == "batch size"]
            assert found.level == level and "119" not in found.text
            assert "one record fewer it would be 14" in found.text


class TestBadInput:
    def test_an_optimizer_that_is_not_private(self):
        model = torch.nn.Linear(2, 2)
        with pytest.raises(UsageError, match="SGD, which adds no noise"):
            tollens.opacus.watch(torch.optim.SGD(model.parameters(), lr=0.1))

    def test_settings(self):
        setup = Setup()
        with pytest.raises(UsageError, match="alpha is 2"):
            tollens.opacus.watch(setup.optimizer, setup.engine, alpha=2)
        with pytest.raises(UsageError, match="every is 0"):
            tollens.opacus.watch(setup.optimizer, setup.engine, every=0)
        with pytest.raises(UsageError, match="privacy_engine is a str"):
            tollens.opacus.watch(setup.optimizer, "engine")

    def test_no_noise_at_all(self):
        setup = Setup(noise_multiplier=0.0)
        with pytest.raises(UsageError, match="without noise nothing is private"):
            tollens.opacus.watch(setup.optimizer, setup.engine)

    def test_watched_twice(self):
        setup = Setup()
        first = tollens.opacus.watch(setup.optimizer, setup.engine)
        second = tollens.opacus.watch(setup.optimizer, setup.engine)
        with first, pytest.raises(UsageError, match="watched already"), second:
            pass
        assert "pre_step" not in vars(setup.optimizer)

    def test_no_step(self):
        setup = Setup()
        with tollens.opacus.watch(setup.optimizer, setup.engine) as w:
            pass
        with pytest.raises(UsageError, match="no step was taken"):
            w.report()
        assert w.metrics() == {} and not w.broken


def with_noise(optimizer, change):
    """The library's own noise, changed."""
    keep = type(optimizer).add_noise

    def add_noise():
        keep(optimizer)
        for p in optimizer.params:
            clean = p.summed_grad.view_as(p)
            p.grad = clean + change(p.grad - clean)

    return add_noise
