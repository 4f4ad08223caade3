// A worker as other people write it: it takes batches from `import-feed`, upserts their jobs, counts
// into `import_logs` and ends the run with its last batch. It knows the message and the two
// collections, and nothing else of Webloom.
//
//   node import_worker.mjs REDIS_URL MONGODB_URL DATABASE [OPTIONS as JSON]
//
// schema: keep only the fields of its own schema, with dates as dates, as an ODM does
// dieInBatch: end as by SIGKILL after that batch is written and before it is counted
// lockDuration, stalledInterval, concurrency: as BullMQ has them
import { Worker } from 'bullmq';
import { MongoClient } from 'mongodb';

const [redis, mongodb, database, given = '{}'] = process.argv.slice(2);
const options = { schema: false, dieInBatch: null, lockDuration: 30000, stalledInterval: 30000, concurrency: 2, ...JSON.parse(given) };
const FIELDS = ['dedupeKey', 'sourceUrl', 'sourceName', 'title', 'jobUrl', 'company', 'categories'];
const MOST_FAILURES = 100;

const client = await new MongoClient(mongodb).connect();
const jobs = client.db(database).collection('jobs');
const logs = client.db(database).collection('import_logs');
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');

function stored(job) {
  if (!options.schema) return job;
  const fields = Object.fromEntries(FIELDS.filter((name) => name in job).map((name) => [name, job[name]]));
  return job.publishedAt ? { ...fields, publishedAt: new Date(job.publishedAt) } : fields;
}

async function store(valid) {
  const keys = valid.map((job) => job.dedupeKey);
  const found = await jobs.find({ dedupeKey: { $in: keys } }, { projection: { dedupeKey: 1 } }).toArray();
  const existing = new Set(found.map((job) => job.dedupeKey));
  const now = new Date();
  const upserts = valid.map((job) => ({
    updateOne: {
      filter: { dedupeKey: job.dedupeKey },
      update: { $set: { ...stored(job), updatedAt: now }, $setOnInsert: { createdAt: now } },
      upsert: true,
    },
  }));
  if (upserts.length > 0) await jobs.bulkWrite(upserts, { ordered: false });
  const updated = keys.filter((key) => existing.has(key)).length;
  return { newJobs: keys.length - updated, updatedJobs: updated };
}

async function finish(log) {
  if (log.meta.processedBatches < log.meta.totalBatches) return;
  const finishedAt = new Date();
  await logs.updateOne(
    { runId: log.runId, status: 'running' },
    {
      $set: {
        status: log.failedJobs > 0 ? 'partial' : 'completed',
        finishedAt,
        'meta.durationMs': finishedAt - log.startedAt,
      },
    },
  );
  say({ finished: log.runId });
}

async function work(message) {
  if (message.name !== 'IMPORT_FEED_BATCH') return;
  const { runId, batchIndex, totalBatches } = message.data;
  say({ batch: { runId, batchIndex, totalBatches, fields: Object.keys(message.data), jobs: message.data.jobs.length } });
  const valid = message.data.jobs.filter((job) => job.title && job.jobUrl);
  const invalid = message.data.jobs.filter((job) => !(job.title && job.jobUrl));
  const { newJobs, updatedJobs } = await store(valid);
  if (batchIndex === options.dieInBatch) process.kill(process.pid, 'SIGKILL');
  const log = await logs.findOneAndUpdate(
    { runId },
    {
      $inc: {
        totalImported: valid.length,
        newJobs,
        updatedJobs,
        failedJobs: invalid.length,
        'meta.processedBatches': 1,
      },
      $push: {
        failures: {
          $each: invalid.map((job) => ({ reason: 'jobUrl is missing', item: job.title ?? null })),
          $slice: MOST_FAILURES,
        },
      },
    },
    { returnDocument: 'after' },
  );
  if (log) await finish(log);
}

const { hostname, port } = new URL(redis);
const worker = new Worker('import-feed', work, {
  connection: { host: hostname, port: Number(port), maxRetriesPerRequest: null },
  concurrency: options.concurrency,
  lockDuration: options.lockDuration,
  stalledInterval: options.stalledInterval,
});
worker.on('failed', (message, error) => say({ failed: message?.id, error: String(error) }));
await worker.waitUntilReady();
say({ ready: true });

process.once('SIGTERM', async () => {
  await worker.close();
  await client.close();
});
