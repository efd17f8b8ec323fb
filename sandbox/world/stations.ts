import { randomBytes, randomUUID } from 'node:crypto';
import { sameText } from '../text';

export interface StationSettings {
  name?: string;
  username?: string;
  password?: string;
  secret?: string;
  /** Scheme of the webhook endpoint as registered with the service. */
  scheme: 'http' | 'https';
}

/** The credentials in force: those of the settings, or generated ones where the settings are empty. */
export interface StationCredentials {
  username: string;
  password: string;
  secret: string;
  agentUserId: string;
  agentUserTenantId: string;
}

export interface Station extends StationCredentials {
  key: string;
  name: string;
  scheme: 'http' | 'https';
}

/** The Central Stations of the provider, each with its Agent User and Shared Secret Phrase. */
export class Stations {
  readonly #stations = new Map<string, Station>();
  /** Generated credentials. Retained after removal, so that a station added again has the same ones. */
  readonly #own = new Map<string, StationCredentials>();
  readonly #tenantId = randomUUID();

  set(key: string, settings: StationSettings): StationCredentials {
    const own = this.#ownOf(key);
    const credentials = {
      ...own,
      username: settings.username || own.username,
      password: settings.password || own.password,
      secret: settings.secret || own.secret,
    };
    const { name, scheme } = settings;
    this.#stations.set(key, { ...credentials, key, name: name || key, scheme });
    return credentials;
  }

  remove(key: string): void {
    this.#stations.delete(key);
  }

  get(key: string): Station | undefined {
    return this.#stations.get(key);
  }

  list(): Station[] {
    return [...this.#stations.values()];
  }

  /** The station whose Agent User this is. There is no lock-out (specification, section 8). */
  login(username: string, password: string): Station | undefined {
    return this.list().find(
      (station) => sameText(station.username, username) && sameText(station.password, password),
    );
  }

  #ownOf(key: string): StationCredentials {
    const known = this.#own.get(key);
    if (known !== undefined) return known;
    const own = {
      username: `sandbox-${randomBytes(6).toString('hex')}`,
      // The service demands an upper-case and a lower-case letter, a digit and a special character.
      password: `Sb1-${randomBytes(15).toString('base64url')}`,
      secret: `sandbox phrase ${randomBytes(15).toString('base64url')}`,
      agentUserId: randomUUID(),
      agentUserTenantId: this.#tenantId,
    };
    this.#own.set(key, own);
    return own;
  }
}
