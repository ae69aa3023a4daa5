"""Trials: the user's unmodified script is run again with exactly one thing changed, and the two runs are compared.

    treatment.py      what was asked for ("lr=x0.1,clip=1.0"), as the command line, the causes and the records write it
    interventions/    one file per change that can be made, each installed by the same kind of hooks that observe
    control.py        where these files take hold of the process
    fence.py, stop.py what keeps a trial short and without traces
    compare.py        untreated against treated: CURED, HELPED, NO EFFECT, HARMED or INCONCLUSIVE
    fingerprints.py   checksums of the first steps' operations, for two runs that should be the same
    runner.py         trials as independent jobs

What stands in the user's process (treatment, interventions, control, fence, stop, inside) needs the standard library and
torch alone, and imports torch only when it is there already.
"""
