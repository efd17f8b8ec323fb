import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { cannotRun } from '../suite/programs';

const PROGRAM = path.join(__dirname, 'gstreamer-server.py');
/** That of the system: those of version managers lack the bindings. */
const PYTHON = '/usr/bin/python3';
const IS_THERE =
  'import gi; gi.require_version("GstRtspServer", "1.0"); from gi.repository import GstRtspServer';

export interface GStreamerSettings {
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
    if (this.child.exitCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}
