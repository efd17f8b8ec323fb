'use strict';
// A process that records clips into files, and does nothing else: what it takes is what clips take. Told by messages.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const v8 = require('node:v8');
const vm = require('node:vm');
const { setTimeout: sleep } = require('node:timers/promises');

const LIB = path.join(__dirname, '..', '..', 'dist', 'lib', 'video');
const { CloudVideo } = require(path.join(LIB, 'cloud-video'));
const { openStream } = require(path.join(LIB, 'rtsp', 'open-stream'));
const { ClipWriter } = require(path.join(LIB, 'mp4', 'clip-writer'));
const { ClipFile } = require(path.join(LIB, 'clip-folder'));

const RELAYS = { suffixes: [], localAllowed: true };
/** Milliseconds until what a clip has left behind is given back. */
const SETTLED = 500;

const video = new CloudVideo({
  sessions: 1,
  open: (url, signal) => openStream({ url, relays: RELAYS, signal }),
  decoder: { close: async () => undefined },
});

/** The clip of a camera whose video has this address, with the CPU time and the memory that it took. */
async function record(url, seconds) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-bench-'));
  try {
    const idle = await idleBytes();
    forgetPeak();
    const cpu = process.cpuUsage();
    const { bytes, frames } = await clip(url, seconds, folder);
    const { user, system } = process.cpuUsage(cpu);
    return { cpuMs: (user + system) / 1000, bytes, frames, idle, peak: peakBytes() };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

async function clip(url, seconds, folder) {
  const from = Date.now();
  const client = { openRtsp: async () => ({ url, cameraId: 'camera', device: { id: 'camera', name: '' } }) };
  const wanted = { mode: 'live', camera: 'camera', quality: 'high', whenOffline: 'fail' };
  const writer = new ClipWriter(new ClipFile({ folder, name: 'clip.mp4' }));
  const options = { signal: new AbortController().signal, deadlineMs: 10_000, waitForVideoMs: 0 };
  await video.clip({ client, wanted }, { until: () => from + seconds * 1000 }, writer, options);
  return writer.finish();
}

v8.setFlagsFromString('--expose-gc');
const collectGarbage = vm.runInNewContext('gc');

async function idleBytes() {
  await sleep(SETTLED);
  collectGarbage();
  collectGarbage();
  return process.memoryUsage.rss();
}

/** The system remembers the most that a process has ever had; from here on anew. */
function forgetPeak() {
  fs.writeFileSync('/proc/self/clear_refs', '5');
}

function peakBytes() {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync('/proc/self/status', 'utf8'));
  return Number(kibibytes) * 1024;
}

process.on('message', ({ url, seconds }) => {
  record(url, seconds).then(
    (report) => process.send(report),
    (error) => process.send({ error: String(error) }),
  );
});
