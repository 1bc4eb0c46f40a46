# One image for routers and monitor; the command says which.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE requirements.lock ./
COPY base base
COPY detector detector
COPY fallback_phrases fallback_phrases
COPY breaker breaker
COPY upstream upstream
COPY router router
COPY monitor monitor
COPY console console
COPY store store
COPY pointsman pointsman
COPY migrations migrations
RUN python -m venv /opt/pointsman \
 && /opt/pointsman/bin/pip install --no-cache-dir -c requirements.lock .

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/pointsman --create-home pointsman
COPY --from=build /opt/pointsman /opt/pointsman
ENV PATH=/opt/pointsman/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /var/lib/pointsman
EXPOSE 8080
ENTRYPOINT ["pointsman"]
CMD ["serve", "--config", "/etc/pointsman/pointsman.yaml"]
