"""What every process has: stores, broker, network policy; and the use cases built from them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from webloom.adapters.cron import next_match
from webloom.adapters.notify.targets import check_target
from webloom.adapters.refusal_log import RefusalLog
from webloom.application.dead_letters import DeadLetters
from webloom.application.host_turns import HostTurns
from webloom.application.imports.bulk_feeds import BulkFeeds
from webloom.application.imports.bulk_runs import BulkRuns
from webloom.application.imports.clear_spool import ClearSpool
from webloom.application.imports.import_outlines import ImportOutlines
from webloom.application.imports.manage_feeds import ManageFeeds
from webloom.application.imports.start_import import StartImport
from webloom.application.imports.store_batch import StoreBatch
from webloom.application.inbox.decide_entries import DecideEntries
from webloom.application.inbox.mute_page import MutePage
from webloom.application.inventory.bulk_records import BulkRecords
from webloom.application.inventory.check_url import check_address, check_url
from webloom.application.inventory.fetch_url import FetchUrl
from webloom.application.inventory.invalidate_url import InvalidateUrl
from webloom.application.inventory.look_up_url import LookUpUrl
from webloom.application.inventory.recent_records import RecentRecords
from webloom.application.inventory.requeue_forgotten import RequeueForgotten
from webloom.application.inventory.submit_url import SubmitUrl
from webloom.application.move.dump import MakeDump
from webloom.application.move.restore import Restore
from webloom.application.send_heartbeat import SendHeartbeat
from webloom.application.watch.bulk_watches import BulkWatches
from webloom.application.watch.import_watches import ImportWatches
from webloom.application.watch.manage_watches import ManageWatches
from webloom.application.watch.publish_events import STORE_SECONDS, FindMaintained, PublishEvents
from webloom.application.watch.run_watches import StartRun
from webloom.application.watch.store_event import StoreEvent
from webloom.bootstrap.stores import Stores
from webloom.domain.import_run import ImportRun
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.retry import fetch_backoff
from webloom.domain.worker_log import LogEntry
from webloom.parsing.target_url import shown_target
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock
from webloom.ports.connection import BrokerConnection
from webloom.ports.fetcher import Fetcher
from webloom.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Services(Stores):
    settings: Settings
    clock: Clock
    broker: Broker
    policy: NetworkPolicy
    refusals: RefusalLog  # of all outgoing connections of the process
    host_turns: HostTurns  # shared by everything that the process fetches
    recent_records: RecentRecords
    broker_connections: list[BrokerConnection]  # the one of metadata_queue first

    @property
    def submit_url(self) -> SubmitUrl:
        return SubmitUrl(
            store=self.store,
            broker=self.broker,
            check=partial(check_url, policy=self.policy),
            queue_limit=self.settings.queue_limit,
            needs_store=self.settings.accepts_into_the_store,
        )

    @property
    def look_up_url(self) -> LookUpUrl:
        return LookUpUrl(
            store=self.store,
            submit=self.submit_url,
            clock=self.clock,
            cache_ttl=self.settings.cache_ttl,
            recent=self.recent_records,
        )

    @property
    def invalidate_url(self) -> InvalidateUrl:
        return InvalidateUrl(
            store=self.store,
            recent=self.recent_records,
            check=partial(check_url, policy=self.policy),
        )

    @property
    def bulk_records(self) -> BulkRecords:
        return BulkRecords(
            records=self.records, submit=self.submit_url, invalidate=self.invalidate_url
        )

    @property
    def bulk_runs(self) -> BulkRuns:
        return BulkRuns(store=self.imports, start=self.start_import, clock=self.clock)

    @property
    def manage_feeds(self) -> ManageFeeds:
        return ManageFeeds(
            store=self.imports.feeds,
            clock=self.clock,
            check=partial(check_address, policy=self.policy),
            usual_minutes=self.settings.import_interval_minutes,
        )

    @property
    def start_import(self) -> StartImport:
        return StartImport(
            store=self.imports,
            clock=self.clock,
            batch_size=self.settings.batch_size,
            concurrency=self.settings.import_concurrency,
            is_restoring=self.restore.is_unfinished,
        )

    @property
    def bulk_feeds(self) -> BulkFeeds:
        return BulkFeeds(
            store=self.imports.feeds, manage=self.manage_feeds, start=self.start_import
        )

    @property
    def cancel_import(self) -> Callable[[str], Awaitable[ImportRun | None]]:
        return self.imports.runs.cancel

    @property
    def store_batch(self) -> StoreBatch:
        return StoreBatch(store=self.imports.postings)

    @property
    def clear_spool(self) -> ClearSpool:
        return ClearSpool(
            store=self.imports,
            spool=self.settings.spool,
            longest_download=self.settings.feed_timeout,
        )

    @property
    def manage_watches(self) -> ManageWatches:
        return ManageWatches(
            store=self.watches,
            pages=self.pages,
            clock=self.clock,
            cron=next_match,
            check=partial(check_address, policy=self.policy),
            check_target=check_target,
            shown_target=shown_target,
            usual_minutes=self.settings.watch_interval_minutes,
        )

    @property
    def import_outlines(self) -> ImportOutlines:
        return ImportOutlines(manage=self.manage_feeds)

    @property
    def import_watches(self) -> ImportWatches:
        return ImportWatches(manage=self.manage_watches)

    @property
    def start_watch(self) -> StartRun:
        return StartRun(watches=self.watches, runs=self.watch_runs)

    @property
    def bulk_watches(self) -> BulkWatches:
        return BulkWatches(
            store=self.watches,
            pages=self.pages,
            manage=self.manage_watches,
            start=self.start_watch,
        )

    @property
    def make_dump(self) -> MakeDump:
        return MakeDump(store=self.whole)

    @property
    def restore(self) -> Restore:
        return Restore(store=self.whole, lock=self.lock, clock=self.clock)

    @property
    def publish_events(self) -> PublishEvents:
        queue = self.settings.input_queue
        waits = self.settings.broker_urls[queue] == self.settings.store_url
        return PublishEvents(
            broker=self.broker,
            queue=queue,
            clock=self.clock,
            find_maintained=FindMaintained(
                watches=self.watches, seconds=None if waits else STORE_SECONDS
            ),
        )

    @property
    def decide_entries(self) -> DecideEntries:
        return DecideEntries(inbox=self.inbox, clock=self.clock)

    @property
    def mute_page(self) -> MutePage:
        return MutePage(inbox=self.inbox, clock=self.clock)

    @property
    def prune_pages(self) -> Callable[..., Awaitable[int]]:
        return self.page_storage.prune

    @property
    def make_searchable(self) -> Callable[[], Awaitable[int]]:
        return self.list_upkeep.make_searchable

    @property
    def dead_letters(self) -> DeadLetters:
        return DeadLetters(broker=self.broker)

    @property
    def store_logs(self) -> Callable[[Sequence[LogEntry]], Awaitable[None]]:
        return self.worker_logs.add

    @property
    def send_heartbeat(self) -> SendHeartbeat:
        return SendHeartbeat(store=self.heartbeats, refusals=self.refusals.counts)

    @property
    def store_event(self) -> StoreEvent:
        return StoreEvent(
            store=self.pages,
            watches=self.watches,
            runs=self.watch_runs,
            broker=self.broker,
            queue=self.settings.input_queue,
            clock=self.clock,
        )

    @property
    def requeue_forgotten(self) -> RequeueForgotten:
        return RequeueForgotten(store=self.store, broker=self.broker, heartbeats=self.heartbeats)

    def fetch_url(self, fetcher: Fetcher, turns: HostTurns) -> FetchUrl:
        return FetchUrl(
            store=self.store,
            fetcher=fetcher,
            turns=turns,
            retries=fetch_backoff(self.settings.retry_delay),
            lease=self.settings.lease,
        )
