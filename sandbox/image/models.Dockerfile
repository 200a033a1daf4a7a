# A sandbox image with files of the Hugging Face hub, for problems that call from_pretrained (problems/README.md):
#   docker build -f sandbox/image/models.Dockerfile -t photofinish-sandbox:models FOLDER
# FOLDER is a cache of `hf download`. Containers have no network: they find a model here, or not at all.
ARG SANDBOX_IMAGE=photofinish-sandbox:latest
FROM ${SANDBOX_IMAGE} AS readable
COPY . /opt/models/
# Containers run without privileges, and some tools write files for their owner alone.
RUN chmod -R a+rX /opt/models

FROM ${SANDBOX_IMAGE}
COPY --from=readable /opt/models /opt/models
ENV HF_HUB_CACHE=/opt/models
