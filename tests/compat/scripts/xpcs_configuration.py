"""A configuration as a dictionary, and what homodyne makes of it."""

from homodyne.config import ConfigManager

settings = {
    "analysis_mode": "static",
    "analyzer_parameters": {
        "dt": 0.1,
        "start_frame": 1,
        "end_frame": 60,
        "scattering": {"wavevector_q": 0.0054},
        "geometry": {"stator_rotor_gap": 2000000},
    },
    "initial_parameters": {
        "parameter_names": ["D0", "alpha", "D_offset"],
        "values": [1500.0, -0.5, 4.0],
    },
    "optimization": {"method": "nlsq"},
}
manager = ConfigManager(config_override=settings)
config = manager.get_config()
mode = config["analysis_mode"]
dt = config["analyzer_parameters"]["dt"]
q = config["analyzer_parameters"]["scattering"]["wavevector_q"]
print(mode, dt, q)
