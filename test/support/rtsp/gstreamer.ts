import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { endProcess } from '../network/servers';
import { cannotRun } from '../suite/programs';
import { temporaryFolder } from '../suite/temporary-folder';
import { PATIENCE } from '../time/patience';

const PROGRAM = path.join(__dirname, 'gstreamer-server.py');
/** That of the system: those of version managers lack the bindings. */
const PYTHON = '/usr/bin/python3';
const IS_THERE =
  'import gi; gi.require_version("GstRtspServer", "1.0"); from gi.repository import GstRtspServer';

interface GStreamerSettings {
  /** By path: a description of a pipeline, whose elements `pay0`, `pay1` … are the media. */
  mounts: Readonly<Record<string, string>>;
  login?: { method: 'basic' | 'digest'; user: string; password: string };
  tls?: { cert: string; key: string };
  /** Only by UDP. */
  protocols?: 'udp';
}

/** For the first line of a `before`. */
export function needsGStreamerServer(context: Mocha.Context): void {
  try {
    if (!existsSync(PYTHON)) throw new Error(PYTHON);
    execFileSync(PYTHON, ['-c', IS_THERE], { stdio: 'ignore' });
  } catch {
    cannotRun(context, "GStreamer's RTSP server is not installed");
  }
}

/** GStreamer's RTSP server: one that shares nothing with us but the standard. */
export class GStreamerServer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly port: number,
    private readonly settings: GStreamerSettings,
  ) {}

  static async start(settings: GStreamerSettings): Promise<GStreamerServer> {
    const child = spawn(PYTHON, [PROGRAM, JSON.stringify(settings)], { stdio: ['ignore', 'pipe', 'pipe'] });
    let told = '';
    child.stderr.on('data', (text: Buffer) => (told += text.toString()));
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`it has ended: ${told}`)));
    const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
    ended.catch(() => undefined);
    const ready: unknown = JSON.parse(String(line));
    if (typeof ready !== 'object' || ready === null || !('port' in ready)) throw new Error(String(line));
    return new GStreamerServer(child, Number(ready.port), settings);
  }

  /** With its login, where it wants one. */
  urlOf(mount: string): string {
    const { login, tls } = this.settings;
    const before = login === undefined ? '' : `${login.user}:${login.password}@`;
    return `${tls === undefined ? 'rtsp' : 'rtsps'}://${before}127.0.0.1:${this.port}${mount}`;
  }

  async stop(): Promise<void> {
    await endProcess(this.child, 'SIGKILL');
  }
}

const run = promisify(execFile);
const LIMIT = { timeout: PATIENCE, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 } as const;
const SOURCE = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=10'];
const SOUND = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=44100'];

const ENCODERS = {
  baseline: '-c:v libx264 -preset veryfast -profile:v baseline -g 10 -pix_fmt yuv420p',
  bframes: '-c:v libx264 -preset veryfast -profile:v main -bf 2 -b_strategy 0 -g 10 -pix_fmt yuv420p',
  h265: '-c:v libx265 -preset ultrafast -x265-params keyint=10:log-level=none -tag:v hvc1 -pix_fmt yuv420p',
} as const;
type Kind = keyof typeof ENCODERS;

/** Files with moving pictures, made by ffmpeg for one test file. */
export class MadeRecordings {
  readonly #folder = temporaryFolder('recordings');

  /** An MP4 of so many seconds, with a key frame in each. */
  async make(kind: Kind, seconds: number, withSound = false): Promise<string> {
    const file = path.join(this.#folder, `${kind}-${seconds}${withSound ? '-aac' : ''}.mp4`);
    const sound = withSound ? [...SOUND, '-c:a', 'aac', '-ac', '2'] : [];
    const [inputs, audio] = [sound.slice(0, 4), sound.slice(4)];
    const options = `-t ${seconds} ${ENCODERS[kind]}`.split(' ');
    await run('ffmpeg', ['-v', 'error', '-y', ...SOURCE, ...inputs, ...options, ...audio, file], LIMIT);
    return file;
  }
}

/** Its elementary stream, with start codes. */
export async function elementaryStream(file: string, codec: 'h264' | 'hevc'): Promise<Buffer> {
  const options = ['-v', 'error', '-i', file, '-map', '0:v', '-c', 'copy', '-bsf:v', `${codec}_mp4toannexb`];
  const { stdout } = await run('ffmpeg', [...options, '-f', codec, '-'], { ...LIMIT, encoding: 'buffer' });
  return stdout;
}

/** Seconds at which its packets are shown, in the order in which they are stored. */
export async function shownTimes(file: string, stream: 'v' | 'a'): Promise<number[]> {
  const options = `-v error -select_streams ${stream} -show_entries packet=pts_time -of csv=p=0`;
  const { stdout } = await run('ffprobe', [...options.split(' '), file], LIMIT);
  return stdout
    .trim()
    .split(/\s+/)
    .map((text) => Number(text.replace(/,$/, '')));
}

/** What ffmpeg has to say of an elementary stream that it decodes; empty where all is well. */
export async function decodingFaults(stream: Buffer, codec: 'h264' | 'hevc'): Promise<string> {
  const running = run('ffmpeg', ['-v', 'warning', '-f', codec, '-i', 'pipe:0', '-f', 'null', '-'], LIMIT);
  running.child.stdin?.end(stream);
  return (await running).stderr;
}
