# JAX 0.4.13 through XLA on the CPU. Every pin is in cpu.lock, created from cpu.in by 'make lock'.
FROM python:3.10-slim-bookworm AS environment
COPY images/installer.lock images/jax/0.4.13/cpu.lock /locks/
# Nothing is compiled in the container, so headers and static libraries are removed.
RUN python -m pip install --no-cache-dir --require-hashes --requirement /locks/installer.lock \
    && uv venv /opt/environment \
    && uv pip sync --python /opt/environment --require-hashes --no-cache --compile-bytecode /locks/cpu.lock \
    && find /opt/environment \( -name include -o -name '*.a' \) -prune -exec rm -r {} +

FROM python:3.10-slim-bookworm
COPY --from=environment /opt/environment /opt/environment
ENV PATH=/opt/environment/bin:$PATH HOME=/tmp USER=portbench PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN python -c "import jax; assert jax.__version__.partition('+')[0] == '0.4.13', jax.__version__" \
    && install -d -o 65532 -g 65532 /results
WORKDIR /opt/portbench
COPY images/as-owner /usr/local/bin/
COPY schema schema
COPY runners runners

ARG PORTBENCH_RUNNER_COMMIT=""
ENV PORTBENCH_RUNNER_COMMIT=$PORTBENCH_RUNNER_COMMIT
ARG PORTBENCH_SOURCE_SHA256=""
LABEL org.opencontainers.image.title="portbench jax 0.4.13 xla" \
      org.opencontainers.image.version="0.4.13" \
      org.opencontainers.image.revision="$PORTBENCH_RUNNER_COMMIT" \
      org.opencontainers.image.licenses="Apache-2.0" \
      portbench.framework="jax" \
      portbench.version="0.4.13" \
      portbench.device="xla" \
      portbench.source_sha256="$PORTBENCH_SOURCE_SHA256"
USER 65532:65532
ENTRYPOINT ["as-owner", "python", "-m", "runners", "--framework", "jax", "--device", "xla"]
CMD ["--manifest", "manifests/study/jax.json", "--out", "/results"]
