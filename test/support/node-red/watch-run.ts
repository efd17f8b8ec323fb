import assert from 'node:assert/strict';
import type { Finding } from '../../../lib/watch/findings';
import type { Verdict } from '../../../nodes/rvm-watch/verdict';
import { eventually } from '../time/patience';
import { type FlowNode, flowNode, type NodeRed, probe } from './node-red';

/** Of the clock that is moved, between two looks of a test; and so often does it look. */
const STEP_S = 1;
const LOOK_EVERY = 20;

/** A *watch* that pulses each second, and probes for what leaves it. */
export function watch(properties: Record<string, unknown> = {}): FlowNode[] {
  const usual = { name: '', stations: '', interval: 1, selfTest: 0 };
  const node = flowNode('watch', 'rvm-watch', [['changes'], ['pulses']], { ...usual, ...properties });
  return [node, probe('changes'), probe('pulses')];
}

/** What the watch of a Node-RED says since some moment, while its clock is moved where it has MOVABLE_CLOCK. */
export class WatchRun {
  #from = 0;

  /** @param isMovable false = time goes on as it does */
  constructor(
    readonly nodeRed: NodeRed,
    private readonly isMovable = true,
  ) {}

  /** @param from 0 = all that came since Node-RED was started */
  begin(from = this.nodeRed.seen.length): void {
    this.#from = from;
  }

  async deploy(flows: readonly FlowNode[], how: 'full' | 'nodes' = 'full'): Promise<void> {
    this.begin();
    await this.nodeRed.deploy(flows, how);
  }

  get verdicts(): Verdict[] {
    return this.nodeRed.at('changes', this.#from).map(({ payload }) => payload as Verdict);
  }

  get pulses(): Record<string, unknown>[] {
    return this.nodeRed.at('pulses', this.#from);
  }

  get kinds(): string[] {
    return this.verdicts.at(-1)?.findings.map(({ what }) => what) ?? [];
  }

  /** Waits until the last that was told has such a finding. */
  async comes(what: string): Promise<Finding> {
    await this.#passes(() => this.kinds.includes(what), `${what} to come`);
    const { ok, findings } = this.verdicts.at(-1) ?? assert.fail();
    const isFine = findings.every(({ severity }) => severity === 'warning');
    assert.equal(ok, isFine);
    return findings.find((each) => each.what === what) ?? assert.fail();
  }

  /** Waits until it has been told, and no more such a finding. */
  async goes(what: string): Promise<void> {
    const isOver = (): boolean => this.verdicts.length > 0 && !this.kinds.includes(what);
    await this.#passes(isOver, `${what} to go`);
  }

  /** Pulses between a change that has such a finding, and the next one that has not. */
  pulsesBeside(what: string): number {
    let stands = false;
    return this.nodeRed.seen.slice(this.#from).filter(({ probe, msg }) => {
      if (probe === 'changes')
        stands = (msg['payload'] as Verdict).findings.some((each) => each.what === what);
      return stands && probe === 'pulses';
    }).length;
  }

  async pulse(): Promise<void> {
    const before = this.pulses.length;
    await this.#passes(() => this.pulses.length > before, 'a pulse');
  }

  #passes(isSo: () => boolean, what: string): Promise<void> {
    return eventually(
      async () => {
        if (this.isMovable && !isSo()) await this.nodeRed.advance(STEP_S);
        return isSo();
      },
      what,
      LOOK_EVERY,
    );
  }
}
