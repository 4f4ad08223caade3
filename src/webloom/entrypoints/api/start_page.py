"""What a person sees who opens the API's address in a browser."""

START_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Webloom</title>
<h1>Webloom</h1>
<p>Webloom is running. Look at:</p>
<ul>
<li><a href="/api/feeds">/api/feeds</a>: the feeds, their schedules and their last runs</li>
<li><a href="/api/import-logs">/api/import-logs</a>: what was imported, the newest first</li>
<li><a href="/api/jobs">/api/jobs</a>: the postings that the feeds offer</li>
<li><a href="/api/watches">/api/watches</a>: the watches, their schedules and their last runs</li>
<li><a href="/api/watch/pages">/api/watch/pages</a>: the watched pages, the latest changed
first</li>
<li><a href="/api/watch/pages/changes">/api/watch/pages/changes</a>: what changed on them, the
newest first; also as an <a href="/api/watch/feed.atom">Atom feed</a></li>
<li><a href="/metadata/records">/metadata/records</a>: the pages that are known, the newest
first</li>
<li><a href="/health">/health</a>: every dependency, the queues, the processes</li>
<li><a href="/metrics">/metrics</a>: for Prometheus</li>
<li><a href="/openapi.json">/openapi.json</a>: every route and its answers</li>
</ul>
<p>Add a feed, import every feed, watch a page, submit a page. <code>$WEBLOOM</code> is this page's
address, without the slash at its end:</p>
<pre>
curl -d '{"url": "https://example.com/jobs.rss"}' $WEBLOOM/api/feeds
curl -X POST $WEBLOOM/api/import/run
curl -d '{"url": "https://example.com/"}' $WEBLOOM/api/watches
curl -d '{"url": "https://example.com/"}' $WEBLOOM/metadata
</pre>
</html>
"""
