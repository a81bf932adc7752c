# Scripted providers as pods, for tests only; never published.
FROM scratch
COPY hedgerow-sim /hedgerow-sim
USER 65532:65532
ENTRYPOINT ["/hedgerow-sim"]
