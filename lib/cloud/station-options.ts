import type { HintOptions } from './cameras/hints/hint-folder';
import type { LiveStyle } from './functions/rtsp';
import type { ProxySettings } from './http/connection/proxy-settings';
import type { TlsSettings } from '../tls';
import type { Credentials } from './session/credentials';

/** What the client of one Central Station is told: where the service is, who calls, and how the service is to be taken. */
export interface StationClientOptions extends Credentials {
  /** Short name of the station, under which its requests are counted; without it they are not. */
  key?: string;
  /** With or without a trailing slash and a path prefix; `/system` is appended once. */
  baseUrl: string;
  /** Range sent on `GET /system`: integers or dotted. */
  versionLow: string;
  versionHigh: string;
  /** Milliseconds for one request. */
  timeoutMs: number;
  /** Milliseconds between background refreshes of the directory, from its first use on; 0 = none. */
  deviceRefreshMs: number;
  /** Milliseconds without any other request after which the service is asked for a sign of life; 0 = never. */
  signOfLifeMs: number;
  /** Further origins that a returned link may point to. */
  trustedOrigins: readonly string[];
  loginUserField: string;
  loginPasswordField: string;
  /** Adds `Z` to a time that has no zone. */
  appendZ: boolean;
  liveStyle: LiveStyle;
  /** Relations that are looked for before all others; empty for none. */
  relations: RelationNames;
  userAgent: string;
  /** Without it the certificate authorities of the machine vouch for the service. */
  tls?: TlsSettings;
  proxy: ProxySettings;
  /** Nothing that an answer says of an error is repeated: it may come from an address that nobody has vouched for yet. */
  quotesNothing?: boolean;
  /** Where what was learned of the cameras is kept for the next run; undefined keeps nothing. */
  hints?: HintOptions;
}

/** What the specification names without showing its relation. */
export interface RelationNames {
  details: string;
  presets: string;
  tours: string;
  home: string;
  snapshot: string;
  gotoPreset: string;
  startTour: string;
  stopTour: string;
}
