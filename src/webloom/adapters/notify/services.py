"""The part of Apprise that Webloom uses: services on the network, nothing on this machine."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apprise import NotifyBase

# Left out on purpose: services of this machine (syslog, dbus, gnome, glib, macosx, windows,
# blink1), datagrams (rsyslog), and what needs files (vapid).
SCHEMES = frozenset(
    """
    46elks amqp amqps apprise apprises atalk azure bark barks betterstack bluesky brevo bsky bulksms
    bulkvs burstsms chanify clickatell clicksend cliq cm d7sms dapnet dingtalk discord dot
    eight00com elks emby embys enigma2 enigma2s evolution evolutions exotel fcm feishu firehydrant
    flock flowtriq flowtriqs fluxer fluxers form forms freemobile gchat github goalert goalerts
    gorush gorushs gotify gotifys groundmail groupme guilded gupshup hassio hassios httpsms humhub
    humhubs ifttt ilert incidentio infobip irc ircs jellyfin jellyfins jira join json jsons kakao
    kakaotalk kaleyra kavenegar klr kodi kodis kook kudosity kumulos lametric lametrics lark lauther
    lfg line mailersend mailgun mailto mailtos mastodon mastodons matrix matrixs misskey misskeys
    mmost mmosts mobilemessage mobilemsg msg91 msgbird ncloud nclouds nctalk nctalks nexmo nostr
    notica noticas notifiarr notifico notificos notifyre ntfy ntfys o365 octopush onebot onebots
    onesignal opsgenie pagerduty pagertree parsep parseps pbul pinglet pinglets pingram pjet pjets
    plivo postmark pover prowl psafer psafers push pushdeer pushdeers pushed pushme pushplus
    pushward pushy qq reddit resend revolt ringc rocket rockets ryver schan sendgrid sendpulse
    serwersms ses session sessions seven sfr signal signalgrid signals signl4 simplepush sinch slack
    smsc smseagle smseagles smsmanager smsmgr smstunnel smtp2go sns sogs sparkpost spike splunk
    spugpush spush squadcast stackfield strmlabs synology synologys telesign telnyx tgram threema
    toot toots trigv trigvs tweet twilio twist twitter viber victorops voipms vonage webex wechat
    wecom wecombot whapi whatsapp workflow workflows wpush wxpusher wxteams x xbmc xbmcs xmatters
    xml xmls youlmk zalo zcliq zohocliq zoom zulip
    """.split()  # noqa: SIM905 - two hundred quoted names are harder to read
)

# Ports that the network policy refuses to web requests, and these services need.
_PORTS = {
    "mailto": {25, 465, 587},
    "mailtos": {25, 465, 587},
    "irc": {6665, 6666, 6667, 6668, 6669},
    "ircs": {6679, 6697},
    "amqp": {5672},
    "amqps": {5671},
}


_turn = threading.Lock()  # warning filters are global


def ports_of(scheme: str) -> frozenset[int]:
    return frozenset(_PORTS.get(scheme, ()))


def service_of(url: str) -> NotifyBase | None:
    """None: Apprise can't read it. Opens and connects to nothing. Thread-safe."""
    with _turn, warnings.catch_warnings():  # some plugins use deprecated modules
        warnings.simplefilter("ignore")
        import apprise

        # It writes URLs to its log.
        logging.getLogger("apprise").disabled = True
        # Not what a target's URL does not ask for: redirects, templates, a longer timeout.
        asset = apprise.AppriseAsset(
            service_timeout=0, storage_mode="memory", allow_templates=False
        )
        asset.app_id = "Webloom"
        asset.app_desc = "Webloom"
        asset.app_url = ""
        asset.http_redirects = False
        asset.pgp_autogen = False
        asset.pem_autogen = False
        with _quiet_destructors():
            return apprise.Apprise.instantiate(url, asset=asset)


@contextmanager
def _quiet_destructors() -> Iterator[None]:
    """A service that refuses its URL is incomplete, and the destructors of some raise: Python would
    print their tracebacks."""
    before = sys.unraisablehook

    def report(unraisable: sys.UnraisableHookArgs) -> None:
        if not str(getattr(unraisable.object, "__module__", "")).startswith("apprise."):
            before(unraisable)

    sys.unraisablehook = report
    try:
        yield
    finally:
        sys.unraisablehook = before


def native_scheme(url: str) -> str | None:
    """The scheme of the service that a web URL belongs to, such as a Discord webhook."""
    service = service_of(url)
    if service is None:
        return None
    names = service.secure_protocol or service.protocol
    return names if isinstance(names, str) else next(iter(names or ()), None)
