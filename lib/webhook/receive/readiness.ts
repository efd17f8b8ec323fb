import { within } from '../../concurrency/timers';
import type { Endpoint } from '../endpoint';
import { ReadyEndpoints } from './ready';

/** Longest wait for what an inbox says, in milliseconds: a disk that hangs would take no alarm in time either. */
const PATIENCE = 1000;

/** Whether a server would take alarms: the flows run, a message can be judged, and each of its inboxes would keep it. */
export class Readiness {
  flowsRun = false;
  readonly #ready = new ReadyEndpoints();

  constructor(private readonly endpoints: () => readonly Endpoint[]) {}

  async isReady(): Promise<boolean> {
    if (!this.flowsRun) return false;
    const endpoints = this.endpoints();
    // One without a phrase, which all copies of a flow lack, must not keep the alarms of all others out.
    if (!endpoints.some((endpoint) => this.#ready.of(endpoint) !== undefined)) return false;
    const inboxes = [...new Set(endpoints.map(({ inbox }) => inbox))];
    const kept = await within(Promise.all(inboxes.map((inbox) => inbox.wouldKeep())), PATIENCE);
    return this.flowsRun && kept?.every((keeps) => keeps) === true;
  }
}
