# %% [markdown]
# # Is the theorem true on my instance, and where does it stop being true?
#
# A theory, an instance of one's own, the trajectory that a statement is about, and the verdict with its
# hypotheses, margins and controls.

# %%
import numpy as np

import popgrad

theory = popgrad.theory("joma", {"mu": np.array([1.0, 2.0, 3.0]), "v0": 0.1, "tau": 3})

# %% The trajectory: attention concentrates, then spreads again.
run = theory.run("reduced", t1=20, save=401)
print(run)
entropy = run["attention_entropy"]
print(f"least entropy {entropy.min():.6f} at t = {run.t[entropy.argmin()]:.3f}, "
      f"{entropy[-1]:.6f} at the end")
for event in run.events:
    print(f"{event['name']} of {event['column']} at t = {event['t']:.9g} +- {event['uncertainty']:.1g}")
run.plot(["attention_entropy"])

# %% The statement about it, on this instance.
verdicts = theory.verify("entropy-bounce")
print(verdicts)
bounce = verdicts["joma.entropy-bounce"]
for hypothesis in bounce.hypotheses:
    print(f"  {hypothesis['text']}: {hypothesis['met']}, margin {hypothesis['margin']}")
assert bounce.verdict == "holds" and bounce.refuted == len(bounce.controls)
verdicts.plot()

# %% Outside its hypotheses it does not apply, and popgrad says which one is not met.
outside = popgrad.theory("joma", {"mu": [1.0, 2.0, 3.0], "v0": 1.5, "tau": 3}).verify("entropy-bounce")
unmet = [h["text"] for h in outside[0].hypotheses if h["met"] == "no"]
print(outside[0].verdict, "because not met:", ", ".join(unmet))

# %% A search for a counterexample within them.
search = theory.falsify("entropy-bounce", seconds=1, evaluations=50)
print(search)
assert not search.falsified
search.plot()
