// The worker's process: a batch at a time in each of CONCURRENCY slots.
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import mongoose from 'mongoose';
import { MOST_FAILURES, QUEUE, config } from './config.mjs';
import { problemOf } from './feed.mjs';
import { ImportLog, Job, connect, finalize } from './models.mjs';

async function storeBatch({ data }) {
  const { valid, failures } = split(data.jobs);
  const known = await knownKeys(valid);
  const refused = await upsert(valid);
  failures.push(...refused.values());
  const stored = valid.filter((_, index) => !refused.has(index));
  const updated = stored.filter((job) => known.has(job.dedupeKey)).length;
  const log = await ImportLog.findOneAndUpdate(
    { runId: data.runId },
    {
      $inc: {
        totalImported: stored.length,
        newJobs: stored.length - updated,
        updatedJobs: updated,
        failedJobs: failures.length,
        'meta.processedBatches': 1,
      },
      ...(failures.length && { $push: { failures: { $each: failures, $slice: MOST_FAILURES } } }),
    },
    { returnDocument: 'after', lean: true },
  );
  if (log.meta.processedBatches >= log.meta.totalBatches) await finalize(log);
}

function split(jobs) {
  const valid = [];
  const failures = [];
  for (const job of jobs) {
    const reason = problemOf(job);
    if (reason === undefined) valid.push(job);
    else failures.push({ reason, sample: JSON.stringify(job).slice(0, 500) });
  }
  return { valid, failures };
}

async function knownKeys(jobs) {
  const found = await Job.find(
    { dedupeKey: { $in: jobs.map((job) => job.dedupeKey) } }, { _id: 0, dedupeKey: 1 },
  ).lean();
  return new Set(found.map((job) => job.dedupeKey));
}

/** One bulkWrite; the failures by the index of the job that the database refused. */
async function upsert(jobs) {
  try {
    await Job.bulkWrite(
      jobs.map((job) => ({
        updateOne: { filter: { dedupeKey: job.dedupeKey }, update: { $set: job }, upsert: true },
      })),
      { ordered: false },
    );
    return new Map();
  } catch (error) {
    if (!error.writeErrors) throw error;
    return new Map(error.writeErrors.map(({ errmsg, index }) => [
      index, { reason: errmsg, sample: JSON.stringify(jobs[index]).slice(0, 500) },
    ]));
  }
}

await connect(config.mongoUri);
const redis = new Redis(config.redisUrl, { maxRetriesPerRequest: null });
const worker = new Worker(QUEUE, storeBatch, {
  connection: redis, concurrency: config.concurrency,
});
worker.on('failed', (job, error) => console.error(`batch ${job?.id}: ${error.message}`));
worker.on('error', (error) => console.error(error.message));

async function stop() {
  await worker.close();
  redis.disconnect();
  await mongoose.disconnect();
}

process.once('SIGTERM', stop);
process.once('SIGINT', stop);
await worker.waitUntilReady();
console.log('ready');
