import { RvmError } from '../../error';

/** What a user enters to be let in. */
export interface Credentials {
  apiKey: string;
  username: string;
  password: string;
  /** Merged into the login body. */
  loginExtra: Readonly<Record<string, unknown>>;
}

/**
 * Keys are pasted from e-mails: white space around them is taken off; what cannot stand in a header is refused.
 * @throws RvmError CONFIG_MISSING
 */
export function usableKey(apiKey: string): string {
  const key = apiKey.trim();
  if (key === '') {
    throw new RvmError(
      'CONFIG_MISSING',
      'The cloud has no API key: enter the key that came by e-mail from the service.',
    );
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new RvmError(
    'CONFIG_MISSING',
    'The API key of the cloud holds characters that no key has: paste it again.',
  );
}

/** @throws RvmError CONFIG_MISSING */
export function requireAgentUser({ username, password }: Credentials): void {
  if (username !== '' && password !== '') return;
  const lacking = username === '' ? 'user name' : 'password';
  throw new RvmError(
    'CONFIG_MISSING',
    `The Central Station has no ${lacking} of an Agent User: enter it in the settings of the Central Station.`,
  );
}

/** What no error may repeat; user and password together too, because the two are often sent as one. */
export function secretsOf({ apiKey, username, password, loginExtra }: Credentials): string[] {
  return [apiKey.trim(), password, `${username}:${password}`, ...textsIn(loginExtra)];
}

/** The texts and numbers of the extra login fields, all of which may be secret. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
