// XML into jobs: fetchXml, parseFeedXml, normalizeJob, problemOf.
import { createHash } from 'node:crypto';
import { XMLParser } from 'fast-xml-parser';

// Values stay strings: a guid of 0012 is not the number 12.
const parser = new XMLParser({ ignoreAttributes: false, parseTagValue: false });

export async function fetchXml(url, timeoutMs) {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response.text();
}

/** The raw items of an RSS or Atom document. */
export function parseFeedXml(xml) {
  const document = parser.parse(xml);
  return list(document.rss?.channel?.item ?? document.feed?.entry);
}

export function normalizeJob(item, sourceUrl, sourceName) {
  const externalId = text(item.guid ?? item.id);
  const jobUrl = text(item.link) ?? list(item.link)[0]?.['@_href'];
  const published = new Date(text(item.pubDate ?? item.published ?? item.updated));
  return {
    dedupeKey: createHash('sha1').update(`${sourceUrl}|${externalId || jobUrl}`).digest('hex'),
    sourceUrl,
    sourceName,
    externalId,
    title: text(item.title),
    jobUrl,
    company: text(item['job_listing:company'] ?? item.company),
    location: text(item['job_listing:location'] ?? item.location),
    jobType: text(item['job_listing:job_type'] ?? item.type),
    categories: list(item.category).map((each) => text(each) ?? each['@_term']).filter(Boolean),
    description: text(item['content:encoded'] ?? item.description ?? item.content ?? item.summary),
    publishedAt: Number.isNaN(published.getTime()) ? undefined : published,
  };
}

/** Why a job can't be kept, or nothing. */
export function problemOf(job) {
  if (!job.title) return 'it has no title';
  if (!job.externalId && !job.jobUrl) return 'it has neither an id nor a link';
  return undefined;
}

function list(value) {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

/** The text of an element, whether or not it has attributes. */
function text(value) {
  const found = typeof value === 'object' ? value['#text'] : value;
  return found?.trim() || undefined;
}
