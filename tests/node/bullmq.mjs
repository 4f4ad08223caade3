// Node's side of one queue. Reads commands from its input and answers each, a line of JSON each.
// What its worker sees comes as lines with "seen".
import { createInterface } from 'node:readline';
import { Queue, Worker } from 'bullmq';

const [url, name] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
const queue = new Queue(name, { connection });
const workers = [];

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const plain = (job) => ({
  id: job.id,
  name: job.name,
  data: job.data,
  delay: job.delay,
  attemptsMade: job.attemptsMade,
  failedReason: job.failedReason ?? null,
});

const commands = {
  async add({ job, data, opts }) {
    return plain(await queue.add(job, data, opts));
  },
  // The first `failures` attempts of every job throw.
  async work({ failures = 0 }) {
    const worker = new Worker(
      name,
      async (job) => {
        say({ seen: plain(job), at: Date.now() });
        if (job.attemptsMade < failures) throw new Error('not yet');
      },
      { connection },
    );
    worker.on('completed', (job) => say({ completed: job.id }));
    workers.push(worker);
    await worker.waitUntilReady();
  },
  async failed() {
    return (await queue.getFailed()).map(plain);
  },
  async delayed() {
    return (await queue.getDelayed()).map(plain);
  },
  async counts() {
    return queue.getJobCounts();
  },
  async pause() {
    return queue.pause();
  },
  async resume() {
    return queue.resume();
  },
  async limit({ max, duration }) {
    return queue.setGlobalRateLimit(max, duration);
  },
  async retry({ id }) {
    const job = await queue.getJob(id);
    await job.retry('failed');
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  say({ answer: (await commands[command.do](command)) ?? null });
}
await Promise.all(workers.map((worker) => worker.close()));
await queue.close();
