import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import type net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { RvmError, type RvmErrorCode } from '../../../../lib/error';
import { CloudVideo } from '../../../../lib/video/cloud-video';
import { ClipMemory } from '../../../../lib/video/mp4/clip-destination';
import { ClipWriter } from '../../../../lib/video/mp4/clip-writer';
import { Decoder } from '../../../../lib/video/picture/decoder';
import { openStream } from '../../../../lib/video/rtsp/open-stream';
import type { VideoSource } from '../../../../lib/video/sessions/session-slots';
import { ScriptedRelay } from '../../rtsp/scripted-relay';
import { grantingClient } from '../made-stream';
import type { CameraStream } from './camera-stream';

/** What became of a stream in the package: a clip of it, played by ffmpeg. */
export interface ShownHere {
  pictures: number;
  /** Of the clip. */
  seconds: number;
  /** Why there is no clip, or why it ended before the stream. */
  trouble: RvmErrorCode | 'broken off' | 'stalled' | 'format changed' | 'too large' | undefined;
}

/** Milliseconds until the package gives up, and until ffmpeg does. */
const DEADLINE = 20_000;
/** What is decoded is made as small as can be: pictures are only counted. */
const COUNTED = ['-fps_mode', 'passthrough', '-vf', 'scale=2:2', '-pix_fmt', 'gray', '-f', 'rawvideo', '-'];
const BYTES = 4;
const DAY = 86_400_000;

export interface ServedStream {
  relay: ScriptedRelay;
  /** Seconds that the last of it was sent for: on a busy machine more than it lasts. */
  sentFor: number;
}

/** Serves a stream to whoever plays it. @param speed how many times faster than its camera */
export async function served(stream: CameraStream, speed: number): Promise<ServedStream> {
  const { PLAY, ...script } = stream.script;
  const relay = await ScriptedRelay.start({
    ...script,
    PLAY: (request, socket) => {
      // Behind the answer: ffmpeg skips what comes before.
      socket.write(PLAY?.(request, socket) ?? '');
      const begun = performance.now();
      void play(socket, stream, speed).then(() => (all.sentFor = (performance.now() - begun) / 1000));
      return undefined;
    },
  });
  const all = { relay, sentFor: 0 };
  return all;
}

async function play(socket: net.Socket, { due, closes }: CameraStream, speed: number): Promise<void> {
  // Not by `once` of Node.js, which is rejected by an error of the socket, as where a TEARDOWN is answered behind the end.
  const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const drained = (): Promise<void> => new Promise((resolve) => socket.once('drain', () => resolve()));
  const begun = performance.now();
  for (const { at, bytes } of due) {
    const wait = at / speed - (performance.now() - begun);
    if (wait > 1) await pause(wait);
    if (socket.destroyed) return;
    if (!socket.write(bytes)) await Promise.race([drained(), gone]);
  }
  // Who was told good-bye leaves by himself.
  if (closes) socket.end();
  else void Promise.race([pause(1000), gone]).then(() => socket.end());
}

/** Pictures that ffmpeg shows of an address: those of I pictures that are no IDR, too, as newer releases do unasked. */
export function shownByFfmpeg(url: string): Promise<number> {
  const input = `-flags +output_corrupt -rtsp_transport tcp -timeout ${DEADLINE * 1000} -i ${url} -map 0:v`;
  return decoded(input.split(' '));
}

async function decoded(input: readonly string[]): Promise<number> {
  const child = spawn('ffmpeg', ['-nostdin', '-v', 'fatal', ...input, ...COUNTED], {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 2 * DEADLINE,
    killSignal: 'SIGKILL',
  });
  let bytes = 0;
  child.stdout.on('data', (piece: Buffer) => (bytes += piece.length));
  await once(child, 'close');
  return bytes / BYTES;
}

/** What *get clip* makes of a recording at an address, and how many pictures of it play. @param file where it is kept meanwhile */
export async function shownHere(url: string, file: string): Promise<ShownHere> {
  const video = new CloudVideo({
    sessions: 1,
    decoder: new Decoder(),
    open: (address, signal) =>
      openStream({ url: address, relays: { suffixes: [], localAllowed: true }, signal }),
  });
  const memory = new ClipMemory();
  const writer = new ClipWriter(memory);
  // Long past, so that nothing more of it is waited for; longer than any time stamp says.
  const from = Date.now() - 3 * DAY;
  try {
    const { signal } = new AbortController();
    const options = { signal, deadlineMs: DEADLINE, waitForVideoMs: 0 };
    const until = (): number => from + 2 * DAY;
    const { reason } = await video.clip(sourceAt(url, from), { until }, writer, options);
    const { seconds } = await writer.finish();
    fs.writeFileSync(file, memory.content);
    const pictures = await decoded(['-i', path.resolve(file), '-map', '0:v']);
    return { pictures, seconds, trouble: reason === 'recording ends' ? undefined : reason };
  } catch (error) {
    await writer.discard();
    if (!(error instanceof RvmError)) throw error;
    return { pictures: 0, seconds: 0, trouble: error.code };
  } finally {
    await video.close();
    fs.rmSync(file, { force: true });
  }
}

function sourceAt(url: string, time: number): VideoSource {
  const wanted = { mode: 'recorded', quality: 'high', camera: 'Gate', time, preRoll: 0 } as const;
  return { client: grantingClient([], url), wanted: { ...wanted, whenOffline: 'fail' } };
}
