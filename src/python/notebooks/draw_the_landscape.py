# %% [markdown]
# # Draw the landscape: the loss over two attention weights, its certified minimum, and SGD's way there

# %%
import popgrad

theory = popgrad.theory("topic", T=4, tau=2, v=3)

# %% The loss over (alpha, beta), and an interval in which its minimum lies for certain.
landscape = theory.landscape(value="diagonal", grid=61, alpha=(0, 12), beta=(0, 12))
print(landscape)
certificate = landscape.certificate
print(f"minimum in [{float(certificate['lower']):.12g}, {float(certificate['upper']):.12g}], "
      f"{certificate['evidence']}: {certificate['boxes']} boxes")
assert certificate["lower"] <= certificate["upper"] <= landscape.values.min() + 1e-12
axes = landscape.plot()

# %% The best attention as the number of topics grows: a sweep.
sweep = theory.sweep("optimum", over={"T": [4, 8, 16], "tau": [2, 3]})
print(sweep.to_pandas() if len(sweep) < 20 else sweep)
sweep.plot("loss")

# %% How far SGD's loss fluctuates, predicted without an ensemble, and measured on one.
joma = popgrad.theory("joma", {"X": [[0.5, 0.1], [0.2, 0.6], [0.3, 0.3]], "scale": 0.3})
moments = joma.moments(eta=0.05, batch=16, t1=4, save=9)
ensemble = joma.run("sgd", eta=0.05, batch=16, t1=4, save=9, runs=200, progress=False)
measured = ensemble["attention_entropy"].std(axis=0, ddof=1)
predicted = moments["attention_entropy_sd"]
print(f"deviation of the attention entropy at the end: predicted {predicted[-1]:.3g}, "
      f"of 200 runs {measured[-1]:.3g}")
assert abs(measured[-1] / predicted[-1] - 1) < 0.3
ensemble.plot(["attention_entropy"])
