"""The watch of JAX privatisers: no false alarms, quick on faults, no trace in training."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
pytest.importorskip("jax_privacy")

import jax.numpy as jnp  # noqa: E402
from jax_privacy.clipping import clipped_grad  # noqa: E402
from jax_privacy.matrix_factorization import toeplitz  # noqa: E402
from jax_privacy.noise_addition import (  # noqa: E402
    gaussian_privatizer,
    matrix_factorization_privatizer,
)

import tollens.jax  # noqa: E402
from tollens.errors import UsageError  # noqa: E402
from tollens.training.jax.account import account_finding, account_of  # noqa: E402

NORM, NOISE, ROWS = 4.0, 1.0, 8
RECORDS, RATE = 1797, ROWS / 1797
PARAMS = {"b": jnp.zeros(5), "w": jnp.zeros((15, 43))}  # 650 parameters
watch = partial(tollens.jax.watch, clipping_norm=NORM, noise_multiplier=NOISE)


@pytest.fixture(autouse=True)
def quick_compiler(request):
    """Compiling is most of the time here; only what is equal to the bit needs it done in full."""
    jax.config.update("jax_disable_most_optimizations", "to_the_bit" not in request.node.name)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def norms(rows):
    return jnp.sqrt(sum((x**2).sum(axis=tuple(range(1, x.ndim))) for x in jax.tree.leaves(rows)))


def clip_rows(rows, norm=NORM):
    factor = jnp.minimum(1.0, norm / jnp.maximum(norms(rows), 1e-30))
    return jax.tree.map(lambda x: x * factor.reshape(-1, *[1] * (x.ndim - 1)), rows)


def clip_layers(rows, norm=NORM):
    return {name: clip_rows({name: part}, norm)[name] for name, part in rows.items()}


def total(rows):
    return jax.tree.map(lambda x: x.sum(axis=0), rows)


def micro(rows, size=4):
    """Gradients are averaged in groups before they are clipped."""
    groups = jax.tree.map(lambda x: x.reshape(-1, size, *x.shape[1:]).mean(axis=1), rows)
    return total(clip_rows(groups))


def after_averaging(rows):
    """The mean is clipped, and multiplied by the number of records."""
    mean = jax.tree.map(lambda x: x.mean(axis=0)[None], rows)
    return jax.tree.map(lambda m, x: m[0] * x.shape[0], clip_rows(mean), rows)


def noisy(key, tree, spread):
    return optax.tree.add(tree, optax.tree.scale(spread, optax.tree.random_like(key, tree)))


def privatiser(aggregate, spread=NOISE * NORM, divide=lambda x, rows: x / rows, same_key=False):
    """A privatiser of per-example gradients, right or wrong."""

    def update(rows, state, params=None):
        del params
        key, new = jax.random.split(state)
        count = jax.tree.leaves(rows)[0].shape[0]
        summed = noisy(key, aggregate(rows), spread)
        return jax.tree.map(lambda x: divide(x, count), summed), (state if same_key else new)

    return optax.GradientTransformation(lambda _: jax.random.key(0, impl="rbg"), update)


def clipped_total(rows):
    return total(clip_rows(rows))


@lru_cache
def gradients(seed, steps, rows=None, scale=1.0):
    rng = np.random.default_rng(seed)
    lead = () if rows is None else (rows,)
    return [
        {
            k: jnp.asarray(scale * rng.normal(size=(*lead, *v.shape)), v.dtype)
            for k, v in PARAMS.items()
        }
        for _ in range(steps)
    ]


def fed(w, steps, rows=None, state=None, scale=1.0, before=None):
    state = w.init(PARAMS) if state is None else state
    for t, tree in enumerate(gradients(1, steps, rows, scale)):
        if before is not None:
            before(t)
        _, state = w.update(tree, state)
        if w._audit.broken:
            break
    return w


def faults(w):
    return {finding.part: finding for finding in w.findings if finding.level == "fault"}


# Correct runs


CORRECT = gaussian_privatizer(stddev=NOISE * NORM, prng_key=0)
AGGREGATE = optax.contrib.differentially_private_aggregate(NORM, NOISE, 0)


@pytest.mark.parametrize("seed", range(15))
def test_a_correct_run_on_sums_is_not_refuted(seed):
    with watch(CORRECT, alpha=0.001) as w:
        fed(w, 100, state=(jax.random.key(seed), ()))
    assert w.audit.steps == 100
    assert not w.broken
    assert 0.2 < w.mu_lower < 1.0
    assert w.audit.notes["clipping"]


@pytest.mark.parametrize("seed", range(15))
def test_a_correct_run_per_example_is_not_refuted(seed):
    state = AGGREGATE.init(PARAMS)._replace(rng_key=jax.random.key(seed))
    with watch(AGGREGATE, alpha=0.001, per_example=True) as w:
        fed(w, 100, ROWS, state=state, scale=0.5)
    assert w.audit.steps == 100
    assert not w.broken
    assert 0.2 < w.mu_lower < 1.0
    assert w.report().largest_sensitivity == pytest.approx(1.0, abs=1e-4)
    assert [finding.part for finding in w.findings] == ["batch size"]


def test_poisson_batches_and_a_sum_without_division_have_no_finding():
    rng, data = np.random.default_rng(3), gradients(5, 1, 32)[0]
    plain = privatiser(clipped_total, divide=lambda x, rows: x)
    with watch(plain, per_example=True, records=RECORDS, rate=RATE) as w:
        state = w.init(PARAMS)
        for size in rng.binomial(RECORDS, RATE, size=40):
            real = (np.arange(32) < size).astype(np.float32)  # padded to 32 rows
            rows = jax.tree.map(
                lambda x, real=real: x * real.reshape(-1, *[1] * (x.ndim - 1)), data
            )
            w.batch(size)
            _, state = w.update(rows, state)
    assert w.audit.steps == 40
    assert w.findings == ()
    assert w.report().run.printed > 0


# Faults, and the step at which each is found


FAULTS = {
    "noise halved": (privatiser(clipped_total, NOISE * NORM / 2), "noise scale", 1),
    "noise not multiplied by C": (privatiser(clipped_total, NOISE), "noise scale", 1),
    "noise divided by the batch twice": (
        privatiser(clipped_total, NOISE * NORM / ROWS), "noise scale", 1,
    ),
    "no noise": (privatiser(clipped_total, 0.0), "noise scale", 1),
    "same key": (privatiser(clipped_total, same_key=True), "noise reuse", 2),
    "no clipping": (privatiser(total), "sensitivity", 1),
    "clipping after averaging": (
        privatiser(after_averaging),
        "sensitivity", 1,
    ),
    "clipping by layers": (privatiser(clip := lambda r: total(clip_layers(r))), "sensitivity", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_per_example_privatiser_is_found(name):
    transformation, part, step = FAULTS[name]
    with watch(transformation, per_example=True) as w:
        fed(w, 20, ROWS)
    assert w.broken
    assert faults(w)[part].step == step


def test_clipping_of_averaged_micro_batches_has_to_be_asked_for():
    with pytest.raises(UsageError, match=r"multiplied by 0\.25 .* say divided_by"):
        watch(privatiser(micro, divide=lambda x, rows: x), per_example=True)
    averaged = privatiser(lambda rows: jax.tree.map(lambda x: 4 * x, micro(rows)))
    with watch(averaged, per_example=True) as w:
        fed(w, 3, ROWS)
    assert faults(w)["sensitivity"].step == 1


@pytest.mark.parametrize(
    ("stddev", "part", "step"),
    [
        (NOISE * NORM / 2, "noise scale", 1),
        (NOISE, "noise scale", 1),
        (0.95 * NORM, "noise scale", 9),
    ],
)
def test_a_fault_of_noise_on_sums_is_found(stddev, part, step):
    with watch(gaussian_privatizer(stddev=stddev, prng_key=1)) as w:
        fed(w, 40)
    assert faults(w)[part].step <= step


def test_the_same_state_in_each_step_is_found_eager_and_compiled():
    for wrap in (lambda f: f, jax.jit):
        with watch(gaussian_privatizer(stddev=NOISE * NORM, prng_key=1)) as w:
            state, step = w.init(PARAMS), wrap(lambda g, s, w=w: w.update(g, s)[0])
            for tree in gradients(0, 3):
                step(tree, state)
        assert faults(w)["noise reuse"].step == 2
        assert "noise of step 2 is that of step 1" in faults(w)["noise reuse"].text


def test_more_noise_is_a_warning():
    with watch(gaussian_privatizer(stddev=2 * NOISE * NORM, prng_key=1)) as w:
        fed(w, 4)
    assert not w.broken
    assert [(f.part, f.level) for f in w.findings] == [("noise scale", "warning")]


@pytest.mark.parametrize("told", [False, True])
def test_batches_of_one_size_are_no_poisson_samples(told):
    with watch(AGGREGATE, per_example=True, records=RECORDS, rate=RATE) as w:
        fed(w, 20, ROWS, before=(lambda t: w.batch(ROWS)) if told else None)
    assert faults(w)["sampling"].step <= 6
    assert "shuffled" in faults(w)["sampling"].text


def test_records_are_looked_at_too():
    with watch(CORRECT, records=RECORDS, rate=RATE) as w:
        fed(w, 3, before=lambda t: w.batch(records=[1, 2, 2]))
    assert "twice" in faults(w)["sampling"].text


@pytest.mark.parametrize("every", [1, 7])
def test_padding_stops_the_count_of_rows(every):
    with watch(AGGREGATE, per_example=True, records=RECORDS, rate=RATE, every=every) as w:
        state = w.init(PARAMS)
        for tree in gradients(0, 20, ROWS):
            _, state = w.update(jax.tree.map(lambda x: x.at[-1].set(0.0), tree), state)
    assert "sampling" not in faults(w)


def test_leaves_without_noise_are_found():
    def update(tree, state, params=None):
        key, new = jax.random.split(state)
        return {**tree, "w": noisy(key, {"w": tree["w"]}, NOISE * NORM)["w"]}, new

    partly = optax.GradientTransformation(lambda _: jax.random.key(0), update)
    with watch(partly) as w:
        fed(w, 1)
    assert "1 of 2 leaves" in faults(w)["noise"].text
    assert "untried" in w.audit.notes


def test_a_private_batch_size_is_a_fault_if_it_is_said_to_be():
    for private, level in ((False, "warning"), (True, "fault")):
        w = watch(AGGREGATE, per_example=True, private_size=private)
        assert [(f.part, f.level) for f in w.findings] == [("batch size", level)]


# Clipping outside of the privatiser


def loss(params, batch):
    return 100.0 * jnp.sum((batch @ params) ** 2)


def test_inputs_show_clipping_and_its_lack():
    clipped = clipped_grad(loss, l2_clip_norm=NORM, batch_argnums=1)
    params, batch = jnp.ones(3), jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)))
    w = watch(CORRECT)
    assert w.check_inputs(clipped, (params, batch[:4]), (params, batch)) == pytest.approx(1.0)
    assert w.check_inputs(lambda b: clipped(params, b), batch[:4], batch) == pytest.approx(1.0)
    assert not w.broken
    summed = jax.grad(loss)
    assert w.check_inputs(lambda b: summed(params, b), batch[:4], batch) > 10
    assert "one record more" in faults(w)["input sensitivity"].text


def test_the_bound_that_clipping_states_is_compared():
    clipped = clipped_grad(loss, l2_clip_norm=2 * NORM, batch_argnums=1)
    w = watch(CORRECT)
    zeros = jnp.zeros((2, 3))
    assert w.check_inputs(clipped, (jnp.ones(3), zeros), (jnp.ones(3), zeros)) == 0.0
    assert "by its own account" in faults(w)["input sensitivity"].text
    with pytest.raises(UsageError, match="one shape"):
        w.check_inputs(lambda b: b, jnp.ones(2), jnp.ones(3))


# Compiled programs


def model_step(transformation, clip):
    optimizer = optax.chain(transformation, optax.sgd(0.1, momentum=0.9))

    def step(carry, batch):
        params, state = carry
        updates, state = optimizer.update(clip(params, batch), state, params)
        return (optax.apply_updates(params, updates), state), None

    return optimizer, step


def curved(params, x):
    return jnp.sum(jnp.tanh(x @ params["w"]) ** 2) + jnp.sum(params["b"] * x[:5])


def trained(transformation, mode, per_example, steps=6):
    each = jax.vmap(jax.grad(curved), in_axes=(None, 0))
    clip = each if per_example else (lambda p, x: clipped_total(each(p, x)))
    optimizer, step = model_step(transformation, clip)
    carry = (jax.tree.map(lambda x: x + 0.1, PARAMS), optimizer.init(PARAMS))
    batches = jnp.asarray(np.random.default_rng(0).normal(size=(steps, ROWS, 15)), jnp.float32)
    if mode == "scan":
        return jax.jit(lambda c: jax.lax.scan(step, c, batches)[0])(carry)[0]
    run = jax.jit(step) if mode == "jit" else step
    for batch in batches:
        carry, _ = run(carry, batch)
    return carry[0]


@pytest.mark.parametrize(
    ("mode", "per_example", "untouched"),
    [
        ("eager", False, False),
        ("eager", True, False),
        ("jit", False, False),
        ("jit", True, False),
        ("jit", False, True),
        ("scan", False, False),
    ],
)
def test_training_is_the_same_to_the_bit(mode, per_example, untouched):
    plain = AGGREGATE if per_example else CORRECT
    with watch(plain, per_example=per_example, untouched=untouched) as w:
        watched = trained(w.transformation, mode, per_example)
    assert w.audit.steps == w.report().pairs == 6
    assert not w.broken
    alone = trained(plain, mode, per_example)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(watched), jax.tree.leaves(alone), strict=True)
    )


def test_compiled_and_eager_steps_are_read_alike():
    read = {}
    for mode in ("eager", "scan"):
        with watch(CORRECT) as w:
            trained(w.transformation, mode, per_example=False)
        read[mode] = (w.audit.log_e_value, w.audit.noise.squares)
    assert read["eager"] == pytest.approx(read["scan"], rel=1e-4)


@pytest.mark.parametrize("mode", ["eager", "scan"])
def test_one_step_in_so_many_is_replayed(mode):
    with watch(CORRECT, every=3) as w:
        trained(w.transformation, mode, per_example=False, steps=7)
    assert (w.audit.steps, w.report().pairs) == (7, 3)


def test_stop_ends_an_eager_block_in_the_step():
    done = []
    with watch(gaussian_privatizer(stddev=1.0, prng_key=0), stop=True) as w:
        fed(w, 10)
        done.append("never")
    assert (done, w.audit.steps) == ([], 1)


def test_stop_ends_a_compiled_run_at_the_next_check():
    done = []
    with watch(gaussian_privatizer(stddev=1.0, prng_key=0), stop=True) as w:
        state, step = w.init(PARAMS), jax.jit(w.update)
        for tree in gradients(0, 10):
            _, state = step(tree, state)
            done.append(1)
            w.check()
    assert len(done) == w.audit.steps == 1
    step(tree, state)  # the block has ended: a program that was compiled in it is not read any more
    assert w.audit.steps == 1


def test_errors_within_a_compiled_step_come_out_at_the_end():
    def failing(audit):
        raise RuntimeError("of the logger")

    with pytest.raises(RuntimeError, match="of the logger"), watch(CORRECT, progress=failing) as w:
        jax.jit(w.update)(PARAMS, w.init(PARAMS))
    with pytest.raises(RuntimeError, match="of the logger"):
        watch(CORRECT, progress=failing).update(PARAMS, CORRECT.init(PARAMS))


def test_maps_over_runs_are_refused():
    w = watch(CORRECT)
    keys = jax.random.split(jax.random.key(0), 2)
    with pytest.raises(UsageError, match="vmap"):
        jax.vmap(lambda key: w.update(PARAMS, (key, ()))[0])(keys)
    with pytest.raises(UsageError, match="pmap"):
        jax.pmap(lambda key: w.update(PARAMS, (key, ()))[0])(keys[:1])


# Correlated noise


def banded(stddev, key=0):
    coefs = jnp.asarray([1.0, 0.5, 0.25])
    matrix = toeplitz.inverse_as_streaming_matrix(coefs / jnp.linalg.norm(coefs))
    return matrix_factorization_privatizer(matrix, stddev=stddev, prng_key=key)


BANDED = banded(NOISE * NORM)


@pytest.mark.parametrize("seed", range(3))
def test_a_correct_matrix_factorisation_is_not_refuted(seed):
    with watch(BANDED) as w:
        fed(w, 100, state=(jax.random.key(seed), w.init(PARAMS)[1]))
    assert w.audit.steps == 100
    assert w.findings == ()
    assert "matrix factorisation" in w.audit.notes["correlated"]
    assert "noise reuse" not in [part.name for part in w.report().parts]


def test_faults_of_a_matrix_factorisation_are_found():
    with watch(banded(NOISE * NORM / 4)) as w:
        fed(w, 5)
    assert faults(w)["noise scale"].step == 1
    with watch(banded(NOISE * NORM)) as w:
        for tree in gradients(0, 2):
            w.update(tree, w.init(PARAMS))
    assert faults(w)["noise reuse"].step == 2


def test_a_dense_matrix_is_seen_to_be_correlated():
    matrix = jnp.asarray(np.tril(np.ones((8, 8))))
    w = watch(matrix_factorization_privatizer(matrix, stddev=NORM, prng_key=0), rate=RATE)
    assert "correlated" in w.audit.notes
    fed(w, 1)
    assert w.report().run is None  # Poisson accounting does not hold for it


# Bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"transformation": "adam"}, "is a str"),
        ({"transformation": optax.GradientTransformation}, "is a type"),
        ({"noise_multiplier": 0.0}, "must be a positive number"),
        ({"noise_multiplier": None}, "must be a positive number"),
        ({"clipping_norm": -1.0}, "clipping_norm is -1.0"),
        ({"clipping_norm": float("nan")}, "clipping_norm is nan"),
        ({"divided_by": 0}, "divided_by is 0"),
        ({"records": 10}, "give both"),
        ({"rate": 2.0, "records": 10}, "rate is 2.0"),
        ({"every": 0}, "every is 0"),
        ({"accountant": 3}, "accountant is a int"),
        ({"transformation": optax.chain(CORRECT, optax.sgd(0.1))}, "multiplied by -0.1"),
        ({"transformation": optax.contrib.dpsgd(0.1, 1.0, 1.0, 0), "per_example": True}, "-0.025"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_settings_are_refused(change, words):
    settings = {"transformation": CORRECT, "clipping_norm": 1.0, "noise_multiplier": 1.0}
    with pytest.raises(UsageError, match=words):
        tollens.jax.watch(**{**settings, **change})


def test_gradients_of_another_kind_are_refused():
    state = AGGREGATE.init(PARAMS)
    with pytest.raises(UsageError, match="say per_example=True"):
        watch(AGGREGATE, divided_by=1.0).update(gradients(0, 1, ROWS)[0], state)
    with pytest.raises(UsageError, match="one row for each record"):
        watch(AGGREGATE, per_example=True).update(
            {"a": jnp.zeros((3, 2)), "b": jnp.zeros((4, 2))}, state
        )
    with pytest.raises(UsageError, match="leave per_example=True out"):
        watch(CORRECT, per_example=True, divided_by=1.0).update(jnp.zeros(3), (state.rng_key, ()))
    with pytest.raises(UsageError, match="no leaves"):
        watch(CORRECT).update({}, CORRECT.init({}))
    with pytest.raises(UsageError, match="real numbers; one is int32"):
        watch(CORRECT).update(jnp.arange(3), CORRECT.init(jnp.arange(3)))
    with pytest.raises(UsageError, match="no step was taken"):
        watch(CORRECT).report()
    with pytest.raises(UsageError, match="whole number"):
        watch(CORRECT).batch(2.5)


@pytest.mark.parametrize("compile_it", [False, True])
def test_gradients_that_are_not_finite_are_a_warning(compile_it):
    with watch(AGGREGATE, per_example=True) as w:
        state, step = w.init(PARAMS), jax.jit(w.update) if compile_it else w.update
        for t, tree in enumerate(gradients(0, 3, ROWS)):
            bad = jax.tree.map(lambda x: x.at[3].set(jnp.nan), tree) if t == 1 else tree
            _, state = step(bad, state)
    assert not w.broken
    assert {finding.part for finding in w.findings} == {"gradients", "batch size"}
    assert w.report().pairs == 2


@pytest.mark.parametrize("compile_it", [False, True])
def test_an_empty_batch_is_a_warning(compile_it):
    rows = jax.tree.map(lambda x: jnp.zeros((0, *x.shape)), PARAMS)
    plain = privatiser(clipped_total, divide=lambda x, rows: x)
    with watch(plain, per_example=True) as w:
        step = jax.jit(w.update) if compile_it else w.update
        step(rows, w.init(PARAMS))
    assert w.audit.steps == 1
    assert [(f.part, f.level) for f in w.findings] == [("batch size", "warning")]


def test_frozen_and_missing_leaves_are_passed_over():
    tree = {"a": jnp.zeros(300), "frozen": None, "masked": optax.MaskedNode(), "none": jnp.zeros(0)}
    with watch(CORRECT) as w:
        state = w.init(tree)
        for _ in range(5):
            _, state = w.update(tree, state)
    assert not w.broken
    assert w.report().pairs == 5


@pytest.mark.parametrize(("kind", "per_example"), [("float16", True), ("bfloat16", False)])
def test_noise_of_16_bits_is_cut_off_and_single_precision_mends_it(kind, per_example):
    rows = ROWS if per_example else None
    made = AGGREGATE if per_example else CORRECT
    trees = [jax.tree.map(lambda x: x.astype(kind), g) for g in gradients(0, 20, rows)]
    found = {}
    for wide in (False, True):
        if wide:
            made = gaussian_privatizer(stddev=NOISE * NORM, prng_key=0, dtype=jnp.float32)
        if wide and per_example:
            made = privatiser(clipped_total)
            trees = [jax.tree.map(lambda x: x.astype(jnp.float32), g) for g in trees]
        with watch(made, per_example=per_example) as w:
            state = w.init(trees[0])
            for tree in trees:
                _, state = w.update(tree, state)
        assert not w.refuted
        found[wide] = set(faults(w))
    assert found == {False: {"noise tails"}, True: set()}


def test_noise_that_rounding_swallows_is_none():
    with watch(gaussian_privatizer(stddev=NOISE * NORM, prng_key=0, dtype=jnp.float32)) as w:
        w.update({"a": jnp.full(500, 1e5, jnp.bfloat16)}, w.init({"a": jnp.zeros(500)}))
    assert faults(w)["noise scale"].step == 1


def test_names_of_arguments_and_extra_ones_are_passed_on():
    with watch(CORRECT) as w:
        state = w.init(PARAMS)
        w.update(sum_of_clipped_grads=PARAMS, noise_state=state)
        optax.with_extra_args_support(w.transformation).update(PARAMS, state, PARAMS, value=1.0)
    assert w.audit.steps == 2

    def scaled(tree, state, params=None, *, value):
        key, new = jax.random.split(state)
        return noisy(key, tree, NORM * value), new

    extra = optax.GradientTransformationExtraArgs(lambda _: jax.random.key(0), scaled)
    for wrap in (lambda f: f, jax.jit):
        with watch(extra, divided_by=1.0) as w:
            _, state = wrap(w.transformation.update)(PARAMS, w.init(PARAMS), value=0.5)
        assert faults(w)["noise scale"].step == 1


def test_a_large_gradient_is_looked_at_in_part():
    tree = {"a": jnp.zeros(200_000), "b": jnp.zeros(3)}
    with watch(CORRECT) as w:
        state = w.init(tree)
        jax.jit(w.update)(tree, state)
    assert not w.broken
    assert w.audit.noise.numbers <= 2**17 + 2
    assert "131,072 coordinates" in w.audit.notes["coordinates"]


# Accountants


def test_accountants_say_what_the_run_and_the_leak_cost():
    dp_accounting = pytest.importorskip("dp_accounting")
    from dp_accounting import rdp
    from jax_privacy.accounting import accountants, analysis

    event = dp_accounting.PoissonSampledDpEvent(RATE, dp_accounting.GaussianDpEvent(NOISE))
    ledger = rdp.RdpAccountant().compose(event, 100)
    config = accountants.RdpAccountantConfig(orders=ledger._orders)
    training = analysis.DpsgdTrainingAccountant(config)
    params = analysis.DpParams(
        noise_multipliers=NOISE, num_samples=RECORDS, delta=1e-5, batch_size=ROWS
    )
    given = {
        "none": None,
        "ledger": ledger,
        "event": dp_accounting.SelfComposedDpEvent(event, 100),
        "training": (training, params),
        "cached": (analysis.CachedExperimentAccountant(training, 100), params),
        "function": lambda noise, steps, delta: ledger.get_epsilon(delta),
    }
    for name, accountant in given.items():
        account = account_of(accountant, NOISE, RATE, lambda: 100)
        assert account.printed(1e-5) == pytest.approx(ledger.get_epsilon(1e-5), rel=1e-6), name
        assert account.epsilon(NOISE, 100, 1e-5) == pytest.approx(account.printed(1e-5)), name
        assert account_finding(account, NOISE, RATE, 100) is None
        if name not in ("none", "function"):
            assert "noise multiplier of 1; it is 0.9" in account_finding(account, 0.9, RATE, 1).text
            assert "told of a rate" in account_finding(account, NOISE, 2 * RATE, 1).text
    exact = analysis.DpsgdTrainingAccountant(accountants.PldAccountantConfig())
    account = account_of((exact, params), NOISE, RATE, lambda: 100)
    assert account.epsilon(NOISE, 100, 1e-5) > account.printed(1e-5)
    assert account.compared_by == "DpsgdTrainingAccountant with Renyi's"
    counted = account_finding(account_of(ledger, NOISE, RATE, int), NOISE, RATE, 101)
    assert counted.text == "the accountant counted 100 steps where 101 were taken"
    assert account_of(rdp.RdpAccountant(), NOISE, RATE, int).printed(1e-5) == 0.0
    assert account_of(None, NOISE, None, int) is None


def test_an_accountant_that_is_not_told_of_steps_is_a_fault():
    dp_accounting = pytest.importorskip("dp_accounting")
    from dp_accounting import rdp

    ledger = rdp.RdpAccountant()
    with watch(CORRECT, accountant=ledger) as w:
        state = w.init(PARAMS)
        for tree in gradients(0, 2):
            _, state = w.update(tree, state)
            ledger.compose(dp_accounting.GaussianDpEvent(NOISE))
        assert not w.broken
        w.update(tree, state)
    assert "counted 2 steps where 3" in faults(w)["accountant"].text
    assert not w.refuted
