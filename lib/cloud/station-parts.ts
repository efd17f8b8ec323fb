import { CameraFinder } from './cameras/camera-finder';
import { CameraLinks } from './cameras/camera-links';
import { DeviceDirectory } from './cameras/device-directory';
import { CameraHints } from './cameras/hints/camera-hints';
import { LastRun } from './cameras/last-run';
import { RemoteIds } from './cameras/remote-ids';
import { DIALECT } from './dialect';
import { FreeRequests } from './functions/free-requests';
import { Ptz } from './functions/ptz';
import { deedsBy, type DeedNames } from './functions/ptz-deeds';
import { RtspSessions } from './functions/rtsp-sessions';
import { Snapshots } from './functions/snapshots';
import { proxySecrets } from './http/connection/proxy-settings';
import { Origins } from './http/origin';
import { Transport } from './http/transport';
import { requireAgentUser, secretsOf, usableKey } from './session/credentials';
import { SessionKeeper } from './session/session-keeper';
import { SignOfLife } from './session/sign-of-life';
import type { StateBoard } from './session/station-state';
import type { RelationNames, StationClientOptions } from './station-options';
import type { StationTiming } from './timing';
import { timerMs } from '../concurrency/timers';

/** What the client of a station is made of; it exists once the settings have been found usable. */
export interface Parts {
  transport: Transport;
  session: SessionKeeper;
  signOfLife: SignOfLife;
  directory: DeviceDirectory;
  hints: CameraHints;
  finder: CameraFinder;
  rtsp: RtspSessions;
  ptz: Ptz;
  snapshots: Snapshots;
  free: FreeRequests;
}

/** Those of a camera; what is done with a preset or tour may stand in more than one place. */
type ListedName = Exclude<keyof RelationNames, keyof DeedNames>;

/**
 * @param board hears of every change of state
 * @throws RvmError CONFIG_MISSING or BAD_INPUT for settings that cannot be used
 */
export function makeParts(options: StationClientOptions, timing: StationTiming, board: StateBoard): Parts {
  const secrets = allSecretsOf(options);
  const origins = new Origins(options.baseUrl, options.trustedOrigins, secrets);
  const apiKey = usableKey(options.apiKey);
  requireAgentUser(options);
  const transport = new Transport(
    {
      key: options.key,
      apiKey,
      userAgent: options.userAgent,
      timeoutMs: timerMs(options.timeoutMs),
      secrets,
      proxy: options.proxy,
      quotesNothing: options.quotesNothing === true,
      ...(options.tls === undefined ? {} : { tls: options.tls }),
    },
    timing,
  );
  const session = new SessionKeeper(transport, origins, options, timing, board);
  const wanted = relationsOf(options.relations);
  const directory = new DeviceDirectory(session, origins, timing, wanted.details);
  const remoteIds = new RemoteIds(directory);
  const links = new CameraLinks(session, directory, remoteIds, origins);
  const hints = new CameraHints(
    { system: origins.system, username: options.username, secrets },
    options.hints,
  );
  const lastRun = new LastRun(hints, session, directory, origins);
  const finder = new CameraFinder(directory, remoteIds, lastRun);
  const ptzRelations = { ...wanted, deeds: deedsBy(options.relations) };
  const ptz = new Ptz(session, finder, links, origins, ptzRelations, options.timeoutMs);
  directory.onLoad(() => {
    const present = (id: string) => directory.index.byId(id) !== undefined;
    for (const cache of [links, finder, remoteIds]) cache.forgetAllBut(present);
    hints.listed(directory.index);
  });
  return {
    transport,
    session,
    signOfLife: new SignOfLife(options.signOfLifeMs, transport, () => session.askForLife()),
    directory,
    hints,
    finder,
    ptz,
    rtsp: new RtspSessions(session, finder, links, lastRun, options),
    snapshots: new Snapshots(session, finder, links, origins, wanted.snapshot),
    free: new FreeRequests(session, directory, finder, links, origins),
  };
}

/** What no error may repeat. */
export function allSecretsOf(options: StationClientOptions): string[] {
  return [...secretsOf(options), ...proxySecrets(options.proxy)];
}

/** What the user names is looked for first, then what is likely. */
function relationsOf(names: RelationNames): Record<ListedName, readonly string[]> {
  const first = (name: ListedName): readonly string[] => {
    const own = names[name].trim();
    return own === '' ? DIALECT.relations[name] : [own, ...DIALECT.relations[name]];
  };
  return {
    details: first('details'),
    presets: first('presets'),
    tours: first('tours'),
    home: first('home'),
    snapshot: first('snapshot'),
  };
}
