import mongoose from 'mongoose';

const jobSchema = new mongoose.Schema(
  {
    dedupeKey: { type: String, required: true, unique: true },
    sourceUrl: { type: String, required: true },
    sourceName: String,
    externalId: String,
    title: { type: String, required: true },
    jobUrl: String,
    company: String,
    location: String,
    jobType: String,
    categories: [String],
    description: String,
    publishedAt: Date,
  },
  { collection: 'jobs', timestamps: true },
);
jobSchema.index({ sourceUrl: 1, publishedAt: -1 });

const counter = { type: Number, default: 0 };

const importLogSchema = new mongoose.Schema(
  {
    runId: { type: String, required: true, unique: true },
    sourceUrl: { type: String, required: true },
    sourceName: String,
    status: { type: String, enum: ['running', 'completed', 'partial', 'failed'], required: true },
    startedAt: { type: Date, required: true },
    finishedAt: Date,
    totalFetched: counter,
    totalImported: counter,
    newJobs: counter,
    updatedJobs: counter,
    failedJobs: counter,
    failures: [{ _id: false, reason: String, sample: String }],
    error: String,
    meta: {
      batchSize: Number,
      concurrency: Number,
      totalBatches: Number,
      processedBatches: counter,
      durationMs: Number,
    },
  },
  { collection: 'import_logs' },
);
importLogSchema.index({ sourceUrl: 1, startedAt: -1 });
importLogSchema.index({ status: 1, startedAt: -1 });
importLogSchema.index({ startedAt: -1 });

export const Job = mongoose.model('Job', jobSchema);
export const ImportLog = mongoose.model('ImportLog', importLogSchema);

export async function connect(uri) {
  await mongoose.connect(uri);
  await Promise.all([Job.init(), ImportLog.init()]); // the indexes are there before the first write
}

/** Close a running log: partial if a record failed, otherwise completed. */
export async function finalize(log) {
  const finishedAt = new Date();
  await ImportLog.updateOne(
    { runId: log.runId, status: 'running' },
    {
      $set: {
        status: log.failedJobs > 0 ? 'partial' : 'completed',
        finishedAt,
        'meta.durationMs': finishedAt - log.startedAt,
      },
    },
  );
}
