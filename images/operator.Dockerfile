# The operator; the same binary holds the tools (lint, render, replay).
FROM scratch
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY hedgerow /hedgerow
USER 65532:65532
EXPOSE 8081
ENTRYPOINT ["/hedgerow"]
CMD ["operator"]
