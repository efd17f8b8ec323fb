import type { IncomingMessage, ServerResponse } from 'node:http';
import { answer } from './answer';

/** What balancers and containers ask, of anybody and without any detail: does it live, and would it take an alarm? */
export class Probes {
  /** @param below path, with a slash at its end */
  constructor(
    private readonly below: string,
    private readonly isReady: () => Promise<boolean>,
  ) {}

  /** False = its path is no probe, and it is untouched. */
  handle(path: string, req: IncomingMessage, res: ServerResponse): boolean {
    const name = path.startsWith(this.below) ? path.slice(this.below.length) : '';
    if (name !== 'live' && name !== 'ready') return false;
    if (req.method !== 'GET' && req.method !== 'HEAD') answer(req, res, 'not-get');
    else if (name === 'live') answer(req, res, 'works');
    else void this.#answerReady(req, res);
    return true;
  }

  async #answerReady(req: IncomingMessage, res: ServerResponse): Promise<void> {
    answer(req, res, (await this.isReady()) ? 'works' : 'works-not');
  }
}
