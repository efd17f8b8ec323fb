import { once } from 'node:events';
import net from 'node:net';
import { answerIn } from './answers';

/** One connection that posts, one request at a time. As little work as can be: it takes the machine from the servers. */
export class Sender {
  #received: Buffer = Buffer.alloc(0);
  #answered: ((status: number) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  private constructor(private readonly socket: net.Socket) {
    socket.on('data', (piece) => this.#take(piece));
    socket.on('error', (error) => this.#failed?.(error));
    socket.on('close', () => this.#failed?.(new Error('a connection was cut')));
  }

  static async connect(port: number): Promise<Sender> {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new Sender(socket);
  }

  /** The status of the answer. @throws Error where the connection ends before there is one */
  send(request: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.socket.write(request);
    });
  }

  close(): void {
    this.#failed = undefined;
    this.socket.destroy();
  }

  #take(piece: Buffer): void {
    const received = this.#received.length === 0 ? piece : Buffer.concat([this.#received, piece]);
    const answer = answerIn(received);
    this.#received = answer === undefined ? received : received.subarray(answer.length);
    if (answer !== undefined) this.#answered?.(answer.status);
  }
}
