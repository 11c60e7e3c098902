"""Help, usage errors and citation: everything that needs no data."""

import pytest

TEXTS = {
    "overview": [],
    "help_overview": ["help"],
    "help_ptp": ["autoreject", "ptp", "--help"],
    "help_simulate": ["help", "autoreject", "simulate"],
    "help_group": ["config", "--help"],
    "help_environment": ["help", "environment"],
    "help_exit_codes": ["help", "exit-codes"],
    "help_xpcs_mcmc": ["help", "xpcs", "mcmc"],
    "help_clifford": ["help", "clifford"],
    "help_clifford_bench": ["clifford", "bench", "--help"],
    "help_xpcs": ["help", "xpcs"],
    "help_xpcs_fit": ["help", "xpcs", "fit"],
    "help_xpcs_watch": ["help", "xpcs", "watch"],
    "help_decode": ["help", "decode"],
    "help_decode_run": ["decode", "run", "--help"],
    "version": ["--version"],
    "cite_autoreject": ["cite", "autoreject"],
    "cite_all": ["cite"],
    "config_init": ["config", "init"],
    "usage_unknown_command": ["autorejct"],
    "usage_unknown_far": ["qqqqqqqqqqqq"],
    "usage_unknown_verb": ["autoreject", "pt"],
    "usage_no_verb": ["config"],
    "usage_unknown_option": ["autoreject", "ptp", "--thread", "3"],
    "usage_unknown_letter": ["autoreject", "ptp", "-vz"],
    "usage_no_abbreviation": ["autoreject", "ptp", "x.npy", "--over"],
    "usage_missing_value": ["autoreject", "ptp", "x.npy", "--threads"],
    "usage_value_for_flag": ["autoreject", "ptp", "x.npy", "--json=yes"],
    "usage_bad_choice": ["autoreject", "ptp", "x.npy", "--nonfinite", "ignore"],
    "usage_bad_number": ["autoreject", "ptp", "x.npy", "--threads=many"],
    "usage_out_of_range": ["autoreject", "ptp", "x.npy", "--tile-epochs=-1"],
    "usage_no_operand": ["autoreject", "ptp"],
    "usage_two_operands": ["autoreject", "ptp", "a", "b"],
    "usage_resume_alone": ["autoreject", "ptp", "x.npy", "--resume"],
    "usage_simulate_nowhere": ["autoreject", "simulate"],
    "usage_bare_option": ["--jsn"],
    "usage_profile_alone": ["profile"],
    "usage_bench_case": ["bench", "ptp-f32-lnog"],
    "usage_shell": ["completion", "tcsh"],
    "usage_decode_verb": ["decode", "spikes.h5"],
    "usage_xpcs": ["xpcs"],
    "usage_clifford_none": ["clifford", "table"],
    "usage_clifford_batch": ["clifford", "bench", "--batch", "1.5"],
    "usage_clifford_signature": ["clifford", "table", "++x"],
    "clifford_table": ["clifford", "table", "+++"],
    "clifford_table_outer": ["clifford", "table", "3,0,1", "--product", "outer"],
    "clifford_table_terms": ["clifford", "table", "--signature=-", "--terms"],
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name, same_as_stored):
    same_as_stored(name, *TEXTS[name])


def test_exit_code_of_a_usage_error_is_2_and_of_an_absent_system_69(tessera):
    for name, words in TEXTS.items():
        code = tessera(*words).returncode
        assert code == {"usage": 2, "absent": 69}.get(name.split("_")[0], 0), name


def test_double_dash_ends_options(tessera):
    result = tessera("autoreject", "ptp", "--", "--json")
    assert result.returncode == 66
    assert "--json" in result.stderr


def test_every_option_of_the_help_is_in_the_markdown(tessera):
    markdown = tessera("help", "--all", "--markdown").stdout
    for line in tessera("autoreject", "ptp", "--help").stdout.splitlines():
        if line.strip().startswith("-"):
            option = [word for word in line.replace("[", " ").split() if word.startswith("--")][0]
            assert f"{option}" in markdown, option


def test_help_is_wrapped_to_the_terminal(tessera):
    narrow = tessera("autoreject", "ptp", "--help", environment={"COLUMNS": "60"}).stdout
    examples = narrow.index("Examples"), narrow.index("Computation")
    wrapped = narrow[: examples[0]] + narrow[examples[1] :]
    assert max(len(line) for line in wrapped.splitlines()) <= 60
