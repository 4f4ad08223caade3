// Settings, from the environment, and the names that producer and worker share.

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

export const config = {
  mongoUri: required('MONGODB_URI'),
  redisUrl: required('REDIS_URL'),
  port: Number(process.env.PORT ?? 0),
  batchSize: Number(process.env.BATCH_SIZE ?? 200),
  concurrency: Number(process.env.CONCURRENCY ?? 5),
  fetchTimeoutMs: 600_000,
};

export const QUEUE = 'import-feed';
export const BATCH = 'IMPORT_FEED_BATCH';
export const MOST_FAILURES = 100; // that a log keeps; all are counted
