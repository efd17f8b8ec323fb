import type { Node, NodeAPI, NodeStatus } from 'node-red';
import { onFlows } from '../support/flows';
import { allStations } from './find-station';
import type { Station } from './station';

/**
 * A node without a station of its own shows that of its last message, from then on: a service that comes back shows without
 * another message. Before the first message it shows the only station, if there is just one. A deploy that does not touch
 * the node may replace the station, or remove it.
 */
export class LastStation {
  #station: Station | undefined;
  #unwatch: (() => void) | undefined;
  #changed: () => void = () => undefined;

  constructor(
    private readonly RED: NodeAPI,
    node: Node,
  ) {
    node.on(
      'close',
      onFlows(RED, 'started', () => this.#lookAgain()),
    );
    node.on('close', () => this.#unwatch?.());
  }

  /** Sets who is told when the status may be another. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  /** That of the station; empty where there is none. */
  status(): NodeStatus {
    return this.#station?.status() ?? {};
  }

  follow(station: Station): void {
    if (station === this.#station) return;
    this.#unwatch?.();
    this.#station = station;
    this.#unwatch = station.watch(() => this.#changed());
    this.#changed();
  }

  #lookAgain(): void {
    const all = allStations(this.RED);
    const key = this.#station?.key;
    const live = key === undefined && all.length === 1 ? all[0] : all.find((station) => station.key === key);
    if (live !== undefined) return this.follow(live);
    this.#unwatch?.();
    this.#station = undefined;
    this.#changed();
  }
}
