"""device, sysinfo, selftest, info, bench, config."""

import json

import numpy as np
import pytest


def test_every_json_is_json_and_has_a_schema(tessera, epochs, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text("run:\n  threads: 2\n")
    schemas = {
        "tessera.sysinfo/1": ["sysinfo"],
        "tessera.device/1": ["device"],
        "tessera.selftest/1": ["selftest"],
        "tessera.info/1": ["info", "epochs.npy"],
        "tessera.bench/2": ["bench", "ptp-f32-cached"],
        "tessera.config.show/1": ["config", "show"],
        "tessera.config.validate/1": ["config", "validate", "run.yaml"],
        "tessera.config.diff/1": ["config", "diff", "run.yaml"],
        "tessera.autoreject.ptp/1": ["autoreject", "ptp", "epochs.npy"],
        "tessera.autoreject.simulate/1": ["autoreject", "simulate", "-o", "s.npy"],
        "tessera.decode.simulate/1": ["decode", "simulate", "tiny", "-o", "tiny.npz"],
        "tessera.decode.fit/1": ["decode", "fit", "tiny.npz", "-o", "model.npz"],
    }
    for schema, words in schemas.items():
        result = tessera(*words, "--json")
        assert result.returncode == (1 if "diff" in words else 0), result.stderr
        found = json.loads(result.stdout)
        assert found["schema"] == schema
        if words[0] == "bench":
            assert [row["case"] for row in found["rows"]] == ["ptp-f32-cached"]
            assert found["rows"][0]["ours_s"] > 0
    assert json.loads(tessera("--version", "--json").stdout)["build"]["version"]


def test_bench_has_kernels_and_systems_of_all_four(tessera):
    listed = json.loads(tessera("bench", "--list", "--json").stdout)["cases"]
    assert {(case["system"], case["kind"]) for case in listed} == {
        (system, kind)
        for system in ("autoreject", "decode", "xpcs", "clifford")
        for kind in ("kernel", "system")
    }
    names = [case["case"] for case in listed]
    assert len(set(names)) == len(names)
    assert [line.split()[0] for line in tessera("bench", "--list").stdout.splitlines()] == names
    wanted = {
        "xpcs": "xpcs",  # by system, by kind, by a part of the name
        "systems": "system",
        "fwdbwd": "fwdbwd",
    }
    for word, part in wanted.items():
        found = json.loads(tessera("bench", word, "--list", "--json").stdout)["cases"]
        assert found == [case for case in listed if part in (*case.values(), case["case"][-6:])]


def test_bench_of_every_system_says_its_share_of_the_ceiling(tessera):
    words = (
        "ptp-f64-long", "autoreject-fit", "decode-likelihood", "xpcs-pass-laminar", "layer3-fwd"
    )
    found = json.loads(tessera("bench", *words, "--threads", "1", "--json").stdout)
    rows = {row["case"]: row for row in found["rows"]}
    assert set(words) == set(rows)  # whole names mean one case each
    assert all(row["ours_s"] > 0 and row["n_repeat"] > 0 for row in rows.values())
    for case, rate, ceiling in (
        ("decode-likelihood", "flop_per_s", "flop_f32_per_s"),
        ("layer3-fwd", "flop_per_s", "flop_f32_per_s"),
        ("ptp-f64-long", "bytes_per_s", "read_bytes_per_s"),
    ):
        share = rows[case][rate] / found[ceiling]
        assert rows[case]["share_of_roofline"] == pytest.approx(share)
    assert rows["xpcs-pass-laminar"]["share_of_roofline"] is None


def test_sysinfo_fits_one_screen_and_keeps_paths_to_itself(tessera, tmp_path):
    text = tessera("sysinfo").stdout
    assert len(text.splitlines()) <= 50
    assert str(tmp_path) not in text
    assert str(tmp_path) in tessera("sysinfo", "--paths").stdout
    assert "isa" in text


def test_isa_of_the_environment_and_the_option(tessera):
    found = json.loads(tessera("sysinfo", "--json", environment={"TESSERA_ISA": "ref"}).stdout)
    assert found["chosen"]["isa"] == "ref"
    found = json.loads(tessera("sysinfo", "--json", "--isa", "ref").stdout)
    assert found["chosen"]["isa"] == "ref"


def test_threads_flag_beats_environment_beats_file(tessera, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text("run:\n  threads: 3\n")
    words = ["sysinfo", "--json", "--config", "run.yaml"]
    assert json.loads(tessera(*words).stdout)["chosen"]["threads"] == 3
    environment = {"TESSERA_NUM_THREADS": "2"}
    found = json.loads(tessera(*words, environment=environment).stdout)["chosen"]
    assert (found["threads"], found["threads_origin"]) == (2, "TESSERA_NUM_THREADS")
    found = json.loads(tessera(*words, "--threads", "1", environment=environment).stdout)["chosen"]
    assert found["threads"] == 1


def test_device_says_what_was_chosen(tessera):
    result = tessera("device")
    assert result.returncode == 0
    assert "* cpu " in result.stdout
    assert "\nchosen: cpu (" in result.stdout


def test_selftest_passes_on_every_isa(tessera):
    found = json.loads(tessera("selftest", "--json").stdout)
    assert found["n_failed"] == 0
    assert found["n_passed"] == len(found["checks"]) >= 6  # ref and at least one more
    assert tessera("selftest").stdout.splitlines()[-1] == f"{found['n_passed']} passed, 0 failed"


def test_info(same_as_stored, epochs, tmp_path):
    np.savez(tmp_path / "two.npz", first=np.zeros((2, 3)), second=np.arange(4))
    same_as_stored("info_npy", "info", "epochs.npy")
    same_as_stored("info_npz", "info", "two.npz")
    same_as_stored("info_missing", "info", "nowhere.npy")


def test_info_shows_provenance(tessera, epochs):
    tessera("autoreject", "ptp", "epochs.npy", "-o", "p.npy")
    text = tessera("info", "p.npy").stdout
    assert "autoreject ptp epochs.npy -o p.npy" in text
    assert json.loads(tessera("info", "p.npy", "--json").stdout)["provenance"]


def test_config_round_trip(tessera, tmp_path, yaml):
    assert tessera("config", "init", "-o", "run.yaml").returncode == 0
    assert tessera("config", "init", "-o", "run.yaml").returncode == 73
    assert tessera("config", "init", "-o", "run.yaml", "--overwrite").returncode == 0
    result = tessera("config", "validate", "run.yaml")
    assert (result.returncode, result.stdout, result.stderr) == (0, "run.yaml: valid\n", "")
    assert tessera("config", "diff", "run.yaml").returncode == 0


def test_config_show_says_where_values_come_from(same_as_stored, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text("autoreject:\n  ptp:\n    nonfinite: error\n")
    user = tmp_path / ".config/tessera"
    user.mkdir(parents=True)
    (user / "config.yaml").write_text("run:\n  keep_checkpoints: 5\n")
    words = ["config", "show", "--origin", "--config", "run.yaml", "--threads", "1"]
    environment = {"TESSERA_MEMORY_LIMIT": "256M", "XDG_CONFIG_HOME": "/nowhere"}
    same_as_stored("config_show", *words, environment=environment)


def test_config_user_file(tessera, tmp_path, yaml):
    user = tmp_path / ".config/tessera"
    user.mkdir(parents=True)
    (user / "config.yaml").write_text("run:\n  keep_checkpoints: 5\n")
    settings = json.loads(tessera("config", "show", "--json").stdout)["settings"]
    found = {f"{s['table']}.{s['name']}": s for s in settings}
    assert found["run.keep_checkpoints"]["value"] == "5"
    assert found["run.keep_checkpoints"]["origin"].endswith("/.config/tessera/config.yaml:2")


def test_config_diff(same_as_stored, tmp_path, yaml):
    (tmp_path / "a.yaml").write_text("run:\n  threads: 1\n")
    other = "run:\n  threads: 2\nautoreject:\n  ptp:\n    tile_epochs: 9\n"
    (tmp_path / "b.yaml").write_text(other)
    same_as_stored("config_diff_two", "config", "diff", "a.yaml", "b.yaml")
    same_as_stored("config_diff_default", "config", "diff", "a.yaml")
    same_as_stored("config_diff_same", "config", "diff", "a.yaml", "a.yaml")


BROKEN = {
    "unknown_key": "autoreject:\n  ptp:\n    nonfinit: error\n",
    "unknown_section": "autorejct:\n  ptp:\n    nonfinite: error\n",
    "bad_value": "run:\n  threads: many\n",
    "duplicate": "run:\n  threads: 1\n  threads: 2\n",
    "syntax": "run: [\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_config_errors_exit_78(name, same_as_stored, epochs, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text(BROKEN[name])
    result = same_as_stored(f"config_{name}", "config", "validate", "run.yaml")
    assert result.returncode == 78


def test_config_of_a_run_is_checked_and_used(tessera, epochs, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text("autoreject:\n  ptp:\n    nonfinite: error\n")
    assert tessera("autoreject", "ptp", "epochs.npy", "--config", "run.yaml").returncode == 65
    words = ["--config", "run.yaml", "--nonfinite", "propagate"]
    assert tessera("autoreject", "ptp", "epochs.npy", *words).returncode == 0
    assert tessera("autoreject", "ptp", "epochs.npy", "--config", "none.yaml").returncode == 66


HOSTILE = ["", "{", "[}", '{"a": [}]', '{"a"', "[[[[" * 20, "{} {}", "[01]", "[1.]", '["\\x"]']
HOSTILE += [
    '{"a": {"b": [1, {"c": -2.5e-3}]}, "d": "\\u00e9\\n", "e": [], "f": null}',
    "[true, {}]",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_info_survives_any_provenance(tessera, epochs, text):
    epochs.with_name("epochs.npy.json").write_text(text)
    plain = tessera("info", "epochs.npy")
    found = tessera("info", "epochs.npy", "--json")
    assert (plain.returncode, found.returncode) == (0, 0), plain.stderr
    try:
        stored = json.loads(text)
    except ValueError:
        stored = None
    assert json.loads(found.stdout)["provenance"] == stored
    assert ("not JSON" in plain.stderr) == (stored is None)


def test_names_from_files_do_not_steer_the_terminal(tessera, tmp_path):
    np.savez(tmp_path / "x.npz", **{"\033[2Ja": np.zeros(2), "b": np.zeros(2)})
    (tmp_path / "x.npz.json").write_text('{"command_line": "\\u001b[2J \033[2J"}')
    for words in (["info", "x.npz"], ["autoreject", "ptp", "x.npz"]):
        result = tessera(*words)
        assert "a" in result.stdout + result.stderr
        assert "\033" not in result.stdout + result.stderr


def test_device_benchmark_times_passes(tessera):
    found = json.loads(tessera("device", "--benchmark", "--json", "--threads", "1").stdout)
    assert found["cpu"]["cores_physical"] >= 1
    assert found["cpu"]["numa_nodes"] >= 1
    (cpu,) = (device for device in found["devices"] if device["id"] == "cpu")
    passes = {(entry["model"], entry["pass"]): entry for entry in cpu["xpcs_passes"]}
    assert len(passes) == 6
    for entry in passes.values():
        assert entry["points_per_s"] * entry["seconds"] == pytest.approx(entry["n_point"])
