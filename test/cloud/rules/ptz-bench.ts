import { ScriptedStation } from '../../support/service/scripted-station';
import type { PtzCommand } from '../../../lib/cloud/calls';
import type { Reply, ScriptedService } from '../../support/service/scripted-service';

/** A service whose camera Gate has what a test gives it, and what it was told. */
export class PtzBench {
  readonly service: ScriptedService;

  private constructor(readonly station: ScriptedStation) {
    this.service = station.service;
  }

  static async start(): Promise<PtzBench> {
    return new PtzBench(await ScriptedStation.start());
  }

  gateOffers(links: Record<string, unknown>): void {
    this.service.on('GET', '/sources/Gate', { json: { _links: links } });
  }

  presets(json: unknown): void {
    this.gateOffers({ 'rel/ptz_presets': '/presets' });
    this.service.on('GET', '/presets', { json });
  }

  tours(json: unknown): void {
    this.gateOffers({ 'rel/ptz_tours': '/tours' });
    this.service.on('GET', '/tours', { json });
  }

  /** Sets the answer to the commands that tests send. */
  answer(reply: Reply = { status: 204 }): void {
    for (const path of ['/go', '/other', '/start', '/stop']) this.service.on('POST', path, reply);
  }

  /** Method, path and body of what is no GET and no login. */
  get commands(): [string, string, unknown][] {
    return this.service.seen
      .filter(({ method, path }) => method !== 'GET' && path !== '/login')
      .map(({ method, path, body }) => [method, path, body === '' ? undefined : JSON.parse(body)]);
  }

  /** The same without the bodies. */
  get paths(): string[] {
    return this.commands.map(([method, path]) => `${method} ${path}`);
  }

  /** Sends a command by a client of its own, and gives what the service has seen of commands. */
  async run(command: PtzCommand): Promise<string[]> {
    await this.station.client().ptz('Gate', command);
    return this.paths;
  }
}
