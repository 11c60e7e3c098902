"""What a configuration decides is in the words that a rerun takes, whatever became of the file."""

import pytest

RICH = """
analysis_mode: laminar_flow
analyzer_parameters:
  dt: 0.1
  start_frame: 2
  end_frame: 38
  scattering: {wavevector_q: 0.0054}
  geometry: {stator_rotor_gap: 2000000}
experimental_data: {file_path: run.hdf}
phi_filtering:
  enabled: true
  target_ranges:
    - {min_angle: -95, max_angle: -20}
    - {min_angle: 20, max_angle: 95}
initial_parameters:
  parameter_names: [D0, alpha, D_offset, gamma_dot_t0, beta, gamma_dot_t_offset, phi0]
  values: [15000.0, -0.31, 12.5, 0.003, 0.1, 0.0001, 1.25]
  fixed_parameters: {beta: 0.125}
parameter_space:
  bounds:
    - {name: D0, min: 10.0, max: 1.0e+7}
    - {name: phi0, min: -33.3, max: 44.4}
    - {name: contrast, min: 0.02, max: 0.9}
optimization:
  nlsq:
    max_iterations: 60
    tolerance: 1.0e-9
    x_scale_map: {D0: 12345.678}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory, tessera_at):
    folder = tmp_path_factory.mktemp("configured")
    tessera = tessera_at(folder)
    made = tessera("xpcs", "simulate", "-o", "run.hdf", "--n-angle", "6", "--n-frame", "40")
    assert made.returncode == 0, made.stderr
    return tessera


def again(run, name):
    result = run("rerun", name)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1].startswith("same bits: ")
    return next(line for line in result.stderr.splitlines() if "running: " in line)


def test_settings_of_a_configuration_outlive_it(run):
    config = run.directory / "rich.yaml"
    config.write_text(RICH)
    result = run("xpcs", "fit", "--config", "rich.yaml", "-o", "rich", "--n-start", "1")
    assert result.returncode == 0, result.stderr
    config.unlink()
    line = again(run, "rich/result.h5")
    for word in (
        "--gap=2e+06", "--q=0.0054", "--start-frame=2", "--end-frame=38", "--fix=beta=0.125",
        "--bounds=D0=10:1e+07,phi0=-33.3:44.4,contrast=0.02:0.9", "--x-scale=D0=12345.678",
        "--initial-alpha=-0.31", "--phi-ranges=-95:-20,20:95", "--max-nfev=60", "--n-start=1",
    ):  # fmt: skip
        assert word in line, word
    assert "--initial-beta" not in line


def test_flags_over_a_configuration_are_what_is_run_again(run):
    (run.directory / "flow.yaml").write_text(RICH)
    flags = ["--static-mode", "--fix", "D_offset=3", "--initial-d0", "9000", "--tolerance", "1e-7"]
    result = run("xpcs", "fit", "--config", "flow.yaml", "-o", "static", *flags)
    assert result.returncode == 0, result.stderr
    line = again(run, "static/result.h5")
    for word in ("--mode=static_anisotropic", "--fix=D_offset=3", "--initial-d0=9000"):
        assert word in line, word
    assert "--static-mode" not in line


def test_a_value_typed_stays_though_it_is_the_default(run):
    words = ["run.hdf", "-o", "p.txc2", "--q", "0.0054", "--gap", "2e6"]
    assert run("xpcs", "convert", *words).returncode == 0
    assert "--q=0.0054" in again(run, "p.txc2")
    words = ["run.hdf", "-o", "given", "--sigma", "0.01", "--gap", "2e6", "--n-start", "1"]
    assert run("xpcs", "fit", *words).returncode == 0
    assert "--sigma=0.01" in again(run, "given/result.h5")


def test_settings_of_files_of_tessera_are_words(run):
    command = ["autoreject", "simulate", "-o", "x.npy", "--config", "sim.yaml"]
    (run.directory / "sim.yaml").write_text("autoreject:\n  simulate:\n    epochs: 7\n")
    result = run(*command)
    assert result.returncode == 0, result.stderr
    (run.directory / "sim.yaml").unlink()
    assert "--epochs=7" in again(run, "x.npy")
