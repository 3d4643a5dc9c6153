"""A real corpus: wheels of packages that use PyTorch, TensorFlow or JAX, by exact version.

    python -m tests.bench.corpus FOLDER
    portbench count FOLDER --functions torch.json --functions tensorflow.json --functions jax.json -o counts.json

Wheels are zip files, which ``portbench count`` reads as they are; nothing in them is installed or run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PINNED = """
tensorforce==0.6.5 accelerate==1.15.0 adversarial-robustness-toolbox==1.20.1 albumentations==2.0.8
allennlp==2.10.1 blackjax==1.7.1 botorch==0.18.1 brax==0.14.2 captum==0.9.0 chex==0.1.92 cleverhans==4.0.0
deepspeed==0.3.1.dev5 deepxde==1.15.0 dgl==2.1.0 diffrax==0.7.2 diffusers==0.42.1 distrax==0.1.9
dm-haiku==0.0.17 dm-sonnet==2.0.2 edward2==0.0.2 einops==0.8.2 equinox==0.13.8 espnet==202511 evotorch==0.6.1
fastai==2.8.12 flax==0.12.8 foolbox==3.3.4 gpflow==2.11.2 gpytorch==1.15.2 jaxopt==0.8.5
jraph==0.0.6.dev0 keras==3.15.1 keras-cv==0.9.0 keras-hub==0.32.0 keras-nlp==0.32.0 keras-tuner==1.4.8
kfac-jax==0.0.8 kornia==0.9.0 larq==0.14.0 lightning==2.6.6 lineax==0.1.1 monai==1.6.1 nerfstudio==1.1.5
numpyro==0.22.0 opacus==1.6.0 open-clip-torch==3.3.0 optax==0.2.8 optimistix==0.1.0 orbax-checkpoint==0.12.8
peft==0.21.2 pyro-ppl==1.9.2 pytorch-ignite==0.5.5 pytorch-lightning==2.6.6 rlax==0.1.9
segmentation-models-pytorch==0.6.0 sentence-transformers==6.2.0 skorch==1.4.0 speechbrain==1.1.2
spektral==1.3.1 stable-baselines3==2.9.2 t5==0.9.4 tensor2tensor==1.15.7 tensorboardx==2.6.5
tensorflow-addons==0.23.0 tensorflow-datasets==4.9.10 tensorflow-hub==0.16.1 tensorflow-probability==0.25.0
tf-agents==0.19.0 tf-models-official==2.20.0 timm==1.0.31 torch-geometric==2.8.1 torchdiffeq==0.2.5
torchmetrics==1.9.0 torchvision==0.29.2 transformers==5.23.0 trax==1.4.1 trl==1.16.0 ultralytics==8.4.190
xformers==0.0.35
"""
PACKAGES = _PINNED.split()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    # The wheels of one platform and version, so that everybody has the same files.
    command += ["--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64", "--python-version", "3.11"]
    for package in PACKAGES:
        if not list(folder.glob(package.replace("-", "_").replace("==", "-") + "-*.whl")):
            print(package, flush=True)
            subprocess.run([*command, "--dest", str(folder), package], check=False)
    print(f"{len(list(folder.glob('*.whl')))} of {len(PACKAGES)} packages lie in {folder}")


if __name__ == "__main__":
    main()
