# JAX 0.4.8 on a TPU. Every pin is in tpu.lock, created from tpu.in by 'make lock'.
# Without tpu.lock the build fails at its COPY; create it with 'portbench lock jax/0.4.8/tpu'.
FROM python:3.10-slim-bookworm AS environment
COPY images/installer.lock images/jax/0.4.8/tpu.lock /locks/
# Nothing is compiled in the container, so headers and static libraries are removed.
RUN python -m pip install --no-cache-dir --require-hashes --requirement /locks/installer.lock \
    && uv venv /opt/environment \
    && uv pip sync --python /opt/environment --require-hashes --no-cache --compile-bytecode /locks/tpu.lock \
    && find /opt/environment \( -name include -o -name '*.a' \) -prune -exec rm -r {} +

FROM python:3.10-slim-bookworm
COPY --from=environment /opt/environment /opt/environment
ENV PATH=/opt/environment/bin:$PATH HOME=/tmp USER=portbench PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN python -c "import jax; assert jax.__version__.partition('+')[0] == '0.4.8', jax.__version__" \
    && install -d -o 65532 -g 65532 /results
WORKDIR /opt/portbench
COPY images/as-owner /usr/local/bin/
COPY schema schema
COPY runners runners

ARG PORTBENCH_RUNNER_COMMIT=""
ENV PORTBENCH_RUNNER_COMMIT=$PORTBENCH_RUNNER_COMMIT
ARG PORTBENCH_SOURCE_SHA256=""
LABEL org.opencontainers.image.title="portbench jax 0.4.8 tpu" \
      org.opencontainers.image.version="0.4.8" \
      org.opencontainers.image.revision="$PORTBENCH_RUNNER_COMMIT" \
      org.opencontainers.image.licenses="Apache-2.0" \
      portbench.framework="jax" \
      portbench.version="0.4.8" \
      portbench.device="tpu" \
      portbench.source_sha256="$PORTBENCH_SOURCE_SHA256"
USER 65532:65532
ENTRYPOINT ["as-owner", "python", "-m", "runners", "--framework", "jax", "--device", "tpu"]
CMD ["--manifest", "manifests/study/jax.json", "--out", "/results"]
