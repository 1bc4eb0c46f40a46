"""Which detector said it: baselines of the nightly evaluation hold for one version only.

Raise it with every change that moves verdicts (rules, thresholds, profiles), not with one that only makes them faster: a
baseline measured by an older detector would call the new detector's strictness the model's illness.
"""

DETECTOR_VERSION = "4"
