import net from 'node:net';
import * as fc from 'fast-check';
import { RvmError } from '../../../lib/error';
import { describe } from '../../../lib/video/rtsp/open-stream';
import { changes, list, mixed } from '../inputs/any';
import { CUT } from '../inputs/rtsp-text';
import { targetOf, type Complaint, type Target } from '../runner';

interface Input {
  pieces: Buffer[];
  /** Codecs of the video, where the answer was not changed. */
  codecs: string[] | undefined;
}

/** Far beyond what an answer on this machine takes: who sends too little ends the connection. Milliseconds. */
const TIMEOUT_MS = 60_000;

const STATUS = mixed([19, fc.constant('200')], [1, fc.nat(999).map((code) => String(code).padStart(3, '0'))]);
const CODECS = list(fc.constantFrom('H264', 'H265', 'JPEG', 'VP8'), 0, 2);
const INPUT = fc
  .tuple(CODECS, STATUS, fc.boolean(), changes(1, 2), CUT)
  .map(([codecs, status, isChanged, change, cut]): Input => {
    const media = codecs.map((codec, index) => `a=rtpmap:${96 + index} ${codec}/90000\r\n`).join('');
    const types = codecs.map((_, index) => ` ${96 + index}`).join('') || ' 96';
    const sdp = `v=0\r\ns=x\r\nm=video 0 RTP/AVP${types}\r\n${media}m=audio 0 RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\n`;
    const head = `RTSP/1.0 ${status} OK\r\nCSeq: 1\r\nContent-Length: ${sdp.length}\r\n\r\n`;
    const bytes = Buffer.from(head + sdp);
    if (status === '200' && !isChanged) return { pieces: cut(bytes), codecs };
    return { pieces: cut(change(bytes)), codecs: undefined };
  });

/** Answers of a relay to DESCRIBE, over a socket of this machine: each takes a connection, so there are few. */
export function describeTarget(): Target {
  const relay = new Relay();
  return targetOf<Input, string[] | RvmError>({
    name: 'description',
    share: 1_000,
    inputs: INPUT,
    act: async ({ pieces }) => {
      const url = await relay.urlOf(pieces);
      return describe(url, { timeoutMs: TIMEOUT_MS }).then(
        ({ codecs }) => codecs,
        (error: unknown) => {
          if (error instanceof RvmError) return error;
          throw error;
        },
      );
    },
    judge: complaintAbout,
    shown: ({ pieces }) => Buffer.concat(pieces),
    end: () => relay.end(),
  });
}

/** Answers whatever is asked with the pieces that were set, and ends the connection. */
class Relay {
  #server: net.Server | undefined;
  #pieces: readonly Buffer[] = [];

  async urlOf(pieces: readonly Buffer[]): Promise<string> {
    this.#pieces = pieces;
    const address = (await this.#listening()).address();
    if (typeof address !== 'object' || address === null) throw new Error('The relay has no port.');
    return `rtsp://127.0.0.1:${address.port}/a`;
  }

  async end(): Promise<void> {
    const server = this.#server;
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }

  async #listening(): Promise<net.Server> {
    if (this.#server !== undefined) return this.#server;
    const server = net.createServer((socket) => this.#answer(socket));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  #answer(socket: net.Socket): void {
    // Who has read enough breaks off.
    socket.on('error', () => undefined);
    socket.setNoDelay(true);
    socket.once('data', () => {
      for (const piece of this.#pieces) socket.write(piece);
      socket.end();
    });
  }
}

function complaintAbout({ codecs }: Input, answer: string[] | RvmError): Complaint | undefined {
  if (codecs === undefined) return undefined;
  if (answer instanceof RvmError) return { fault: 'rejected', reason: answer.message };
  return answer.join() === codecs.join() ? undefined : { fault: 'wrong', reason: answer.join() };
}
