# jax 0.4.13, xla. Created by 'portbench lock' from images/Dockerfile.jinja: change it there.

FROM python:3.10-slim-bookworm AS environment
COPY images/describe.py images/install images/installer.lock images/jax/0.4.13/cpu.lock /locks/
# Nothing is compiled in the container, so headers and static libraries are removed. describe.py compiles the
# modules, and gives all files one age: so the layer is the same in every build.
RUN --mount=type=cache,target=/root/.cache/uv \
    python -m pip install --no-cache-dir --require-hashes --requirement /locks/installer.lock \
    && export PYTHONHASHSEED=0 UV_LINK_MODE=copy UV_PYTHON=/usr/local/bin/python3.10 \
    && /locks/install jax/0.4.13/cpu /opt/environment \
    && find /opt/environment \( -name include -o -name '*.a' \) -prune -exec rm -r {} + \
    && python /locks/describe.py environment /opt/environment /locks/cpu /made

FROM python:3.10-slim-bookworm AS runner
COPY images/as-owner /made/usr/local/bin/
COPY schema /made/opt/portbench/schema
COPY runners /made/opt/portbench/runners
ARG PORTBENCH_RUNNER_COMMIT=""
RUN --mount=type=bind,target=/clone \
    python /clone/images/describe.py image /clone images/jax/0.4.13/xla.Dockerfile /made

FROM python:3.10-slim-bookworm
COPY --from=environment /made /
ENV PATH=/opt/environment/bin:$PATH HOME=/tmp USER=portbench PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN --mount=type=tmpfs,target=/tmp \
    python -c "import jax; assert jax.__version__.partition('+')[0] == '0.4.13', jax.__version__"
COPY --from=runner /made /
WORKDIR /opt/portbench

ARG PORTBENCH_RUNNER_COMMIT=""
ARG PORTBENCH_SOURCE_SHA256=""
ARG PORTBENCH_SOURCE_URL=""
LABEL org.opencontainers.image.title="portbench jax 0.4.13 xla" \
      org.opencontainers.image.version="0.4.13" \
      org.opencontainers.image.revision="$PORTBENCH_RUNNER_COMMIT" \
      org.opencontainers.image.source="$PORTBENCH_SOURCE_URL" \
      org.opencontainers.image.licenses="Apache-2.0" \
      portbench.framework="jax" \
      portbench.version="0.4.13" \
      portbench.device="xla" \
      portbench.sbom="/opt/environment/sbom.cdx.json" \
      portbench.source_sha256="$PORTBENCH_SOURCE_SHA256"
USER 65532:65532
ENV PORTBENCH_MANIFEST=manifests/study/jax.json PORTBENCH_OUT=/results
ENTRYPOINT ["as-owner", "python", "-m", "runners", "--framework", "jax", "--device", "xla"]
