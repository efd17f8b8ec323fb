import type { UnsafeSetting } from '../../store/protocol';
import type { ServerFacts } from './connect';
import type { ConnectionSettings } from '../connection-settings';

/** What keeps a server from being as durable as an inbox should be. */
export function unsafeSettings(
  { synchronousCommit, fsync, fullPageWrites, waitsForStandby }: ServerFacts,
  { hosts }: Pick<ConnectionSettings, 'hosts'>,
): UnsafeSetting[] {
  const found: [UnsafeSetting, boolean][] = [
    ['fsync-off', !fsync],
    ['full-page-writes-off', !fullPageWrites],
    ['synchronous-commit-off', synchronousCommit === 'off'],
    // Several servers are there so that one of them may die.
    ['standby-not-waited-for', hosts.length > 1 && !waitsForStandby],
  ];
  return found.filter(([, isSo]) => isSo).map(([what]) => what);
}
