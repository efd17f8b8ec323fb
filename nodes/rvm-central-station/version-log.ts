import type { Node, NodeAPI } from 'node-red';

/** Tells the log of a version that was not agreed on, each once: nothing else is wrong, so all goes on (rule T-09). */
export class VersionLog {
  readonly #told = new Set<string | undefined>();

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    /** Of the Central Station. */
    private readonly name: string,
  ) {}

  /**
   * Hears what the service has answered.
   * @param version undefined where it names none
   * @param isUnasked true where it lies outside of the range that was asked for
   */
  hear(version: string | undefined, isUnasked: boolean): void {
    if (version !== undefined && !isUnasked) return;
    if (this.#told.has(version)) return;
    this.#told.add(version);
    const { name } = this;
    const text = version === undefined ? 'noVersion' : 'unaskedVersion';
    this.node.warn(this.RED._(`rvm-central-station.log.${text}`, { name, version: version ?? '' }));
  }
}
