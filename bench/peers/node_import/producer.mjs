// The producer's process: starts imports on demand and shows their logs.
//
//   POST /api/import/run {"sourceUrl": "...", "sourceName": "..."}   202 {"runs": [{"runId": "..."}]}
//   GET  /api/import-logs/RUN_ID                                     200 the log
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import mongoose from 'mongoose';
import { QUEUE, config } from './config.mjs';
import { runImport } from './import_runner.mjs';
import { ImportLog, connect } from './models.mjs';

const LOGS = '/api/import-logs/';
const redis = new Redis(config.redisUrl, { maxRetriesPerRequest: null });
const queue = new Queue(QUEUE, { connection: redis });

async function start({ sourceUrl, sourceName }) {
  const run = { runId: randomUUID(), sourceUrl, sourceName, startedAt: new Date() };
  const { batchSize, concurrency } = config;
  await ImportLog.create({ ...run, status: 'running', meta: { batchSize, concurrency } });
  runImport(queue, run);
  return { runs: [{ runId: run.runId, sourceUrl }] };
}

async function answer(request) {
  if (request.method === 'POST' && request.url === '/api/import/run') {
    return [202, await start(await json(request))];
  }
  if (request.method === 'GET' && request.url.startsWith(LOGS)) {
    const log = await ImportLog.findOne({ runId: request.url.slice(LOGS.length) }).lean();
    return log ? [200, log] : [404, { error: 'there is no such run' }];
  }
  return [404, { error: 'there is nothing here' }];
}

const server = createServer(async (request, response) => {
  const [status, body] = await answer(request).catch((error) => [500, { error: error.message }]);
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
});

async function stop() {
  server.close();
  server.closeAllConnections();
  await queue.close();
  redis.disconnect();
  await mongoose.disconnect();
}

await connect(config.mongoUri);
await queue.waitUntilReady();
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
server.listen(config.port, '127.0.0.1', () => console.log(`ready ${server.address().port}`));
