import type { Station } from '../../rvm-central-station/station';

/** Where the sandbox posts the alarms of the stations of a *webhook in*. */
export class SandboxEndpoints {
  readonly #stations = new Map<string, Station>();

  constructor(private readonly nodeId: string) {}

  /** @param url undefined until its server listens */
  tell(stations: readonly Station[], url: () => string | undefined): void {
    for (const station of stations) {
      const id = `${this.nodeId}/${station.key}`;
      this.#stations.set(id, station);
      station.setSandboxEndpoint(id, url);
    }
  }

  remove(): void {
    for (const [id, station] of this.#stations) station.removeSandboxEndpoint(id);
  }
}
