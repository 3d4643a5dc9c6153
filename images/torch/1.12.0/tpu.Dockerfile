# PyTorch 1.12.0 on a TPU. Every pin is in tpu.lock, created from tpu.in by 'make lock'.
# torch_xla 1.12 exists for Python 3.8 only. It uses the TPU through XRT, which listens on port 51011 of the VM.
# Without tpu.lock the build fails at its COPY; create it with 'portbench lock torch/1.12.0/tpu'.
FROM python:3.8-slim-bookworm AS environment
COPY images/installer.lock images/torch/1.12.0/tpu.lock /locks/
# Nothing is compiled in the container, so headers and static libraries are removed.
RUN python -m pip install --no-cache-dir --require-hashes --requirement /locks/installer.lock \
    && uv venv /opt/environment \
    && uv pip sync --python /opt/environment --require-hashes --no-cache --compile-bytecode /locks/tpu.lock \
    && find /opt/environment \( -name include -o -name '*.a' \) -prune -exec rm -r {} +

FROM python:3.8-slim-bookworm
COPY --from=environment /opt/environment /opt/environment
ENV PATH=/opt/environment/bin:$PATH HOME=/tmp USER=portbench PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
ENV XRT_TPU_CONFIG="localservice;0;localhost:51011" LD_LIBRARY_PATH=/opt/environment/lib/python3.8/site-packages/libtpu
RUN python -c "import torch, torch_xla; assert torch.__version__.partition('+')[0] == '1.12.0', torch.__version__" \
    && install -d -o 65532 -g 65532 /results
WORKDIR /opt/portbench
COPY images/as-owner /usr/local/bin/
COPY schema schema
COPY runners runners

ARG PORTBENCH_RUNNER_COMMIT=""
ENV PORTBENCH_RUNNER_COMMIT=$PORTBENCH_RUNNER_COMMIT
ARG PORTBENCH_SOURCE_SHA256=""
LABEL org.opencontainers.image.title="portbench torch 1.12.0 tpu" \
      org.opencontainers.image.version="1.12.0" \
      org.opencontainers.image.revision="$PORTBENCH_RUNNER_COMMIT" \
      org.opencontainers.image.licenses="Apache-2.0" \
      portbench.framework="torch" \
      portbench.version="1.12.0" \
      portbench.device="tpu" \
      portbench.source_sha256="$PORTBENCH_SOURCE_SHA256"
USER 65532:65532
ENTRYPOINT ["as-owner", "python", "-m", "runners", "--framework", "torch", "--device", "tpu"]
CMD ["--manifest", "manifests/study/torch.json", "--out", "/results"]
