// One import: log, fetch, parse, normalise, validate, batches onto the queue.
import { BATCH, MOST_FAILURES, config } from './config.mjs';
import { fetchXml, normalizeJob, parseFeedXml, problemOf } from './feed.mjs';
import { ImportLog, finalize } from './models.mjs';

const ADDED_AT_ONCE = 20; // batches in one round trip to Redis

export async function runImport(queue, { runId, sourceUrl, sourceName, startedAt }) {
  try {
    const { batches, fetched, failures } = readJobs(
      await fetchXml(sourceUrl, config.fetchTimeoutMs), sourceUrl, sourceName,
    );
    const log = await ImportLog.findOneAndUpdate(
      { runId },
      {
        $set: { totalFetched: fetched, 'meta.totalBatches': batches.length },
        $inc: { failedJobs: failures.length },
        $push: { failures: { $each: failures, $slice: MOST_FAILURES } },
      },
      { returnDocument: 'after', lean: true },
    );
    await enqueue(queue, { runId, sourceUrl }, batches);
    if (batches.length === 0) await finalize(log);
  } catch (error) {
    const finishedAt = new Date();
    await ImportLog.updateOne({ runId }, {
      $set: {
        status: 'failed', error: error.message, finishedAt, 'meta.durationMs': finishedAt - startedAt,
      },
    });
  }
}

function readJobs(xml, sourceUrl, sourceName) {
  const items = parseFeedXml(xml);
  const jobs = [];
  const failures = [];
  for (const item of items) {
    const job = normalizeJob(item, sourceUrl, sourceName);
    const reason = problemOf(job);
    if (reason === undefined) jobs.push(job);
    else failures.push({ reason, sample: JSON.stringify(item).slice(0, 500) });
  }
  const batches = [];
  for (let start = 0; start < jobs.length; start += config.batchSize) {
    batches.push(jobs.slice(start, start + config.batchSize));
  }
  return { batches, fetched: items.length, failures };
}

async function enqueue(queue, run, batches) {
  for (let start = 0; start < batches.length; start += ADDED_AT_ONCE) {
    const some = batches.slice(start, start + ADDED_AT_ONCE);
    await queue.addBulk(some.map((jobs, offset) => ({
      name: BATCH,
      data: { ...run, batchIndex: start + offset, totalBatches: batches.length, jobs },
      opts: {
        jobId: `${run.runId}-${start + offset}`,
        attempts: 3,
        backoff: { type: 'exponential', delay: 1000 },
        removeOnComplete: true,
      },
    })));
  }
}
