"""/metrics, as Prometheus reads it."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from e2e.api_client import Api
from e2e.installation.calls import QUEUE, healthy
from e2e.running import (
    Webloom,
    until,
)
from e2e.watched_site import WatchedSite
from servers.private import free_port


async def test_metrics_can_be_read_by_prometheus(api: Api, site: WatchedSite) -> None:
    await api.record(site.url("/page"))
    await api.call("GET", "/nothing")
    await healthy(api)
    answer = await api.call("GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {each.name: each for each in text_string_to_metric_families(answer.text)}
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in families.values()
        for sample in family.samples
    }
    assert samples["webloom_dependency_up", "store"] == 1
    assert samples["webloom_dependency_up", "broker"] == 1
    for state in ("ready", "delayed", "in_flight", "dead"):
        assert ("webloom_queue_messages", *sorted((QUEUE, state))) in samples
    assert samples["webloom_records", "COMPLETED"] >= 1
    assert samples["webloom_postings", "open"] == samples["webloom_feeds", "failing"] == 0
    assert families["webloom_http_request_seconds"].type == "histogram"
    requests = [
        sample.labels | {"count": str(int(sample.value))}
        for sample in families["webloom_http_request_seconds"].samples
        if sample.name.endswith("_count")
    ]
    seen = {(each["method"], each["route"], each["status"]) for each in requests}
    assert ("GET", "/metadata", "200") in seen
    assert ("GET", "none", "404") in seen  # what anybody makes up is not a label
    assert not any("nothing" in value for each in requests for value in each.values())
    assert samples["process_resident_memory_bytes",] > 0


async def refusals(api: Api) -> dict[str, float]:
    text = (await api.call("GET", "/metrics")).text
    return {
        sample.labels["reason"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "webloom_gate_refusals_total"
    }


async def test_refused_connections_are_counted_and_logged_but_not_revealed(
    api: Api, whole: Webloom, site: WatchedSite
) -> None:
    await healthy(api)
    before = await refusals(api)
    assert before.keys() == {"deny-list", "metadata", "not-public", "own-address", "port"}
    url = site.url(f"/redirect?to=http://localhost:{free_port()}/")
    await api.submit(url)
    record = await api.listed_as(url, "FAILED_PERMANENT")
    reported = record["processing"]["error_message"]
    assert reported.startswith("localhost leads to an address that Webloom does not connect to")
    assert not any(word in reported for word in ("127.", "::1", "loopback"))
    assert "reason=not-public" in whole.log
    assert "refused a connection host=localhost address=" in whole.log

    async def is_counted() -> bool:
        return (await refusals(api))["not-public"] == before["not-public"] + 1

    await until(is_counted, what="the refusal among the metrics")


async def test_what_the_operator_denies_beats_what_is_allowed(api: Api) -> None:
    answer = await api.submit("http://127.1.255.1/")
    assert answer.is_problem(422, "127.1.255.1 port 80 is refused by the operator"), answer
