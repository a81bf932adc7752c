# The data plane: one static binary and the authorities that providers' certificates come from. No shell, no package, no
# second file to patch. `images/build` makes the context; docker, podman and buildah build it as well.
FROM scratch
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY hedgerow-gateway /hedgerow-gateway
USER 65532:65532
EXPOSE 8080 9090
ENTRYPOINT ["/hedgerow-gateway"]
