"""What a person sees who opens the API's address in a browser."""

START_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Webloom</title>
<h1>Webloom</h1>
<p>The HTTP inventory is running. Look at:</p>
<ul>
<li><a href="/health">/health</a>: every dependency, the queue, the workers</li>
<li><a href="/metadata/records">/metadata/records</a>: what is known, the newest first</li>
<li><a href="/metrics">/metrics</a>: for Prometheus</li>
<li><a href="/openapi.json">/openapi.json</a>: every route and its answers</li>
</ul>
<p>Submit a URL:</p>
<pre>curl -d '{"url": "https://example.com/"}' http://127.0.0.1:8081/metadata</pre>
</html>
"""
